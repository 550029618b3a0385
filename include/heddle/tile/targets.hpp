// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/error.hpp>
#include <heddle/core/extents.hpp>

#include <cstdlib>

/// @file
/// The instruction sets that one build serves at run time. A kernel body is instantiated once per set inside a
/// function with that target attribute; `dispatch_isa` calls the best one the machine has.

namespace heddle {

/// Instruction sets in ascending order; each has all of the ones before it.
enum class isa : int {
  baseline = 0,     ///< what the flags of the file allow: SSE2 on x86-64, NEON on aarch64
  avx2 = 1,         ///< with FMA: registers of 32 bytes
  avx512 = 2,       ///< F, BW, DQ, VL: registers of 64 bytes
  avx512_bf16 = 3,  ///< with BF16 and VNNI dot products
};

/// The name of a set as HEDDLE_ISA spells it.
HEDDLE_FN char const* name(isa set) noexcept {
  constexpr char const* names[] = {"baseline", "avx2", "avx512", "avx512_bf16"};
  return names[static_cast<int>(set)];
}

/// What a body is instantiated with: `Isa::value`, and the lanes of one register.
template <isa I>
struct isa_tag {
  static constexpr isa value = I;
  static constexpr int register_bytes = I == isa::baseline ? 16 : I == isa::avx2 ? 32 : 64;
  template <class T>
  static constexpr int lanes = register_bytes / static_cast<int>(sizeof(T));
};

// The target attributes, for functions that hold kernels. `flatten` takes callables of the user in as well.
// nvcc's front end drops always_inline from lambdas, so files that it compiles have the baseline only. So have those
// that AddressSanitizer watches, where every register tile would take minutes to compile.
#if defined(__x86_64__) && defined(__OPTIMIZE__) && !defined(__CUDACC__) && !defined(HEDDLE_ASAN)
#define HEDDLE_MULTI_TARGET 1
#define HEDDLE_TARGET_AVX2 __attribute__((target("avx2,fma,f16c"), flatten))
#define HEDDLE_TARGET_AVX512 \
  __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c"), flatten))
#define HEDDLE_TARGET_AVX512_BF16 \
  __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx512vnni,avx2,fma,f16c"), flatten))
#else
#define HEDDLE_MULTI_TARGET 0
#define HEDDLE_TARGET_AVX2
#define HEDDLE_TARGET_AVX512
#define HEDDLE_TARGET_AVX512_BF16
#endif

namespace detail {
inline int isa_in_use = -1;  // not asked yet

/// The set that the flags of this file allow everywhere; weaker ones are not instantiated.
#if !HEDDLE_MULTI_TARGET
inline constexpr isa static_isa = isa::baseline;
#elif defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__) && \
    defined(__AVX512BF16__) && defined(__AVX512VNNI__)
inline constexpr isa static_isa = isa::avx512_bf16;
#elif defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
inline constexpr isa static_isa = isa::avx512;
#elif defined(__AVX2__) && defined(__FMA__)
inline constexpr isa static_isa = isa::avx2;
#else
inline constexpr isa static_isa = isa::baseline;
#endif

HEDDLE_FN bool same_text(char const* a, char const* b) noexcept {
  while (*a && *a == *b) ++a, ++b;
  return *a == *b;
}
}  // namespace detail

/// The best set of this machine, whatever this file was built for.
HEDDLE_FN isa machine_isa() noexcept {
#if defined(__x86_64__)
  if (!(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))) return isa::baseline;
  if (!(__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl")))
    return isa::avx2;
  if (!(__builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512vnni"))) return isa::avx512;
  return isa::avx512_bf16;
#else
  return isa::baseline;
#endif
}

/// Makes `set` the one in use for the whole process; for tests and comparisons.
/// Errors: errc::unsupported where the machine lacks it.
HEDDLE_FN void force_isa(isa set) {
  if (static_cast<int>(set) > static_cast<int>(machine_isa()))
    throw error(errc::unsupported, make_text("this machine has no ", name(set), ", only ", name(machine_isa())));
  __atomic_store_n(&detail::isa_in_use, static_cast<int>(set), __ATOMIC_RELAXED);
}

/// The set in use: the forced one, else that of the environment variable HEDDLE_ISA, else the machine's best.
/// Errors: errc::unsupported where HEDDLE_ISA names no set, or one that the machine lacks.
HEDDLE_FN isa best_isa() {
  int const known = __atomic_load_n(&detail::isa_in_use, __ATOMIC_RELAXED);
  if (known >= 0) return static_cast<isa>(known);
  char const* wanted = std::getenv("HEDDLE_ISA");
  if (!wanted || !*wanted) {
    force_isa(machine_isa());
  } else {
    int i = 0;
    while (i < 4 && !detail::same_text(wanted, name(static_cast<isa>(i)))) ++i;
    if (i == 4)
      throw error(errc::unsupported,
                  make_text("HEDDLE_ISA=", wanted, ": know baseline, avx2, avx512 and avx512_bf16"));
    force_isa(static_cast<isa>(i));
  }
  return static_cast<isa>(__atomic_load_n(&detail::isa_in_use, __ATOMIC_RELAXED));
}

// Where better sets exist the baseline is compiled for size: it serves machines without FMA, which emulate it anyway.
#if HEDDLE_MULTI_TARGET
#define HEDDLE_TARGET_BASELINE __attribute__((cold))
#else
#define HEDDLE_TARGET_BASELINE
#endif

namespace detail {
/// One kernel: a body compiled for one set, in `run`. A class, so that one explicit instantiation is one kernel
/// (kernels.hpp); a number that is no set stands for nothing.
template <isa I, class Body, class... A>
struct compiled {};

#define HEDDLE_COMPILED(SET, TARGET)                                                      \
  template <class Body, class... A>                                                       \
  struct compiled<SET, Body, A...> {                                                      \
    static TARGET HEDDLE_KERNEL_FN void run(Body const& body, A const&... a);             \
  };                                                                                      \
  template <class Body, class... A> /* clang takes the tag from the definition */         \
  HEDDLE_KERNEL_FN void compiled<SET, Body, A...>::run(Body const& body, A const&... a) { \
    body(isa_tag<SET>{}, a...);                                                           \
  }
HEDDLE_COMPILED(isa::baseline, HEDDLE_TARGET_BASELINE)
HEDDLE_COMPILED(isa::avx2, HEDDLE_TARGET_AVX2)
HEDDLE_COMPILED(isa::avx512, HEDDLE_TARGET_AVX512)
HEDDLE_COMPILED(isa::avx512_bf16, HEDDLE_TARGET_AVX512_BF16)
#undef HEDDLE_COMPILED

/// Whether files with these flags call kernels of a set.
HEDDLE_FN constexpr bool instantiates(isa set) noexcept {
  if (!HEDDLE_MULTI_TARGET) return set == isa::baseline;
  return set == isa::avx512 || (set < isa::avx512 && set >= static_isa);
}
}  // namespace detail

/// Whether a set only serves old machines here: the baseline, in files that have better ones. A body may leave it out
/// where its caller then takes another way (`uses_fallback`).
template <class Isa>
HEDDLE_FN constexpr bool is_fallback() noexcept {
  return HEDDLE_MULTI_TARGET && Isa::value == isa::baseline;
}
/// Whether that set is the one in use.
HEDDLE_FN bool uses_fallback() {
  return HEDDLE_MULTI_TARGET && detail::static_isa == isa::baseline && best_isa() == isa::baseline;
}

/// A body that has code of its own for avx512_bf16; others run their avx512 form there. `vdpbf16ps` adds two products
/// per lane and takes subnormal numbers for zero, `vcvtneps2bf16` reads them as zero: a body of the library may use
/// them only for what is defined by that arithmetic (linalg/pair_dot.hpp), so that every set gives the same bits.
template <class Body>
inline constexpr bool uses_bf16_instructions = requires { typename Body::uses_bf16_instructions; };

/// Calls `body(isa_tag<I>{}, arguments...)` in a function compiled for set I = `best_isa()`, or for the strongest set
/// below that this file instantiates (unoptimised files have the baseline only).
///
/// Pre: `Body` has a template `operator()(Isa, A const&...) const` marked HEDDLE_TILE, and so are the helpers it calls;
/// a plain lambda or function in it is compiled for the baseline. Arguments are passed as references to const, so that
/// the kernels of one body and one list of types are one.
template <class Body, class... A>
HEDDLE_FN void dispatch_isa(Body const& body, A const&... arguments) {
#if HEDDLE_MULTI_TARGET
  int const best = static_cast<int>(best_isa());
  if constexpr (uses_bf16_instructions<Body>)
    if (best >= static_cast<int>(isa::avx512_bf16))
      return detail::compiled<isa::avx512_bf16, Body, A...>::run(body, arguments...);
  constexpr int least = static_cast<int>(detail::static_isa);
  if (least >= static_cast<int>(isa::avx512) || best >= static_cast<int>(isa::avx512))
    return detail::compiled<isa::avx512, Body, A...>::run(body, arguments...);
  if constexpr (least < static_cast<int>(isa::avx512)) {
    if (least >= static_cast<int>(isa::avx2) || best >= static_cast<int>(isa::avx2))
      return detail::compiled<isa::avx2, Body, A...>::run(body, arguments...);
    if constexpr (least < static_cast<int>(isa::avx2))
      detail::compiled<isa::baseline, Body, A...>::run(body, arguments...);
  }
#else
  detail::compiled<isa::baseline, Body, A...>::run(body, arguments...);
#endif
}

}  // namespace heddle

// Where the target heddle::kernels is linked: the kernels that it holds are not instantiated here.
#if defined(HEDDLE_KERNELS)
#include <heddle/kernels.hpp>
#endif
