// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/attention/problem.hpp>
#include <heddle/attention/softmax_monoid.hpp>
#include <heddle/exec/executor.hpp>

namespace heddle {
namespace attention {

namespace detail {

template <class T>
struct merge_work {
  index_t heads, columns;
  head_rows<T const> a, b;
  head_rows<T> out;
  head_rows<T const> lse_a, lse_b;
  head_rows<T> lse;

  HEDDLE_FN void operator()(index_t token, int) const {
    using monoid = softmax_monoid<T>;
    for (index_t head = 0; head < heads; ++head) {
      // A finished side is the state (lse, 1): its weights add up to 1 relative to its log-sum-exp.
      T const x = *lse_a.row(token, head), y = *lse_b.row(token, head);
      softmax_state<T, 0> sides{x, T(1), {}};
      monoid::combine(sides, softmax_state<T, 0>{y, T(1), {}});
      T const both = monoid::log_sum_exp(sides), base = softmax_base(both);
      T const of_a = score_weight(x - base), of_b = score_weight(y - base);
      T const *from_a = a.row(token, head), *from_b = b.row(token, head);
      T* const to = out.row(token, head);
      for (index_t d = 0; d < columns; ++d) {
        T const part = of_a == T(0) ? T(0) : heddle::mul(of_a, from_a[d]);
        to[d] = part + (of_b == T(0) ? T(0) : heddle::mul(of_b, from_b[d]));
      }
      *lse.row(token, head) = both;
    }
  }
};

}  // namespace detail

struct merge_fn {
  /// Joins attention over two sets of keys: outputs and log-sum-exps of the same queries become those of all keys.
  ///
  /// Shapes: a, b, out [tokens, heads, columns]; lse_a, lse_b, lse [heads, tokens]; strides are free except that
  /// columns lie side by side. In place: out may be a or b, and lse its lse.
  /// Types: all float or all double. Post: rows empty on both sides are 0 and -inf; a side without keys is not read.
  /// Errors: contract_error for shapes. Sync: submits.
  /// Determinism: commutes exactly; associates up to rounding, so merge in an order that is fixed by the cut.
  /// Numerics: lse uses the natural logarithm, as forward writes it.
  template <executor Executor, any_view A, any_view LseA, any_view B, any_view LseB, writable_view Out,
            writable_view Lse>
    requires(A::rank() == 3 && LseA::rank() == 2)
  HEDDLE_FN void operator()(Executor& exec, A const& a, LseA const& lse_a, B const& b, LseB const& lse_b,
                            Out const& out, Lse const& lse) const {
    using number = typename A::value_type;
    static_assert(std::is_floating_point_v<number>, "partial results are merged in float or double");
    index_t const tokens = a.extent(0), heads = a.extent(1), columns = a.extent(2);
    detail::expect_unit_columns(a, "a");
    detail::expect_shape(b, tokens, heads, columns, "b");
    detail::expect_shape(out, tokens, heads, columns, "out");
    auto const expect_numbers = [&](auto const& numbers) {
      HEDDLE_EXPECTS(numbers.extent(0) == heads && numbers.extent(1) == tokens, "one number per head and token",
                     numbers.extent(0), numbers.extent(1), "instead of", heads, tokens);
    };
    expect_numbers(lse_a);
    expect_numbers(lse_b);
    expect_numbers(lse);
    expect_apart_or_same("attention.merge", out, a, b);
    expect_apart("attention.merge", out, lse_a, lse_b, lse);
    expect_apart_or_same("attention.merge", lse, lse_a, lse_b);
    expect_apart("attention.merge", lse, a, b);
    observed_span<Executor> const scope(exec, [&] {
      return span{.operation = "attention.merge",
                  .shape = {tokens, heads, columns},
                  .bytes = element_bytes(a, b, out, lse_a, lse_b, lse),
                  .flops = 3 * a.size()};
    });
    exec.for_each_tile(tokens, detail::merge_work<number>{
                                   heads, columns, detail::rows_of(canonical_input(a)),
                                   detail::rows_of(canonical_input(b)), detail::rows_of(out),
                                   detail::numbers_of(canonical_input(lse_a)),
                                   detail::numbers_of(canonical_input(lse_b)), detail::numbers_of(lse)});
  }
};

/// The join of partial attention results. See merge_fn.
inline constexpr merge_fn merge{};

}  // namespace attention
}  // namespace heddle
