// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/linalg/matmul.hpp>
#include <heddle/nn/column_sum.hpp>
#include <heddle/nn/layer.hpp>

namespace heddle::nn {

/// How the weight of a linear layer lies in memory and in a checkpoint.
enum class weight_layout { in_out, out_in };

/// y = x W + b.
///
/// Shapes: x [rows, in], y [rows, out]; weight [in, out] or [out, in]; bias [out], optional.
/// Types: activations float, double or bf16; gradients in the accumulator's type.
/// Memory: needs x from F to W and dy from B to W; keeps nothing of its own.
/// Determinism: the weight gradient sums rows as `matmul` does, the bias gradient as `column_sum`.
struct linear {
  index_t in = 0;
  index_t out = 0;
  bool has_bias = true;
  weight_layout layout = weight_layout::in_out;
  double scale = 0.02;  ///< standard deviation of the initial weight

  template <class F>
  struct parameters {
    typename F::template leaf<2, whole_at_rest> weight;
    typename F::template leaf<1, whole_at_rest> bias;
  };
  struct plan {};

  template <class F>
  HEDDLE_FN parameters<F> tree() const {
    return {};
  }
  template <class Visitor, class... Trees>
  HEDDLE_FN void describe(Visitor& v, Trees&... trees) const {
    bool const by_in = layout == weight_layout::in_out;
    v.leaf("weight", by_in ? dims<2>(in, out) : dims<2>(out, in),
           leaf_options{{initializer::kind::normal, scale}, true}, trees.weight...);
    if (has_bias) v.leaf("bias", dims<1>(out), leaf_options{{initializer::kind::zeros, 0}, false}, trees.bias...);
  }

  HEDDLE_FN index_t out_width(index_t) const { return out; }
  HEDDLE_FN plan make_plan(planner&, layer_shape const& s) const {
    HEDDLE_EXPECTS(s.width == in, "linear: the input must have as many columns as the layer", s.width, in);
    return {};
  }
  HEDDLE_FN life keep_x() const { return life::kept; }
  HEDDLE_FN life keep_y() const { return life::fwd; }
  HEDDLE_FN life keep_dy() const { return life::deferred; }

  template <class Call, class Weights, class X, class Y>
  HEDDLE_FN void forward(Call const& call, Weights const& w, X const& x, Y const& y, plan const&, frame const&) const {
    detail::expect_in_use(w.weight);
    auto const weight = by_in(w.weight.local);
    if (has_bias)
      matmul(call.exec(), x, weight, y, {}, epilogue::add_bias{w.bias.local.data()});
    else
      matmul(call.exec(), x, weight, y);
  }
  template <class Call, class Weights, class X, class Y, class DY, class DX>
  HEDDLE_FN void backward_input(Call const& call, Weights const& w, X const&, Y const&, DY const& dy, DX const& dx,
                                plan const&, frame const&) const {
    detail::expect_in_use(w.weight);
    matmul(call.exec(), dy, transpose(by_in(w.weight.local)), dx);
  }
  template <class Call, class X, class DY, class Gradients>
  HEDDLE_FN void backward_weight(Call const& call, X const& x, DY const& dy, plan const&, frame const&,
                                 Gradients& g) const {
    detail::expect_gradient(g.weight);
    matmul(call.exec(), transpose(x), dy, by_in(g.weight.local));
    if (has_bias) column_sum(call.exec(), dy, g.bias.local);
  }

 private:
  template <class V>
  HEDDLE_FN auto by_in(V const& weight) const {
    return layout == weight_layout::in_out ? weight : transpose(weight);
  }
};

}  // namespace heddle::nn
