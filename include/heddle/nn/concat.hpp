// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/nn/elementwise.hpp>
#include <heddle/nn/layer.hpp>

namespace heddle::nn {

/// Two layers on one input, their outputs side by side: y = [first(x), second(x)].
///
/// Determinism: dx is the second cotangent added to the first. Memory: each layer writes its columns of y in place;
/// the second cotangent of the input is made beside dx during B.
template <class First, class Second>
struct concat {
  First first;
  Second second;

  template <class F>
  struct parameters {
    typename First::template parameters<F> first;
    typename Second::template parameters<F> second;
  };
  struct plan {
    typename First::plan first;
    typename Second::plan second;
    slot d_second;
  };

  template <class F>
  HEDDLE_FN parameters<F> tree() const {
    return {first.template tree<F>(), second.template tree<F>()};
  }
  template <class Visitor, class... Trees>
  HEDDLE_FN void describe(Visitor& v, Trees&... trees) const {
    first.describe(v, trees.first...);
    second.describe(v, trees.second...);
  }

  HEDDLE_FN index_t out_width(index_t in) const { return first.out_width(in) + second.out_width(in); }
  HEDDLE_FN plan make_plan(planner& p, layer_shape const& s) const {
    planner::scope scope(p);
    plan result{};
    result.d_second = p.take_activation(life::bwd, s.rows(), s.width);
    result.first = first.make_plan(p, s);
    result.second = second.make_plan(p, s);
    return result;
  }
  HEDDLE_FN life keep_x() const { return longer(first.keep_x(), second.keep_x()); }
  HEDDLE_FN life keep_y() const { return longer(first.keep_y(), second.keep_y()); }
  HEDDLE_FN life keep_dy() const { return longer(first.keep_dy(), second.keep_dy()); }

  template <class Call, class Weights, class X, class Y>
  HEDDLE_FN void forward(Call const& call, Weights const& w, X const& x, Y const& y, plan const& pl,
                         frame const& fr) const {
    first.forward(call, w.first, x, left(x, y), pl.first, fr);
    second.forward(call, w.second, x, right(x, y), pl.second, fr);
  }
  template <class Call, class Weights, class X, class Y, class DY, class DX>
  HEDDLE_FN void backward_input(Call const& call, Weights const& w, X const& x, Y const& y, DY const& dy, DX const& dx,
                                plan const& pl, frame const& fr) const {
    auto const d_second = fr.at<typename DX::value_type>(pl.d_second);
    first.backward_input(call, w.first, in_backward(first, x), left(dx, y), left(dx, dy), dx, pl.first, fr);
    second.backward_input(call, w.second, in_backward(second, x), right(dx, y), right(dx, dy), d_second, pl.second,
                          fr);
    add(call.exec(), dx, d_second, dx);
  }
  template <class Call, class X, class DY, class Gradients>
  HEDDLE_FN void backward_weight(Call const& call, X const& x, DY const& dy, plan const& pl, frame const& fr,
                                 Gradients& g) const {
    using detail::lasts_to_weights;
    using detail::only_if;
    first.backward_weight(call, only_if(lasts_to_weights(first.keep_x()), x),
                          only_if(lasts_to_weights(first.keep_dy()), left(x, dy)), pl.first, fr, g.first);
    second.backward_weight(call, only_if(lasts_to_weights(second.keep_x()), x),
                           only_if(lasts_to_weights(second.keep_dy()), right(x, dy)), pl.second, fr, g.second);
  }

 private:
  template <class L, class X>
  static HEDDLE_FN X in_backward(L const& l, X const& x) {
    return detail::only_if(detail::lasts_to_backward(l.keep_x()), x);
  }
  // The columns of each half; an output that was not kept arrives empty and stays so.
  template <class X, class Y>
  HEDDLE_FN Y left(X const& x, Y const& y) const {
    return y.extent(1) == 0 ? y : slice(y, 1, 0, first.out_width(x.extent(1)));
  }
  template <class X, class Y>
  HEDDLE_FN Y right(X const& x, Y const& y) const {
    return y.extent(1) == 0 ? y : slice(y, 1, first.out_width(x.extent(1)), y.extent(1));
  }
};
template <class First, class Second>
concat(First, Second) -> concat<First, Second>;

}  // namespace heddle::nn
