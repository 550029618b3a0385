// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/algorithm/balanced_for.hpp>
#include <heddle/algorithm/fft.hpp>
#include <heddle/algorithm/reduce.hpp>
#include <heddle/algorithm/scan.hpp>
#include <heddle/algorithm/transform.hpp>
#include <heddle/backend/reference/tile_context.hpp>
#include <heddle/exec/reference_executor.hpp>

namespace {

using namespace heddle;

struct operands {
  view<float const, 1> x;
  view<float, 1> y, one;
  view<float, 2> m;
  view<char const*, 1> text;
};

// The least that a monoid is; each case below takes one member away.
struct least {
  using value_type = float;
#if !defined(case_without_commutative)
  static constexpr bool commutative = false;
#endif
#if !defined(case_without_exact)
  static constexpr bool exact = false;
#endif
#if !defined(case_without_identity)
  float identity() const { return 0; }
#endif
#if defined(case_combine_gives_another_type)
  double combine(float a, float b) const { return a + b; }
#elif !defined(case_without_combine)
  float combine(float a, float b) const { return a + b; }
#endif
#if defined(case_monoid_that_owns)
  ~least() {}
#endif
};

// expect without_commutative: M::commutative
// expect without_exact: M::exact
// expect without_identity: m\.identity\(\)
// expect without_combine: m\.combine\(v, ?v\)
// expect combine_gives_another_type: m\.combine\(v, ?v\)
// expect monoid_that_owns: is_trivially_copyable
[[maybe_unused]] void right(reference_executor& exec, operands const& o) { reduce(exec, o.x, o.one, least{}); }

// The first value has the accumulator's type, so that it decides nothing by accident.
// expect init_of_another_type: same_as|is_same_v
#if defined(case_init_of_another_type)
void wrong(reference_executor& exec, operands const& o) { reduce(exec, o.x, o.one, plus<double>{}, 0); }
#endif

// expect visitor_without_end: v\.end\(i\)
struct visitor {
  void begin(index_t) {}
  void item(index_t, index_t, index_t) {}
#if !defined(case_visitor_without_end)
  void end(index_t) {}
#endif
};
[[maybe_unused]] void right(reference_executor& exec, view<int const, 1> offsets) {
  balanced_for(exec, offsets, merge_path{}, visitor{});
}

// expect offsets_of_floats: signed_integral
#if defined(case_offsets_of_floats)
void wrong(reference_executor& exec, operands const& o) { balanced_for(exec, o.x, merge_path{}, visitor{}); }
#endif

// expect plan_of_another_type: same_as|is_same_v
#if defined(case_plan_of_another_type)
void wrong(reference_executor& exec, fft_plan<double> const& plan, view<complex<float>, 1> x) { fft(exec, plan, x, x); }
#endif

// expect result_of_another_kind: result_view|convertible_to
#if defined(case_result_of_another_kind)
void wrong(reference_executor& exec, operands const& o) { reduce(exec, o.x, o.text, plus<float>{}); }
#endif

// expect result_is_const: writable_view
#if defined(case_result_is_const)
void wrong(reference_executor& exec, operands const& o) { reduce(exec, o.x, o.x, plus<float>{}); }
#endif

// expect scan_of_a_matrix: vector_view
#if defined(case_scan_of_a_matrix)
void wrong(reference_executor& exec, operands const& o) { inclusive_scan(exec, o.m, o.m, plus<float>{}); }
#endif

// expect vector_with_matrix: rank\(\)
#if defined(case_vector_with_matrix)
void wrong(reference_executor& exec, operands const& o) {
  transform(
      exec, o.m, [](float v) { return v; }, o.x);
}
#endif

// expect sum_of_pointers: arithmetic
#if defined(case_sum_of_pointers)
[[maybe_unused]] plus<char const*> wrong;
#endif

// expect no_tile_programs: this backend runs no tile programs
#if defined(case_no_tile_programs)
struct odd_executor : reference_executor {
  using backend = struct odd_tag;
};
void wrong(odd_executor& exec, operands const& o) { reduce(exec, o.x, o.one, plus<float>{}); }
#endif

}  // namespace
