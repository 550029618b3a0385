// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/nn/parameters.hpp>
#include <heddle/nn/plan.hpp>

#include <type_traits>

namespace heddle::nn {

/// A stateless description of a differentiable step from activations [rows, in] to activations [rows, out].
///
/// Valid expressions, for a layer l, a planner p and a layer_shape s:
///   `L::plan`, `L::parameters<F>`, `l.tree<F>()`, `l.describe(visitor, trees...)`,
///   `l.out_width(s.width)`, `l.make_plan(p, s)`, `l.keep_x()`, `l.keep_y()`, `l.keep_dy()`,
///   `l.forward(call, weights, x, y, plan, frame)`,
///   `l.backward_input(call, weights, x, y, dy, dx, plan, frame)`,
///   `l.backward_weight(call, x, dy, plan, frame, gradients)`.
/// Meaning: a layer owns nothing. `keep_x` and `keep_y` (fwd, saved or kept) say how long it needs its input and
/// output, `keep_dy` (bwd or deferred) how long the cotangent of its output; whoever composes layers owns those
/// buffers, keeps them as long, and passes an empty view for what was not asked for. Slots of the plan are the
/// layer's own memory between F, B and W. `backward_input` overwrites dx, `backward_weight` overwrites every leaf of
/// the gradients; neither adds. All three only submit work to `call.exec()`.
/// Models: linear, layer_norm_layer, rms_norm_layer, gelu_layer, swiglu_layer, rope_layer, sequence, residual,
/// repeat, recomputed, named, concat.
template <class L>
concept layer = std::is_trivially_copyable_v<L> && requires(L const& l, planner& p, layer_shape const& s) {
  typename L::plan;
  { l.out_width(s.width) } -> std::same_as<index_t>;
  { l.make_plan(p, s) } -> std::same_as<typename L::plan>;
  { l.keep_x() } -> std::same_as<life>;
  { l.keep_y() } -> std::same_as<life>;
  { l.keep_dy() } -> std::same_as<life>;
};

namespace detail {

/// The view itself where it was asked for, else an empty one, so that a wrong declaration shows at once.
template <class View>
HEDDLE_FN View only_if(bool wanted, View const& v) {
  return wanted ? v : View();
}
HEDDLE_FN constexpr bool lasts_to_backward(life l) noexcept { return l == life::saved || l == life::kept; }
HEDDLE_FN constexpr bool lasts_to_weights(life l) noexcept { return l == life::kept || l == life::deferred; }

}  // namespace detail

/// No parameters and nothing of its own to keep: what most activations share.
struct no_parameters {
  template <class F>
  struct parameters {};
  template <class F>
  HEDDLE_FN parameters<F> tree() const {
    return {};
  }
  template <class Visitor, class... Trees>
  HEDDLE_FN void describe(Visitor&, Trees&...) const {}
  template <class Call, class X, class DY, class Plan, class Gradients>
  HEDDLE_FN void backward_weight(Call const&, X const&, DY const&, Plan const&, frame const&, Gradients&) const {}
};

}  // namespace heddle::nn
