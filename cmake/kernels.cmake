# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# heddle::kernels: the kernels that include/heddle/kernels.hpp lists, compiled once for all files that link it.
#
# Functions of heddle carry the flags of their file in their name, so the library says for which flags it is:
# HEDDLE_KERNELS, defined for whoever links it, is the list of its tags. Other files compile their kernels themselves.

# heddle_tag(<out> <config> <options>...): the HEDDLE_TAG of files of this folder with these options.
function(heddle_tag out config)
  string(TOUPPER "${config}" upper)
  separate_arguments(flags UNIX_COMMAND "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${upper}}")
  get_directory_property(more COMPILE_OPTIONS)
  get_directory_property(definitions COMPILE_DEFINITIONS)
  list(TRANSFORM definitions PREPEND -D)
  list(APPEND flags ${more} ${definitions} ${ARGN})
  list(FILTER flags EXCLUDE REGEX "\\$<")
  set(probe ${PROJECT_BINARY_DIR}/heddle_tag.cpp)
  file(WRITE ${probe} "#include <heddle/config.hpp>\nheddle_tag HEDDLE_TAG\n")
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} ${flags} -std=c++20 -I ${PROJECT_SOURCE_DIR}/include -E -P ${probe}
                  OUTPUT_VARIABLE text RESULT_VARIABLE status ERROR_VARIABLE reason)
  if(NOT status EQUAL 0 OR NOT text MATCHES "heddle_tag ([a-z0-9\" ]+)")
    message(FATAL_ERROR "heddle: ${CMAKE_CXX_COMPILER} can't preprocess ${probe} (${status}):\n${reason}")
  endif()
  string(REGEX REPLACE "[\" \n]" "" tag "${CMAKE_MATCH_1}")
  set(${out} ${tag} PARENT_SCOPE)
endfunction()

set(HEDDLE_KERNELS_OPTIONS "" CACHE STRING "More compiler options for heddle::kernels alone, as a list")

# What files of a kind are compiled with: `plain`, or `openmp` for those that link heddle::openmp.
set(options_plain ${HEDDLE_NATIVE_FLAG} ${HEDDLE_KERNELS_OPTIONS})
separate_arguments(options_openmp UNIX_COMMAND "${OpenMP_CXX_FLAGS}")
list(APPEND options_openmp ${options_plain})

foreach(kind IN LISTS HEDDLE_KERNELS)
  if(NOT kind MATCHES "^(plain|openmp)$" OR (kind STREQUAL "openmp" AND NOT TARGET heddle_openmp))
    message(FATAL_ERROR "HEDDLE_KERNELS: know plain and, where OpenMP is found, openmp; not '${kind}'")
  endif()
endforeach()
# heddle_kernels_definition(<out> <config>): HEDDLE_KERNELS with one tag per kind.
function(heddle_kernels_definition out config)
  set(tags "")
  foreach(kind IN LISTS HEDDLE_KERNELS)
    heddle_tag(tag "${config}" ${options_${kind}})
    list(APPEND tags ${tag})
  endforeach()
  list(JOIN tags "/" tags)
  set(${out} "HEDDLE_KERNELS=\"${tags}\"" PARENT_SCOPE)
endfunction()

if(CMAKE_CONFIGURATION_TYPES)
  set(definitions "")
  foreach(config IN LISTS CMAKE_CONFIGURATION_TYPES)
    heddle_kernels_definition(definition "${config}")
    list(APPEND definitions "$<$<CONFIG:${config}>:${definition}>")
  endforeach()
else()
  heddle_kernels_definition(definitions "${CMAKE_BUILD_TYPE}")
endif()

add_library(heddle_kernels STATIC)
add_library(heddle::kernels ALIAS heddle_kernels)
set_target_properties(heddle_kernels PROPERTIES EXPORT_NAME kernels LINKER_LANGUAGE CXX)
target_link_libraries(heddle_kernels PUBLIC heddle)
target_compile_definitions(heddle_kernels INTERFACE ${definitions})
file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/kernels/*.cpp)
foreach(kind IN LISTS HEDDLE_KERNELS)
  add_library(heddle_kernels_${kind} OBJECT ${sources})
  set_target_properties(heddle_kernels_${kind} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_compile_options(heddle_kernels_${kind} PRIVATE ${options_${kind}})
  target_compile_definitions(heddle_kernels_${kind} PRIVATE ${definitions})
  target_link_libraries(heddle_kernels_${kind} PRIVATE heddle)
  target_sources(heddle_kernels PRIVATE $<TARGET_OBJECTS:heddle_kernels_${kind}>)
endforeach()
set_property(GLOBAL APPEND PROPERTY HEDDLE_COMPONENTS kernels)
list(JOIN HEDDLE_KERNELS ", " kinds)
heddle_report(kernels "${kinds}")
