// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/backend/cpu/matmul.hpp>
#include <heddle/linalg/matmul_swiglu.hpp>

/// @file
/// SwiGLU in the store of a product: a vector of sums holds pairs of gate and up, and half as many elements are stored.

namespace heddle {
namespace cpu {
namespace detail {

/// Stores pairs of columns as one element of y.
template <class Y>
struct swiglu_store {
  static constexpr bool takes_rows = true;
  static constexpr bool stores_itself = true;
  static constexpr int registers_at_once = 2;

  Y* y;
  index_t row_stride, column_stride;

  /// What concepts ask for; products call `store`.
  template <class V>
  HEDDLE_TILE V operator()(V const& value, index_t, index_t, index_t) const {
    return value;
  }

  /// Pre: col and n are even: registers and the columns of w are.
  template <class V>
  HEDDLE_SHIM void store(V const& value, index_t row, index_t col, index_t n) const {
    if constexpr (is_vec<V>) {
      constexpr int half = V::width / 2;
      using H = vec<lane_t<V>, half, (half < V::register_lanes ? half : V::register_lanes)>;
      H gate, up;
      take_turns(value, gate, up);
      H both = linalg::detail::stored_swiglu<Y>{}(gate, up);
      in_order<V>(both);
      Y* const to = y + row * row_stride + col / 2 * column_stride;
      if (column_stride == 1) return store_as(to, both, n / 2);
      for (index_t i = 0; i < n / 2; ++i) to[i * column_stride] = static_cast<Y>(both.lane[i]);
    }
  }

 private:
  // Two registers of four bytes a lane: each four lanes of the results are two pairs of the first register, then two of
  // the second.
  template <class V>
  static constexpr bool by_shuffles = sizeof(lane_t<V>) == 4 && V::width ==
                                                                    2 * V::register_lanes&& V::register_lanes >= 4;

  template <class V, class H>
  static HEDDLE_SHIM void take_turns(V const& value, H& gate, H& up) {
    if constexpr (by_shuffles<V>) {
      H const a = H::load(value.lane), b = H::load(value.lane + H::width);
      gate = heddle::detail::apply<heddle::detail::every_other_op<false>, H>(a, b);
      up = heddle::detail::apply<heddle::detail::every_other_op<true>, H>(a, b);
    } else {
      for (int i = 0; i < H::width; ++i) gate.lane[i] = value.lane[2 * i], up.lane[i] = value.lane[2 * i + 1];
    }
  }
  template <class V, class H>
  static HEDDLE_SHIM void in_order(H& v) {
    if constexpr (by_shuffles<V>) {
      using raw = heddle::detail::registers::raw<double, H::width / 2>;
      raw& pairs = *reinterpret_cast<raw*>(v.lane);
      if constexpr (H::width == 16) pairs = __builtin_shufflevector(pairs, pairs, 0, 2, 4, 6, 1, 3, 5, 7);
      if constexpr (H::width == 8) pairs = __builtin_shufflevector(pairs, pairs, 0, 2, 1, 3);
    }
  }
};

}  // namespace detail
}  // namespace cpu

template <>
struct kernel<matmul_swiglu_fn, cpu_tag> {
  template <class E, class X, class W, class Y>
  static HEDDLE_FN void run(E& exec, X const& x, W const& w, Y const& y, matmul_options const& options) {
    using out = typename Y::value_type;
    using number = product_number_t<typename X::value_type, out>;
    observed_span<E> const scope(exec, [&]() -> span {
      index_t bytes = element_bytes(x, y);
      if constexpr (any_view<W>)
        bytes += element_bytes(w);
      else
        bytes += w.bytes();
      return {.operation = "matmul_swiglu.product",
              .shape = {y.extent(0), y.extent(1), x.extent(1)},
              .bytes = bytes,
              .flops = (4 * x.extent(1) + swiglu_value::flops) * y.size()};
    });
    // The product is never in memory: a view for its extents alone.
    view<number, 3> const sums(nullptr, dims<3>(1, y.extent(0), 2 * y.extent(1)), 0, 0, 1);
    cpu::detail::swiglu_store<out> const store{y.data(), y.stride(0), y.stride(1)};
    run_kernel<matmul_fn>(exec, as_batch(x), batch_or_code(w), sums, options, store);
  }

 private:
  template <class V>
  static HEDDLE_FN auto as_batch(V const& v) {
    return view<typename V::value_type const, 3, typename V::space>(v.data(), dims<3>(1, v.extent(0), v.extent(1)),
                                                                    index_t{0}, v.stride(0), v.stride(1));
  }
  template <class W>
  static HEDDLE_FN auto batch_or_code(W const& w) {
    if constexpr (any_view<W>)
      return as_batch(w);
    else
      return w;
  }
};

}  // namespace heddle
