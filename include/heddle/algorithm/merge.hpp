// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/algorithm/detail/merge_path.hpp>
#include <heddle/core/overlap.hpp>
#include <heddle/tile/run.hpp>

namespace heddle {

/// A callable that says whether a stands before b.
/// Valid: `f(a, b)`. Meaning: a strict weak order of T; it is pure and trivially copyable.
template <class F, class T>
concept order_of = std::is_invocable_r_v<bool, F const&, T const&, T const&> && std::is_trivially_copyable_v<F>;

namespace detail {

/// The smaller first, for types that have `<`.
struct less_fn {
  HEDDLE_DEVICE_PASS_QUIET
  template <class T>
  HEDDLE_HD_FN bool operator()(T const& a, T const& b) const {
    return a < b;
  }
};

template <class T, class Less>
struct merge_program {
  using plain = void;
  static constexpr index_t part = 8192;

  view<T const, 1> a, b;
  view<T, 1> out;
  Less less;

  template <class Ctx>
  struct shared {};
  HEDDLE_FN span work() const {
    return {.operation = "merge", .shape = {a.extent(0), b.extent(0)}, .bytes = element_bytes(a, b, out)};
  }
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return tile::ceil_div(out.extent(0), part);
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    index_t const first = ctx.tile() * part, left = out.extent(0) - first, last = first + (left < part ? left : part);
    ctx.for_each(1, [this, first, last](index_t) { run(first, last); });
  }

 private:
  HEDDLE_DEVICE_PASS_QUIET
  HEDDLE_HD_FN void run(index_t first, index_t last) const {
    auto const of_a = [&](index_t i) -> T const& { return a.data()[i * a.stride(0)]; };
    auto const of_b = [&](index_t i) -> T const& { return b.data()[i * b.stride(0)]; };
    merge_part(of_a, a.extent(0), of_b, b.extent(0), first, last, less, [&](index_t at, bool from_b, index_t i) {
      out.data()[at * out.stride(0)] = from_b ? of_b(i) : of_a(i);
    });
  }
};

}  // namespace detail

/// out = the elements of two sorted vectors in order; of equal ones those of a come first.
///
/// Shapes: a [m], b [n], out [m + n], strides free. Types: any that is trivially copyable, with `<` or an order `less`
/// of its own, which runs where the executor does. Pre: a and b are sorted by `less`; out overlaps neither.
/// Errors: contract_error. Complexity: O(m + n). Sync: submits. Determinism: exact and stable.
/// Source: merge path (Odeh, Green and others, 2012): each worker finds its part of out by a binary search.
struct merge_fn {
  template <executor E, vector_view A, vector_view B, vector_view Out, class Less = detail::less_fn>
    requires(writable_view<Out>&& std::same_as<typename A::value_type, typename Out::value_type>&&
                 std::same_as<typename B::value_type, typename Out::value_type>&&
                     std::is_trivially_copyable_v<typename Out::value_type>&& order_of<Less, typename Out::value_type>)
  HEDDLE_FN void operator()(E& exec, A const& a, B const& b, Out const& out, Less const& less = {}) const {
    HEDDLE_EXPECTS(out.extent(0) == a.extent(0) + b.extent(0), "a merge has room for both inputs", a.extent(0),
                   b.extent(0), out.extent(0));
    expect_apart("merge", out, a, b);
    using program = detail::merge_program<typename Out::value_type, Less>;
    if (!out.empty()) tile::run(exec, program{canonical_input(a), canonical_input(b), canonical(out), less});
  }
};
inline constexpr merge_fn merge{};

}  // namespace heddle
