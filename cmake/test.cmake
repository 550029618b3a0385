# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cmake -P cmake/test.cmake: installs what the tests need if it may, builds them and runs them all.
#
# Settings, given before -P: -DBUILD_DIR=<folder> (build/test), -DCXX=<compiler>, -DFLAGS=<compiler flags> (-Og),
# -DJOBS=<n> (cores), -DFOLDERS=<folders of tests/, as a list>, -DWITHOUT=<regular expression of folders>,
# -DOPTIONS=<more CMake settings, as a list>.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/tools.cmake)

seconds(start)
find_jobs()
find_generator()
find_compiler()
# The kernels that most files share are optimised, so the files themselves need little more than inlining: with g++ that
# takes a third off their compilation.
if(NOT DEFINED FLAGS)
  set(FLAGS -Og)
  list(PREPEND OPTIONS -DHEDDLE_KERNELS_OPTIONS=-O1)
endif()
if(NOT BUILD_DIR)
  set(BUILD_DIR build/test)
endif()
cmake_path(ABSOLUTE_PATH BUILD_DIR BASE_DIRECTORY ${root})

# Beyond a compiler and CMake the tests need a build tool and Catch2.
set(missing "")
if(NOT generator)
  list(APPEND missing make)
endif()
find_path(catch2_headers NAMES catch2/catch_all.hpp catch2/catch.hpp
          PATHS /usr/local/include /usr/include $ENV{CMAKE_PREFIX_PATH} PATH_SUFFIXES include)
if(NOT catch2_headers)
  list(APPEND missing catch2)
endif()
if(missing)
  install_packages(${missing})
  find_generator()
endif()

say("heddle: configuring the tests in ${BUILD_DIR}")
run(${CMAKE_COMMAND} -S ${root} -B ${BUILD_DIR} -G ${generator} -DCMAKE_BUILD_TYPE=Debug
    -DCMAKE_CXX_FLAGS_DEBUG=${FLAGS} -DCMAKE_CXX_COMPILER=${compiler} -DHEDDLE_BUILD_TESTS=ON
    -DHEDDLE_BUILD_EXAMPLES=ON -DHEDDLE_NATIVE=ON ${OPTIONS})
say("heddle: building, ${jobs} at a time")
set(targets all)
if(FOLDERS)
  list(TRANSFORM FOLDERS PREPEND tests_ OUTPUT_VARIABLE targets)
endif()
run(${CMAKE_COMMAND} --build ${BUILD_DIR} --parallel ${jobs} --target ${targets})
seconds(built)

set(choice "")
if(FOLDERS)
  list(JOIN FOLDERS "|" labels)
  list(APPEND choice --label-regex "^(${labels})$")
endif()
if(WITHOUT)
  list(APPEND choice --label-exclude ${WITHOUT})
endif()
cmake_path(GET CMAKE_COMMAND PARENT_PATH tools)
execute_process(COMMAND ${tools}/ctest --test-dir ${BUILD_DIR} --output-on-failure --no-tests=error
                        --parallel ${jobs} ${choice} RESULT_VARIABLE status)
seconds(end)
math(EXPR build_seconds "${built} - ${start}")
math(EXPR test_seconds "${end} - ${built}")
set(failed 0)
set(failed_list ${BUILD_DIR}/Testing/Temporary/LastTestsFailed.log)
if(NOT status EQUAL 0)
  set(failed 1)
  if(EXISTS ${failed_list})
    file(STRINGS ${failed_list} failed_lines)
    list(LENGTH failed_lines failed)
  endif()
endif()
file(WRITE ${BUILD_DIR}/evidence.txt "evidence test.failed ${failed} tests\n")
say("evidence test.failed ${failed} tests")
say("heddle: built in ${build_seconds} s, tested in ${test_seconds} s")
if(NOT status EQUAL 0)
  give_up("heddle: some tests FAILED; their output stands above, and in ${BUILD_DIR}/Testing/Temporary/LastTest.log")
endif()
say("heddle: all tests passed")
