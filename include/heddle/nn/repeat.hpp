// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/algorithm/copy.hpp>
#include <heddle/nn/layer.hpp>

#include <vector>

namespace heddle::nn {

/// The same layer `count` times, with its own parameters each time; the first has the global index `first`.
///
/// Post: the path part of copy i is first + i, so names do not depend on how a model is cut. With count 0 it copies.
/// Memory: owns the activations and cotangents between copies; tree and plan hold a vector, made at set-up.
template <class Inner>
struct repeat {
  Inner inner;
  index_t first = 0;
  index_t count = 0;

  template <class F>
  struct parameters {
    std::vector<typename Inner::template parameters<F>> each;

    HEDDLE_FN parameters() = default;
    HEDDLE_FN parameters(parameters const&) = default;
    HEDDLE_FN parameters(parameters&&) noexcept = default;
    HEDDLE_FN parameters& operator=(parameters const&) = default;
    HEDDLE_FN parameters& operator=(parameters&&) noexcept = default;
    HEDDLE_FN ~parameters() = default;
  };
  struct plan {
    std::vector<typename Inner::plan> each;
    std::vector<slot> between, d_between;

    HEDDLE_FN plan() = default;
    HEDDLE_FN plan(plan const&) = default;
    HEDDLE_FN plan(plan&&) noexcept = default;
    HEDDLE_FN plan& operator=(plan const&) = default;
    HEDDLE_FN plan& operator=(plan&&) noexcept = default;
    HEDDLE_FN ~plan() = default;
  };

  template <class F>
  HEDDLE_FN parameters<F> tree() const {
    parameters<F> t;
    for (index_t i = 0; i < count; ++i) t.each.push_back(inner.template tree<F>());
    return t;
  }
  template <class Visitor, class... Trees>
  HEDDLE_FN void describe(Visitor& v, Trees&... trees) const {
    for (index_t i = 0; i < count; ++i) describe_of(v, i, trees...);
  }
  /// The leaves of copy i alone.
  template <class Visitor, class... Trees>
  HEDDLE_FN void describe_of(Visitor& v, index_t i, Trees&... trees) const {
    v.enter(first + i, [&] { inner.describe(v, trees.each[at(i)]...); });
  }

  HEDDLE_FN index_t out_width(index_t in) const { return in; }
  HEDDLE_FN plan make_plan(planner& p, layer_shape const& s) const {
    HEDDLE_EXPECTS(inner.out_width(s.width) == s.width, "repeat: the layer must keep the width",
                   inner.out_width(s.width), s.width);
    planner::scope scope(p);
    plan result;
    for (index_t i = 0; i + 1 < count; ++i) {
      result.between.push_back(p.take_activation(longer(inner.keep_y(), inner.keep_x()), s.rows(), s.width));
      result.d_between.push_back(p.take_activation(inner.keep_dy(), s.rows(), s.width));
    }
    for (index_t i = 0; i < count; ++i) result.each.push_back(inner.make_plan(p, s));
    return result;
  }
  HEDDLE_FN life keep_x() const { return count > 0 ? inner.keep_x() : life::fwd; }
  HEDDLE_FN life keep_y() const { return count > 0 ? inner.keep_y() : life::fwd; }
  HEDDLE_FN life keep_dy() const { return count > 0 ? inner.keep_dy() : life::bwd; }

  template <class Call, class Weights, class X, class Y>
  HEDDLE_FN void forward(Call const& call, Weights const& w, X const& x, Y const& y, plan const& pl,
                         frame const& fr) const {
    if (count == 0) return heddle::copy(call.exec(), x, y);
    for (index_t i = 0; i < count; ++i)
      inner.forward(call.at(first + i), w.each[at(i)], input(x, pl, fr, i), output(y, pl, fr, i), pl.each[at(i)], fr);
  }
  template <class Call, class Weights, class X, class Y, class DY, class DX>
  HEDDLE_FN void backward_input(Call const& call, Weights const& w, X const& x, Y const& y, DY const& dy, DX const& dx,
                                plan const& pl, frame const& fr) const {
    using T = typename DX::value_type;
    if (count == 0) return heddle::copy(call.exec(), dy, dx);
    for (index_t i = count; i-- > 0;) {
      view<T const, 2> const y_i = i + 1 < count ? view<T const, 2>(fr.at<T>(pl.between[at(i)])) : y;
      auto const dx_i = i > 0 ? fr.at<T>(pl.d_between[at(i - 1)]) : dx;
      inner.backward_input(call.at(first + i), w.each[at(i)],
                           detail::only_if(detail::lasts_to_backward(inner.keep_x()), input(x, pl, fr, i)),
                           detail::only_if(detail::lasts_to_backward(inner.keep_y()), y_i),
                           cotangent(dy, pl, fr, i), dx_i, pl.each[at(i)], fr);
    }
  }
  template <class Call, class X, class DY, class Gradients>
  HEDDLE_FN void backward_weight(Call const& call, X const& x, DY const& dy, plan const& pl, frame const& fr,
                                 Gradients& g) const {
    for (index_t i = count; i-- > 0;) backward_weight_of(call, i, x, dy, pl, fr, g);
  }
  /// The weights of copy i alone, for a caller that hands out gradients bucket by bucket.
  template <class Call, class X, class DY, class Gradients>
  HEDDLE_FN void backward_weight_of(Call const& call, index_t i, X const& x, DY const& dy, plan const& pl,
                                    frame const& fr, Gradients& g) const {
    inner.backward_weight(call.at(first + i),
                          detail::only_if(detail::lasts_to_weights(inner.keep_x()), input(x, pl, fr, i)),
                          detail::only_if(detail::lasts_to_weights(inner.keep_dy()), cotangent(dy, pl, fr, i)),
                          pl.each[at(i)], fr, g.each[at(i)]);
  }

 private:
  static HEDDLE_FN std::size_t at(index_t i) noexcept { return static_cast<std::size_t>(i); }
  template <class X>
  HEDDLE_FN X input(X const& x, plan const& pl, frame const& fr, index_t i) const {
    return i > 0 ? X(fr.at<typename X::value_type>(pl.between[at(i - 1)])) : x;
  }
  template <class Y>
  HEDDLE_FN Y output(Y const& y, plan const& pl, frame const& fr, index_t i) const {
    return i + 1 < count ? Y(fr.at<typename Y::value_type>(pl.between[at(i)])) : y;
  }
  template <class DY>
  HEDDLE_FN DY cotangent(DY const& dy, plan const& pl, frame const& fr, index_t i) const {
    return i + 1 < count ? DY(fr.at<typename DY::value_type>(pl.d_between[at(i)])) : dy;
  }
};

}  // namespace heddle::nn
