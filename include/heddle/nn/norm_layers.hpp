// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/nn/layer.hpp>
#include <heddle/nn/layer_norm.hpp>
#include <heddle/nn/rms_norm.hpp>

namespace heddle::nn {

/// y = (x - mean) / sqrt(variance + epsilon) * weight + bias, over each row.
/// Memory: needs x from F to W, dy from B to W; keeps two numbers per row from F to W.
struct layer_norm_layer {
  index_t width = 0;
  double epsilon = 1e-5;

  template <class F>
  struct parameters {
    typename F::template leaf<1, whole_at_rest> weight, bias;
  };
  struct plan {
    slot mean, rstd;
  };

  template <class F>
  HEDDLE_FN parameters<F> tree() const {
    return {};
  }
  template <class Visitor, class... Trees>
  HEDDLE_FN void describe(Visitor& v, Trees&... trees) const {
    v.leaf("weight", dims<1>(width), leaf_options{{initializer::kind::ones, 0}, false}, trees.weight...);
    v.leaf("bias", dims<1>(width), leaf_options{{initializer::kind::zeros, 0}, false}, trees.bias...);
  }
  HEDDLE_FN index_t out_width(index_t in) const { return in; }
  HEDDLE_FN plan make_plan(planner& p, layer_shape const& s) const {
    HEDDLE_EXPECTS(s.width == width, "layer_norm: the input must be as wide as the layer", s.width, width);
    return {p.take_statistics(life::kept, s.rows()), p.take_statistics(life::kept, s.rows())};
  }
  HEDDLE_FN life keep_x() const { return life::kept; }
  HEDDLE_FN life keep_y() const { return life::fwd; }
  HEDDLE_FN life keep_dy() const { return life::deferred; }

  template <class Call, class Weights, class X, class Y>
  HEDDLE_FN void forward(Call const& call, Weights const& w, X const& x, Y const& y, plan const& pl,
                         frame const& fr) const {
    using number = tile::value_t<typename X::value_type>;
    detail::expect_in_use(w.weight);
    layer_norm(call.exec(), x, w.weight.local, w.bias.local, y, fr.vector_at<number>(pl.mean),
               fr.vector_at<number>(pl.rstd), epsilon);
  }
  template <class Call, class Weights, class X, class Y, class DY, class DX>
  HEDDLE_FN void backward_input(Call const& call, Weights const& w, X const& x, Y const&, DY const& dy, DX const& dx,
                                plan const& pl, frame const& fr) const {
    using number = tile::value_t<typename X::value_type>;
    detail::expect_in_use(w.weight);
    layer_norm_backward_input(call.exec(), x, w.weight.local, fr.vector_at<number>(pl.mean),
                              fr.vector_at<number>(pl.rstd), dy, dx);
  }
  template <class Call, class X, class DY, class Gradients>
  HEDDLE_FN void backward_weight(Call const& call, X const& x, DY const& dy, plan const& pl, frame const& fr,
                                 Gradients& g) const {
    using number = tile::value_t<typename X::value_type>;
    detail::expect_gradient(g.weight);
    layer_norm_backward_weight(call.exec(), x, fr.vector_at<number>(pl.mean), fr.vector_at<number>(pl.rstd), dy,
                               g.weight.local, g.bias.local);
  }
};

/// y = x / sqrt(mean of squares + epsilon) * weight, over each row.
/// Memory: needs x from F to W, dy from B to W; keeps one number per row from F to W.
struct rms_norm_layer {
  index_t width = 0;
  double epsilon = 1e-5;

  template <class F>
  struct parameters {
    typename F::template leaf<1, whole_at_rest> weight;
  };
  struct plan {
    slot rstd;
  };

  template <class F>
  HEDDLE_FN parameters<F> tree() const {
    return {};
  }
  template <class Visitor, class... Trees>
  HEDDLE_FN void describe(Visitor& v, Trees&... trees) const {
    v.leaf("weight", dims<1>(width), leaf_options{{initializer::kind::ones, 0}, false}, trees.weight...);
  }
  HEDDLE_FN index_t out_width(index_t in) const { return in; }
  HEDDLE_FN plan make_plan(planner& p, layer_shape const& s) const {
    HEDDLE_EXPECTS(s.width == width, "rms_norm: the input must be as wide as the layer", s.width, width);
    return {p.take_statistics(life::kept, s.rows())};
  }
  HEDDLE_FN life keep_x() const { return life::kept; }
  HEDDLE_FN life keep_y() const { return life::fwd; }
  HEDDLE_FN life keep_dy() const { return life::deferred; }

  template <class Call, class Weights, class X, class Y>
  HEDDLE_FN void forward(Call const& call, Weights const& w, X const& x, Y const& y, plan const& pl,
                         frame const& fr) const {
    detail::expect_in_use(w.weight);
    rms_norm(call.exec(), x, w.weight.local, y, fr.vector_at<tile::value_t<typename X::value_type>>(pl.rstd), epsilon);
  }
  template <class Call, class Weights, class X, class Y, class DY, class DX>
  HEDDLE_FN void backward_input(Call const& call, Weights const& w, X const& x, Y const&, DY const& dy, DX const& dx,
                                plan const& pl, frame const& fr) const {
    detail::expect_in_use(w.weight);
    rms_norm_backward_input(call.exec(), x, w.weight.local,
                            fr.vector_at<tile::value_t<typename X::value_type>>(pl.rstd), dy, dx);
  }
  template <class Call, class X, class DY, class Gradients>
  HEDDLE_FN void backward_weight(Call const& call, X const& x, DY const& dy, plan const& pl, frame const& fr,
                                 Gradients& g) const {
    detail::expect_gradient(g.weight);
    rms_norm_backward_weight(call.exec(), x, fr.vector_at<tile::value_t<typename X::value_type>>(pl.rstd), dy,
                             g.weight.local);
  }
};

}  // namespace heddle::nn
