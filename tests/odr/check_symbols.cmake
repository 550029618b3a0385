# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# cmake -DNM=nm -DFIRST=a.o -DSECOND=b.o -P check_symbols.cmake
#
# Fails where both objects define the same weak function of heddle without an ABI tag: the linker would keep one of
# the two bodies, compiled with the flags of one file, for both.

cmake_minimum_required(VERSION 3.16)

foreach(required NM FIRST SECOND)
  if(NOT DEFINED ${required})
    message(FATAL_ERROR "check_symbols.cmake needs -D${required}=...")
  endif()
endforeach()

# Weak functions (class W) whose mangled name lies in namespace heddle, local entities of its functions included.
function(weak_heddle_functions object result)
  execute_process(
    COMMAND "${NM}" --defined-only --format=sysv "${object}"
    OUTPUT_VARIABLE lines
    RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${NM} can't read ${object}")
  endif()
  # Name |Value |Class |Type |Size |Line |Section; thread-local variables are of class W too, but of another type.
  string(REGEX MATCHALL "_ZZ*T*[0-9hvn_]*N[VKRO]*6heddle[^|\n]*[|][^|\n]*[|] *W *[|] *FUNC" found "${lines}")
  list(TRANSFORM found REPLACE " *[|].*" "")
  set(${result} "${found}" PARENT_SCOPE)
endfunction()

weak_heddle_functions("${FIRST}" first)
weak_heddle_functions("${SECOND}" second)
list(LENGTH first first_count)
list(LENGTH second second_count)
if(first_count EQUAL 0 OR second_count EQUAL 0)
  message(FATAL_ERROR "no weak heddle function in ${FIRST} (${first_count}) or ${SECOND} (${second_count}): "
                      "nothing was checked")
endif()

set(untagged "")
set(shared 0)
foreach(symbol IN LISTS first)
  if(symbol IN_LIST second)
    math(EXPR shared "${shared} + 1")
    if(NOT symbol MATCHES "B[0-9]+c[0-3][in][0-9]")
      list(APPEND untagged "${symbol}")
    endif()
  endif()
endforeach()

list(LENGTH untagged count)
if(count GREATER 0)
  list(JOIN untagged "\n" names)
  find_program(cxxfilt NAMES c++filt llvm-cxxfilt)
  if(cxxfilt)
    file(WRITE "${FIRST}.untagged.txt" "${names}\n")
    execute_process(COMMAND "${cxxfilt}" INPUT_FILE "${FIRST}.untagged.txt" OUTPUT_VARIABLE names)
  endif()
  message(FATAL_ERROR "${count} shared weak functions of heddle carry no ABI tag (mark them HEDDLE_FN, write out "
                      "special members):\n${names}")
endif()
message(STATUS "weak heddle functions: ${first_count} and ${second_count}, shared ${shared}, untagged 0")
