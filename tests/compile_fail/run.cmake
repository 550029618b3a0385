# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# One case: compiles SOURCE with case_<CASE> defined and demands a failure whose message matches MESSAGE: its first
# error where FIRST is set. FLAG is one more flag.
cmake_minimum_required(VERSION 3.25)
set(ENV{LC_ALL} C)
execute_process(COMMAND ${COMPILER} -std=c++20 -O1 -pthread -fsyntax-only -I ${INCLUDE} ${FLAG}
                        -Dcase_${CASE}=1 ${SOURCE}
                RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(FIRST)
  string(REGEX MATCH "[^\n]*error: [^\n]*" output "${output}")
endif()
if(CASE STREQUAL "none")
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "the file without a case must compile:\n${output}")
  endif()
elseif(status EQUAL 0)
  message(FATAL_ERROR "${CASE} must not compile")
elseif(NOT output MATCHES "${MESSAGE}")
  message(FATAL_ERROR "${CASE} must say '${MESSAGE}'; it says:\n${output}")
endif()
