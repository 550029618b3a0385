// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/nn/activation.hpp>
#include <heddle/nn/layer.hpp>
#include <heddle/nn/rope.hpp>

namespace heddle::nn {

/// y = GELU(x). Memory: needs x from F to B.
struct gelu_layer : no_parameters {
  gelu_form form = gelu_form::tanh;
  struct plan {};

  HEDDLE_FN constexpr explicit gelu_layer(gelu_form f = gelu_form::tanh) noexcept : form(f) {}
  HEDDLE_FN index_t out_width(index_t in) const { return in; }
  HEDDLE_FN plan make_plan(planner&, layer_shape const&) const { return {}; }
  HEDDLE_FN life keep_x() const { return life::saved; }
  HEDDLE_FN life keep_y() const { return life::fwd; }
  HEDDLE_FN life keep_dy() const { return life::bwd; }

  template <class Call, class Weights, class X, class Y>
  HEDDLE_FN void forward(Call const& call, Weights const&, X const& x, Y const& y, plan const&, frame const&) const {
    gelu(call.exec(), x, y, form);
  }
  template <class Call, class Weights, class X, class Y, class DY, class DX>
  HEDDLE_FN void backward_input(Call const& call, Weights const&, X const& x, Y const&, DY const& dy, DX const& dx,
                                plan const&, frame const&) const {
    gelu_backward(call.exec(), x, dy, dx, form);
  }
};

/// y = SiLU(gate) * up, where x = [gate, up] side by side: half as wide as x. Memory: needs x from F to B.
struct swiglu_layer : no_parameters {
  struct plan {};

  HEDDLE_FN index_t out_width(index_t in) const { return in / 2; }
  HEDDLE_FN plan make_plan(planner&, layer_shape const& s) const {
    HEDDLE_EXPECTS(s.width % 2 == 0, "swiglu: the input holds a gate and an up half", s.width);
    return {};
  }
  HEDDLE_FN life keep_x() const { return life::saved; }
  HEDDLE_FN life keep_y() const { return life::fwd; }
  HEDDLE_FN life keep_dy() const { return life::bwd; }

  template <class Call, class Weights, class X, class Y>
  HEDDLE_FN void forward(Call const& call, Weights const&, X const& x, Y const& y, plan const&, frame const&) const {
    swiglu(call.exec(), x, y);
  }
  template <class Call, class Weights, class X, class Y, class DY, class DX>
  HEDDLE_FN void backward_input(Call const& call, Weights const&, X const& x, Y const&, DY const& dy, DX const& dx,
                                plan const&, frame const&) const {
    swiglu_backward(call.exec(), x, dy, dx);
  }
};

/// Rotates the query and key heads of x = [q heads, k heads, v heads] by their position; values pass unchanged.
/// Memory: needs neither input nor output later; the backward turns back.
struct rope_layer : no_parameters {
  index_t rotated_heads = 0;  ///< query and key heads
  index_t head_size = 0;
  double base = 10000;
  struct plan {
    index_t tokens = 0;
  };

  HEDDLE_FN constexpr rope_layer(index_t heads, index_t size, double theta) noexcept
      : rotated_heads(heads), head_size(size), base(theta) {}
  HEDDLE_FN index_t out_width(index_t in) const { return in; }
  HEDDLE_FN plan make_plan(planner&, layer_shape const& s) const {
    HEDDLE_EXPECTS(head_size >= 0 && head_size % 2 == 0, "rope: a head rotates pairs, so its size must be even",
                   head_size);
    HEDDLE_EXPECTS(rotated_heads >= 0 && product_fits(rotated_heads, head_size, s.width),
                   "rope: the heads must fit the input", rotated_heads, head_size, s.width);
    return {s.tokens};
  }
  HEDDLE_FN life keep_x() const { return life::fwd; }
  HEDDLE_FN life keep_y() const { return life::fwd; }
  HEDDLE_FN life keep_dy() const { return life::bwd; }

  template <class Call, class Weights, class X, class Y>
  HEDDLE_FN void forward(Call const& call, Weights const&, X const& x, Y const& y, plan const& pl,
                         frame const&) const {
    rope(call.exec(), x, y, options(pl, false));
  }
  template <class Call, class Weights, class X, class Y, class DY, class DX>
  HEDDLE_FN void backward_input(Call const& call, Weights const&, X const&, Y const&, DY const& dy, DX const& dx,
                                plan const& pl, frame const&) const {
    rope(call.exec(), dy, dx, options(pl, true));
  }

 private:
  HEDDLE_FN rope_options options(plan const& pl, bool inverse) const {
    return {.heads = rotated_heads, .head_size = head_size, .tokens = pl.tokens, .first_position = 0, .base = base,
            .inverse = inverse};
  }
};

}  // namespace heddle::nn
