// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/nn/elementwise.hpp>
#include <heddle/nn/layer.hpp>

namespace heddle::nn {

/// y = x + inner(x).
///
/// Memory: where the inner layer needs its own output later, that output is kept beside y; else it is made in y.
template <class Inner>
struct residual {
  Inner inner;

  template <class F>
  using parameters = typename Inner::template parameters<F>;
  struct plan {
    typename Inner::plan inner;
    slot branch;  ///< the inner output, where the inner layer keeps it
  };

  template <class F>
  HEDDLE_FN parameters<F> tree() const {
    return inner.template tree<F>();
  }
  template <class Visitor, class... Trees>
  HEDDLE_FN void describe(Visitor& v, Trees&... trees) const {
    inner.describe(v, trees...);
  }

  HEDDLE_FN index_t out_width(index_t in) const { return in; }
  HEDDLE_FN plan make_plan(planner& p, layer_shape const& s) const {
    HEDDLE_EXPECTS(inner.out_width(s.width) == s.width, "residual: the inner layer must keep the width",
                   inner.out_width(s.width), s.width);
    planner::scope scope(p);
    plan result{};
    if (keeps_branch()) result.branch = p.take_activation(inner.keep_y(), s.rows(), s.width);
    result.inner = inner.make_plan(p, s);
    return result;
  }
  HEDDLE_FN life keep_x() const { return inner.keep_x(); }
  HEDDLE_FN life keep_y() const { return life::fwd; }
  HEDDLE_FN life keep_dy() const { return inner.keep_dy(); }

  template <class Call, class Weights, class X, class Y>
  HEDDLE_FN void forward(Call const& call, Weights const& w, X const& x, Y const& y, plan const& pl,
                         frame const& fr) const {
    auto const branch = keeps_branch() ? fr.at<typename Y::value_type>(pl.branch) : y;
    inner.forward(call, w, x, branch, pl.inner, fr);
    add(call.exec(), x, branch, y);
  }
  template <class Call, class Weights, class X, class Y, class DY, class DX>
  HEDDLE_FN void backward_input(Call const& call, Weights const& w, X const& x, Y const&, DY const& dy, DX const& dx,
                                plan const& pl, frame const& fr) const {
    using T = typename DX::value_type;
    view<T const, 2> const branch =
        detail::only_if(keeps_branch(), view<T const, 2>(fr.at<T>(pl.branch)));
    inner.backward_input(call, w, x, branch, dy, dx, pl.inner, fr);
    add(call.exec(), dy, dx, dx);
  }
  template <class Call, class X, class DY, class Gradients>
  HEDDLE_FN void backward_weight(Call const& call, X const& x, DY const& dy, plan const& pl, frame const& fr,
                                 Gradients& g) const {
    inner.backward_weight(call, x, dy, pl.inner, fr, g);
  }

 private:
  HEDDLE_FN bool keeps_branch() const { return detail::lasts_to_backward(inner.keep_y()); }
};
template <class Inner>
residual(Inner) -> residual<Inner>;

}  // namespace heddle::nn
