# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cmake -P cmake/demo.cmake: builds examples/train_gpt and trains a small decoder on this repository's own text, over
# four ranks (threads of one process): two pipeline stages, two data-parallel replicas. Needs a C++ compiler, no root.
#
# Settings, given before -P: -DOUT=<folder> (out/demo), -DCXX=<compiler>, -DJOBS=<n>, -DSTEPS=<n>.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/tools.cmake)

seconds(start)
if(NOT OUT)
  set(OUT ${root}/out/demo)
endif()
cmake_path(ABSOLUTE_PATH OUT BASE_DIRECTORY ${root})

build_example(train_gpt)
seconds(built)
math(EXPR build_seconds "${built} - ${start}")
say("heddle: built in ${build_seconds} s; training on four thread ranks (dp 2, pp 2) into ${OUT}")

if(NOT STEPS)
  set(STEPS 500)
endif()
set(arguments --data include docs --dp 2 --pp 2 --steps ${STEPS} --out ${OUT} --overwrite --evidence)
execute_process(COMMAND ${program} ${arguments} WORKING_DIRECTORY ${root} RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  give_up("heddle: the demo FAILED (${status}); its message stands above")
endif()

set(missing "")
foreach(artefact metrics.jsonl loss.svg pipeline.svg trace.json sample.txt checkpoint/latest)
  if(NOT EXISTS ${OUT}/${artefact})
    list(APPEND missing ${artefact})
  endif()
endforeach()
if(missing)
  give_up("heddle: the demo FAILED: ${OUT} lacks ${missing}")
endif()
seconds(end)
math(EXPR all_seconds "${end} - ${start}")
say("evidence demo.seconds ${all_seconds} s")
say("heddle: done in ${all_seconds} s. Look at loss.svg and pipeline.svg in ${OUT}; trace.json opens in")
say("chrome://tracing or Perfetto.")
