// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/nn/layer.hpp>

namespace heddle::nn {

/// Layers one after the other: the output of each is the input of the next.
///
/// Memory: owns the activation between two layers for as long as the first needs its output or the second its
/// input, and the cotangent there for as long as the first needs it.
template <class First, class... Rest>
struct sequence {
  First first;
  sequence<Rest...> rest;

  HEDDLE_FN constexpr sequence(First const& f, Rest const&... r) : first(f), rest(r...) {}

  template <class F>
  struct parameters {
    typename First::template parameters<F> first;
    typename sequence<Rest...>::template parameters<F> rest;
  };
  struct plan {
    typename First::plan first;
    typename sequence<Rest...>::plan rest;
    slot middle, d_middle;
  };

  template <class F>
  HEDDLE_FN parameters<F> tree() const {
    return {first.template tree<F>(), rest.template tree<F>()};
  }
  template <class Visitor, class... Trees>
  HEDDLE_FN void describe(Visitor& v, Trees&... trees) const {
    first.describe(v, trees.first...);
    rest.describe(v, trees.rest...);
  }

  HEDDLE_FN index_t out_width(index_t in) const { return rest.out_width(first.out_width(in)); }
  HEDDLE_FN plan make_plan(planner& p, layer_shape const& s) const {
    planner::scope scope(p);
    layer_shape const inner = s.with_width(first.out_width(s.width));
    plan result{};
    result.middle = p.take_activation(longer(first.keep_y(), rest.keep_x()), s.rows(), inner.width);
    result.d_middle = p.take_activation(first.keep_dy(), s.rows(), inner.width);
    result.first = first.make_plan(p, s);
    result.rest = rest.make_plan(p, inner);
    return result;
  }
  HEDDLE_FN life keep_x() const { return first.keep_x(); }
  HEDDLE_FN life keep_y() const { return rest.keep_y(); }
  HEDDLE_FN life keep_dy() const { return rest.keep_dy(); }

  template <class Call, class Weights, class X, class Y>
  HEDDLE_FN void forward(Call const& call, Weights const& w, X const& x, Y const& y, plan const& pl,
                         frame const& fr) const {
    auto const middle = fr.at<typename Y::value_type>(pl.middle);
    first.forward(call, w.first, x, middle, pl.first, fr);
    rest.forward(call, w.rest, view<typename Y::value_type const, 2>(middle), y, pl.rest, fr);
  }
  template <class Call, class Weights, class X, class Y, class DY, class DX>
  HEDDLE_FN void backward_input(Call const& call, Weights const& w, X const& x, Y const& y, DY const& dy, DX const& dx,
                                plan const& pl, frame const& fr) const {
    using T = typename DX::value_type;
    view<T const, 2> const middle = fr.at<T>(pl.middle);
    auto const d_middle = fr.at<T>(pl.d_middle);
    rest.backward_input(call, w.rest, detail::only_if(detail::lasts_to_backward(rest.keep_x()), middle), y, dy,
                        d_middle, pl.rest, fr);
    first.backward_input(call, w.first, x, detail::only_if(detail::lasts_to_backward(first.keep_y()), middle),
                         view<T const, 2>(d_middle), dx, pl.first, fr);
  }
  template <class Call, class X, class DY, class Gradients>
  HEDDLE_FN void backward_weight(Call const& call, X const& x, DY const& dy, plan const& pl, frame const& fr,
                                 Gradients& g) const {
    using T = typename DY::value_type;
    view<T const, 2> const middle = fr.at<T>(pl.middle), d_middle = fr.at<T>(pl.d_middle);
    rest.backward_weight(call, detail::only_if(detail::lasts_to_weights(rest.keep_x()), middle), dy, pl.rest, fr,
                         g.rest);
    first.backward_weight(call, x, detail::only_if(detail::lasts_to_weights(first.keep_dy()), d_middle), pl.first, fr,
                          g.first);
  }
};

/// The end of a sequence: one layer, unchanged.
template <class Last>
struct sequence<Last> {
  Last first;

  HEDDLE_FN constexpr explicit sequence(Last const& l) : first(l) {}

  template <class F>
  struct parameters {
    typename Last::template parameters<F> first;
  };
  using plan = typename Last::plan;

  template <class F>
  HEDDLE_FN parameters<F> tree() const {
    return {first.template tree<F>()};
  }
  template <class Visitor, class... Trees>
  HEDDLE_FN void describe(Visitor& v, Trees&... trees) const {
    first.describe(v, trees.first...);
  }
  HEDDLE_FN index_t out_width(index_t in) const { return first.out_width(in); }
  HEDDLE_FN plan make_plan(planner& p, layer_shape const& s) const { return first.make_plan(p, s); }
  HEDDLE_FN life keep_x() const { return first.keep_x(); }
  HEDDLE_FN life keep_y() const { return first.keep_y(); }
  HEDDLE_FN life keep_dy() const { return first.keep_dy(); }

  template <class Call, class Weights, class X, class Y>
  HEDDLE_FN void forward(Call const& call, Weights const& w, X const& x, Y const& y, plan const& pl,
                         frame const& fr) const {
    first.forward(call, w.first, x, y, pl, fr);
  }
  template <class Call, class Weights, class X, class Y, class DY, class DX>
  HEDDLE_FN void backward_input(Call const& call, Weights const& w, X const& x, Y const& y, DY const& dy, DX const& dx,
                                plan const& pl, frame const& fr) const {
    first.backward_input(call, w.first, x, y, dy, dx, pl, fr);
  }
  template <class Call, class X, class DY, class Gradients>
  HEDDLE_FN void backward_weight(Call const& call, X const& x, DY const& dy, plan const& pl, frame const& fr,
                                 Gradients& g) const {
    first.backward_weight(call, x, dy, pl, fr, g.first);
  }
};

}  // namespace heddle::nn
