# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# One case of the package tests; CMakeLists.txt beside this file says which there are.
cmake_minimum_required(VERSION 3.25)

# must(<command>...): runs it; its output shows where it fails.
function(must)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGN}\nfailed (${status}):\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

# configure(<out> <settings>...): configures tests/package/<project> afresh and leaves status and output.
macro(configure project)
  set(binary ${SCRATCH}/build-${CASE})
  file(REMOVE_RECURSE ${binary})
  execute_process(COMMAND ${CMAKE_COMMAND} -S ${SOURCE}/${project} -B ${binary} -G ${GENERATOR}
                          -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_BUILD_TYPE=Debug ${ARGN}
                  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
endmacro()

macro(build_and_run project)
  configure(${project} ${ARGN})
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "configuring failed:\n${output}")
  endif()
  must(${CMAKE_COMMAND} --build ${binary})
  must(${binary}/user)
endmacro()

# kernels_of(<file> <classes> <out>): the kernels in the symbol table of an object or library, sorted.
function(kernels_of file classes out)
  must(${NM} ${file})
  string(REGEX MATCHALL " ${classes} _ZN6heddle6detail8compiledI[^\n]*3run[^\n]*" symbols "${output}")
  list(TRANSFORM symbols REPLACE "^ . " "")
  list(REMOVE_DUPLICATES symbols)
  list(SORT symbols)
  set(${out} "${symbols}" PARENT_SCOPE)
endfunction()

set(prefix ${SCRATCH}/prefix)

if(CASE STREQUAL "install")
  file(REMOVE_RECURSE ${prefix})
  must(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})

elseif(CASE STREQUAL "core")
  build_and_run(core -DCMAKE_PREFIX_PATH=${prefix})

elseif(CASE STREQUAL "kernels")
  # A file with the library's flags takes every kernel of the library and compiles none; one with other flags takes
  # none. The program holds both. Optimised, a kernel may be a local copy (t) with fewer arguments.
  build_and_run(kernels -DCMAKE_PREFIX_PATH=${prefix} "-DCMAKE_CXX_FLAGS=${KERNEL_FLAGS}")
  file(GLOB_RECURSE library ${prefix}/*heddle_kernels*)
  kernels_of(${library} "[TWV]" held)
  set(objects ${binary}/CMakeFiles/user.dir)
  kernels_of(${objects}/same_flags.cpp.o "U" taken)
  kernels_of(${objects}/same_flags.cpp.o "[TtWV]" compiled)
  kernels_of(${objects}/other_flags.cpp.o "U" taken_by_other)
  kernels_of(${objects}/other_flags.cpp.o "[TtWV]" compiled_by_other)
  # A library for two kinds of files holds every kernel twice, with two tags.
  string(REGEX MATCH "3runB[0-9]+[a-z0-9]+E" tag "${taken}")
  list(FILTER held INCLUDE REGEX "${tag}")
  if(NOT held OR NOT held STREQUAL taken OR compiled)
    set(unused ${held})
    list(REMOVE_ITEM unused ${taken})
    list(JOIN unused "\n" unused)
    list(JOIN compiled "\n" compiled)
    message(FATAL_ERROR "The library (${library}) holds these for nobody:\n${unused}\nand not these:\n${compiled}")
  endif()
  if(taken_by_other OR NOT compiled_by_other)
    message(FATAL_ERROR "a file with other flags takes ${taken_by_other} and compiles ${compiled_by_other}")
  endif()

elseif(CASE STREQUAL "openmp")
  build_and_run(openmp -DCMAKE_PREFIX_PATH=${prefix})

elseif(CASE STREQUAL "moved_prefix")
  set(moved ${SCRATCH}/moved/elsewhere)
  file(REMOVE_RECURSE ${moved})
  file(COPY ${prefix}/ DESTINATION ${moved})
  build_and_run(core -DCMAKE_PREFIX_PATH=${moved})
  file(STRINGS ${binary}/CMakeCache.txt found REGEX "^heddle_DIR:")
  if(NOT found MATCHES "moved/elsewhere")
    message(FATAL_ERROR "the moved package was not used: ${found}")
  endif()

elseif(CASE STREQUAL "missing_component")
  configure(core -DCMAKE_PREFIX_PATH=${prefix} -DCOMPONENTS=looms)
  if(status EQUAL 0 OR NOT output MATCHES "no component 'looms'")
    message(FATAL_ERROR "a missing component must fail with its name (${status}):\n${output}")
  endif()

elseif(CASE STREQUAL "optional_component")
  build_and_run(core -DCMAKE_PREFIX_PATH=${prefix} -DOPTIONAL_COMPONENTS=looms)

elseif(CASE STREQUAL "add_subdirectory")
  build_and_run(subdirectory -DHEDDLE_SOURCE=${ROOT})

elseif(CASE STREQUAL "fetch_content")
  build_and_run(fetch -DHEDDLE_SOURCE=${ROOT})

elseif(CASE STREQUAL "plain_compiler")
  must(${COMPILER} -std=c++20 -pthread -I ${prefix}/include ${SOURCE}/core/user.cpp -o ${SCRATCH}/user-plain)
  must(${SCRATCH}/user-plain)

elseif(CASE STREQUAL "pkg_config")
  set(ENV{PKG_CONFIG_PATH} ${prefix}/share/pkgconfig)
  must(pkg-config --cflags --libs heddle)
  separate_arguments(flags UNIX_COMMAND "${output}")
  must(${COMPILER} -std=c++20 ${SOURCE}/core/user.cpp ${flags} -o ${SCRATCH}/user-pkg-config)
  must(${SCRATCH}/user-pkg-config)

else()
  message(FATAL_ERROR "no case ${CASE}")
endif()
