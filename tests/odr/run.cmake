# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# cmake -DCXX=g++ -DSOURCE_DIR=<repository> -DWORK_DIR=<empty folder> [-DNM=nm] -P run.cmake
#
# Compiles unit.cpp with several sets of flags, links every pair in both orders, runs the programs and looks at the
# shared symbols of every pair. Then looks at the symbols of every file in operations/, compiled without optimisation.

cmake_minimum_required(VERSION 3.16)

foreach(required CXX SOURCE_DIR WORK_DIR)
  if(NOT DEFINED ${required})
    message(FATAL_ERROR "run.cmake needs -D${required}=...")
  endif()
endforeach()
if(NOT DEFINED NM)
  find_program(NM NAMES nm llvm-nm REQUIRED)
endif()

set(here "${SOURCE_DIR}/tests/odr")
set(common -std=c++20 -Wall -Wextra -Werror -pthread -I "${SOURCE_DIR}/include" -I "${here}")
file(MAKE_DIRECTORY "${WORK_DIR}")

# Two of the sets are not optimised: where nothing is inlined, the symbol check sees every function.
set(sets plain release fast)
set(plain -O0)
set(release -O0 -DNDEBUG -DODR_MORE)
set(fast -O2 -DNDEBUG -DODR_MORE)
cmake_host_system_information(RESULT platform QUERY OS_PLATFORM)
set(cpu_flags "")
if(EXISTS /proc/cpuinfo)
  file(READ /proc/cpuinfo cpu_flags)
endif()
if(platform STREQUAL "x86_64" AND cpu_flags MATCHES " avx2 " AND cpu_flags MATCHES " fma ")
  list(APPEND fast -march=x86-64-v3)
endif()
file(WRITE "${WORK_DIR}/probe.cpp" "int main() {}\n")
execute_process(COMMAND ${CXX} -fopenmp "${WORK_DIR}/probe.cpp" -o "${WORK_DIR}/probe"
                RESULT_VARIABLE no_openmp OUTPUT_QUIET ERROR_QUIET)
if(no_openmp EQUAL 0)
  list(APPEND sets openmp)
  set(openmp -O2 -fopenmp -DODR_MORE)
else()
  message(STATUS "no OpenMP: its set of flags is left out")
endif()

function(run_or_stop what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE out TIMEOUT 300)
  set(out "${out}" PARENT_SCOPE)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " line)
    message(FATAL_ERROR "${what} failed (${status}): ${line}\n${out}")
  endif()
endfunction()

run_or_stop("compiling" ${CXX} ${common} -O1 -c "${here}/main.cpp" -o "${WORK_DIR}/main.o")
foreach(set IN LISTS sets)
  foreach(which first second)
    run_or_stop("compiling" ${CXX} ${common} ${${set}} -DODR_UNIT=odr_${which} -c "${here}/unit.cpp" -o
                "${WORK_DIR}/${set}_${which}.o")
  endforeach()
endforeach()

foreach(a IN LISTS sets)
  foreach(b IN LISTS sets)
    if(NOT a STREQUAL b)
      set(objects "${WORK_DIR}/${a}_first.o" "${WORK_DIR}/${b}_second.o")
      set(link -pthread)
      if("-fopenmp" IN_LIST ${a} OR "-fopenmp" IN_LIST ${b})
        list(APPEND link -fopenmp)
      endif()
      set(program "${WORK_DIR}/${a}_${b}")
      run_or_stop("linking" ${CXX} "${WORK_DIR}/main.o" ${objects} ${link} -o "${program}")
      run_or_stop("running" "${program}")
      list(REVERSE objects)
      run_or_stop("linking" ${CXX} ${objects} "${WORK_DIR}/main.o" ${link} -o "${program}_reversed")
      run_or_stop("running" "${program}_reversed")
      message(STATUS "${a} with ${b}: both link orders passed")
      run_or_stop("the symbol check" "${CMAKE_COMMAND}" "-DNM=${NM}" "-DFIRST=${WORK_DIR}/${a}_first.o"
                  "-DSECOND=${WORK_DIR}/${b}_second.o" -P "${here}/check_symbols.cmake")
      string(STRIP "${out}" out)
      message("${out}")
    endif()
  endforeach()
endforeach()

# Once is enough here: a function with the tag has a name of its own in each set.
function(check_operations source)
  get_filename_component(stem "${source}" NAME_WE)
  set(object "${WORK_DIR}/operations_${stem}.o")
  run_or_stop("compiling" ${CXX} ${common} ${plain} ${ARGN} -c "${source}" -o "${object}")
  run_or_stop("the symbol check of ${stem}" "${CMAKE_COMMAND}" "-DNM=${NM}" "-DFIRST=${object}" "-DSECOND=${object}"
              -P "${here}/check_symbols.cmake")
  string(STRIP "${out}" out)
  message("${out} in operations/${stem}.cpp")
endfunction()

file(GLOB operations "${here}/operations/*.cpp")
foreach(source IN LISTS operations)
  check_operations("${source}")
endforeach()

# Every function of every header that is no template, called or not. clang knows no such flag.
set(keep -fkeep-inline-functions)
execute_process(COMMAND ${CXX} -Werror ${keep} -c "${WORK_DIR}/probe.cpp" -o "${WORK_DIR}/probe.o"
                RESULT_VARIABLE cannot_keep OUTPUT_QUIET ERROR_QUIET)
if(cannot_keep EQUAL 0)
  file(GLOB headers RELATIVE "${SOURCE_DIR}/include" "${SOURCE_DIR}/include/heddle/report/*.hpp")
  list(TRANSFORM headers REPLACE "(.+)" "#include <\\1>")
  list(JOIN headers "\n" text)
  file(WRITE "${WORK_DIR}/headers.cpp" "#include <heddle/heddle.hpp>\n${text}\n")
  check_operations("${WORK_DIR}/headers.cpp" ${keep})
else()
  message(STATUS "no ${keep}: functions of headers that nothing calls are left out")
endif()
