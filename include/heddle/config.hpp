// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// The only file that asks which compiler, target or flags are in use.
///
/// Types never depend on flags; functions do, and say so in their name: every inline or template function of
/// heddle is marked HEDDLE_FN, an ABI tag built from the flags below. Files that are built with different flags
/// therefore call different functions, and still exchange every type.

#if !defined(__GNUC__)
#error "heddle needs g++ 12 or newer, clang 14 or newer, or nvcc 13 with one of them as host compiler"
#endif

// The include of a file that does not exist ends the compilation here, before thousands of lines that all say the same.
#if __cplusplus < 202002L
#error "heddle needs C++20: compile with -std=c++20"
#include <compile with -std=c++20>
#endif

#if defined(__FAST_MATH__)
#error "heddle promises bits: compile without -ffast-math"
#endif

// Vectors are passed between functions that are always inlined, so the ABI that g++ warns of is never used.
#if !defined(__clang__) && !defined(__CUDACC__)
#pragma GCC diagnostic ignored "-Wpsabi"
#endif

/// Contract level: 0 off, 1 cheap checks (default with NDEBUG), 2 all (default without), 3 is reserved and as 2.
#if !defined(HEDDLE_CONTRACTS)
#if defined(NDEBUG)
#define HEDDLE_CONTRACTS 1
#else
#define HEDDLE_CONTRACTS 2
#endif
#endif

#if HEDDLE_CONTRACTS == 0
#define HEDDLE_TAG_CONTRACTS "c0"
#elif HEDDLE_CONTRACTS == 1
#define HEDDLE_TAG_CONTRACTS "c1"
#elif HEDDLE_CONTRACTS == 2
#define HEDDLE_TAG_CONTRACTS "c2"
#elif HEDDLE_CONTRACTS == 3
#define HEDDLE_TAG_CONTRACTS "c3"
#else
#error "HEDDLE_CONTRACTS must be 0, 1, 2 or 3"
#endif

// Instruction sets that the flags of this file allow everywhere.
#if defined(__AVX512F__) && defined(__AVX512BF16__) && defined(__AVX512VNNI__)
#define HEDDLE_TAG_ISA "i6"
#elif defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#define HEDDLE_TAG_ISA "i5"
#elif defined(__AVX2__) && defined(__FMA__)
#define HEDDLE_TAG_ISA "i3"
#elif defined(__AVX__)
#define HEDDLE_TAG_ISA "i2"
#elif defined(__aarch64__)
#define HEDDLE_TAG_ISA "n0"
#else
#define HEDDLE_TAG_ISA "i0"
#endif

#if defined(_OPENMP)
#define HEDDLE_TAG_OPENMP "p"
#else
#define HEDDLE_TAG_OPENMP ""
#endif

#if defined(__OPTIMIZE__)
#define HEDDLE_TAG_OPTIMIZE "f"
#else
#define HEDDLE_TAG_OPTIMIZE ""
#endif

#if defined(__cpp_exceptions)
#define HEDDLE_TAG_EXCEPTIONS ""
#else
#define HEDDLE_TAG_EXCEPTIONS "x"
#endif

// Which sanitizer watches this file. g++ announces them by macros, clang by __has_feature.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HEDDLE_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define HEDDLE_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) && !defined(HEDDLE_ASAN)
#define HEDDLE_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__) && !defined(HEDDLE_TSAN)
#define HEDDLE_TSAN 1
#endif
#if defined(HEDDLE_ASAN)
#define HEDDLE_TAG_SANITIZER "a"
#elif defined(HEDDLE_TSAN)
#define HEDDLE_TAG_SANITIZER "t"
#else
#define HEDDLE_TAG_SANITIZER ""
#endif

#if defined(__CUDACC__)
#define HEDDLE_TAG_NVCC "n"
#else
#define HEDDLE_TAG_NVCC ""
#endif

/// The flags of this file as one string.
#define HEDDLE_TAG                                                                                  \
  HEDDLE_TAG_CONTRACTS HEDDLE_TAG_ISA HEDDLE_TAG_OPENMP HEDDLE_TAG_OPTIMIZE HEDDLE_TAG_EXCEPTIONS \
      HEDDLE_TAG_SANITIZER HEDDLE_TAG_NVCC

// Code for both sides of a CUDA compilation.
#if defined(__CUDACC__)
#define HEDDLE_HD __host__ __device__
#define HEDDLE_DEVICE_PASS_QUIET _Pragma("nv_exec_check_disable")
#define HEDDLE_NVCC 1  // its front end knows no packs as arguments of builtins
#pragma nv_diag_suppress 2648  // "abi_tag ignored" on member templates, which is not so
#pragma nv_diag_suppress 554
#pragma nv_diag_suppress 1675  // GCC unroll is for the host compiler
#else
#define HEDDLE_HD
#define HEDDLE_DEVICE_PASS_QUIET
#define HEDDLE_NVCC 0
#endif

/// Marks every inline function, function template and member function of heddle, on its first declaration.
#define HEDDLE_FN __attribute__((abi_tag(HEDDLE_TAG))) inline
/// The same for functions that device code may call.
#define HEDDLE_HD_FN __attribute__((abi_tag(HEDDLE_TAG))) HEDDLE_HD inline
// Kernels are built from hundreds of small pieces, and a sanitizer's check of each would take minutes to compile: the
// plain lanes run them against pages that trap, and the reference and simulator contexts stay watched.
#if defined(HEDDLE_ASAN)
#define HEDDLE_NO_SANITIZE __attribute__((no_sanitize("address", "undefined")))
#else
#define HEDDLE_NO_SANITIZE
#endif
/// Helpers of tile programs and microkernels: always inlined, so that they take the instruction set of the caller.
#define HEDDLE_TILE HEDDLE_NO_SANITIZE __attribute__((abi_tag(HEDDLE_TAG), always_inline)) HEDDLE_HD inline
/// The same for bodies that nvcc refuses on its device side: raw vectors and inline assembly.
#define HEDDLE_SHIM HEDDLE_NO_SANITIZE __attribute__((abi_tag(HEDDLE_TAG), always_inline)) inline
/// The same for function templates that hold one kernel each. They are never inlined into a caller, so that a library
/// may hold them too (kernels.hpp).
#define HEDDLE_KERNEL_FN __attribute__((abi_tag(HEDDLE_TAG), noinline))
/// Stands after the parameter list of a lambda that is given to a tile operation. Inside a function for both sides
/// of a CUDA compilation the lambda is for both sides too; one of a host function stays on the host.
#define HEDDLE_LAMBDA __attribute__((always_inline))

#define HEDDLE_RESTRICT __restrict__
#define HEDDLE_LIKELY(x) __builtin_expect(!!(x), 1)

