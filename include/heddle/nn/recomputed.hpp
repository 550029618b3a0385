// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/nn/layer.hpp>

namespace heddle::nn {

/// The inner layer, which forgets what it saved in F and makes it again in B from its input; `on` is a run-time
/// switch, so that one type serves with and without.
///
/// Determinism: the replay runs the same operations on the same input with the same call, so bits do not change.
/// Memory: in place of the inner layer's saved and kept values only the input is held from F to B (to W where the
/// inner layer needs it there); replayed values lie under the stack of B, or live from B to W.
template <class Inner>
struct recomputed {
  Inner inner;
  bool on = true;

  template <class F>
  using parameters = typename Inner::template parameters<F>;
  struct plan {
    typename Inner::plan forward, backward;  ///< the first run, and the replay with what follows it
    slot y;                                  ///< the output that the replay makes
  };

  template <class F>
  HEDDLE_FN parameters<F> tree() const {
    return inner.template tree<F>();
  }
  template <class Visitor, class... Trees>
  HEDDLE_FN void describe(Visitor& v, Trees&... trees) const {
    inner.describe(v, trees...);
  }

  HEDDLE_FN index_t out_width(index_t in) const { return inner.out_width(in); }
  HEDDLE_FN plan make_plan(planner& p, layer_shape const& s) const {
    if (!on) {
      typename Inner::plan const only = inner.make_plan(p, s);
      return {only, only, {}};
    }
    planner::scope scope(p);
    plan result{};
    {
      planner::throwaway first(p);
      result.forward = inner.make_plan(p, s);
    }
    planner::replay again(p, saved_bytes(p, s));
    result.y = p.take_activation(inner.keep_y(), s.rows(), inner.out_width(s.width));
    result.backward = inner.make_plan(p, s);
    return result;
  }
  HEDDLE_FN life keep_x() const { return on ? longer(life::saved, inner.keep_x()) : inner.keep_x(); }
  HEDDLE_FN life keep_y() const { return on ? life::fwd : inner.keep_y(); }
  HEDDLE_FN life keep_dy() const { return inner.keep_dy(); }

  template <class Call, class Weights, class X, class Y>
  HEDDLE_FN void forward(Call const& call, Weights const& w, X const& x, Y const& y, plan const& pl,
                         frame const& fr) const {
    inner.forward(call, w, x, y, pl.forward, fr);
  }
  template <class Call, class Weights, class X, class Y, class DY, class DX>
  HEDDLE_FN void backward_input(Call const& call, Weights const& w, X const& x, Y const& y, DY const& dy, DX const& dx,
                                plan const& pl, frame const& fr) const {
    if (!on) return inner.backward_input(call, w, x, y, dy, dx, pl.backward, fr);
    using T = typename DX::value_type;
    auto const again = fr.at<T>(pl.y);
    inner.forward(call, w, x, again, pl.backward, fr);
    inner.backward_input(call, w, detail::only_if(detail::lasts_to_backward(inner.keep_x()), x),
                         detail::only_if(detail::lasts_to_backward(inner.keep_y()), view<T const, 2>(again)), dy, dx,
                         pl.backward, fr);
  }
  template <class Call, class X, class DY, class Gradients>
  HEDDLE_FN void backward_weight(Call const& call, X const& x, DY const& dy, plan const& pl, frame const& fr,
                                 Gradients& g) const {
    inner.backward_weight(call, x, dy, pl.backward, fr, g);
  }

 private:
  /// What the inner layer would save for B, with the replayed output where it is saved too.
  HEDDLE_FN std::size_t saved_bytes(planner const& p, layer_shape const& s) const {
    planner alone(p.activation_bytes());
    if (inner.keep_y() == life::saved) alone.take_activation(life::saved, s.rows(), inner.out_width(s.width));
    inner.make_plan(alone, s);
    return alone.bytes(life::saved);
  }
};
template <class Inner>
recomputed(Inner) -> recomputed<Inner>;
template <class Inner>
recomputed(Inner, bool) -> recomputed<Inner>;

}  // namespace heddle::nn
