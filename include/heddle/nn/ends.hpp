// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/nn/cross_entropy.hpp>
#include <heddle/nn/embedding.hpp>
#include <heddle/nn/layer.hpp>
#include <heddle/nn/named.hpp>

/// @file
/// The two ends of a model: a source turns tokens into activations, a sink turns activations into a loss.

namespace heddle::nn {

/// One microbatch: tokens and the token that follows each, as whole sequences. Valid from F to W.
struct token_batch {
  view<std::int32_t const, 1> tokens, targets;
  index_t sequence = 0;  ///< tokens of each sequence
};

/// Where the loss of a microbatch goes: the sum over its rows and the number of rows that count.
struct loss_views {
  view<float, 1> sum;
  view<std::int64_t, 1> count;
};

/// Tokens to activations.
///
/// Valid expressions: `s.width()`, `s.tree<F>()`, `s.describe(visitor, trees...)`,
/// `s.forward(call, weights, batch, y)`, `s.backward_weight(call, batch, dy, gradients)`.
/// Meaning: as a layer without input cotangent; needs dy from B to W and the batch from F to W.
/// Models: token_source.
template <class S>
concept source_layer = std::is_trivially_copyable_v<S> && requires(S const& s) {
  { s.width() } -> std::same_as<index_t>;
};

/// Activations and targets to a loss.
///
/// Valid expressions: `S::plan`, `s.make_plan(planner, shape)`, `s.keep_x()`, `s.counts(target)`,
/// `s.forward(call, x, batch, loss, plan, frame)`, `s.backward_input(call, x, batch, scale, dx, plan, frame)`.
/// Meaning: `forward` writes sum and count; `backward_input` overwrites dx with scale times the gradient of the sum.
/// `counts` says whether a row with that target is one of those that the loss is the mean of, so that the host knows
/// their number before the pass. Optional: `s.replaces_x()`, whether dx may be the memory of x; where it may and no
/// layer needs x later, staged gives both one buffer.
/// Models: cross_entropy_sink.
template <class S>
concept sink_layer = std::is_trivially_copyable_v<S> && requires(S const& s, planner& p, layer_shape const& shape) {
  { s.make_plan(p, shape) } -> std::same_as<typename S::plan>;
  { s.keep_x() } -> std::same_as<life>;
  { s.counts(std::int32_t{}) } -> std::same_as<bool>;
};

/// y[row] = token table[token], and position table[row mod sequence] added where there is one.
template <fixed_string TokenName, fixed_string PositionName>
struct token_source {
  index_t vocabulary = 0;
  index_t columns = 0;
  index_t positions = 0;  ///< rows of the position table; 0: none
  double scale = 0.02;

  template <class F>
  struct parameters {
    typename F::template leaf<2, whole_at_rest> tokens, positions;
  };
  template <class F>
  HEDDLE_FN parameters<F> tree() const {
    return {};
  }
  template <class Visitor, class... Trees>
  HEDDLE_FN void describe(Visitor& v, Trees&... trees) const {
    leaf_options const options{{initializer::kind::normal, scale}, true};
    v.enter(static_cast<char const*>(TokenName.text),
            [&] { v.leaf("weight", dims<2>(vocabulary, columns), options, trees.tokens...); });
    if (positions > 0)
      v.enter(static_cast<char const*>(PositionName.text),
              [&] { v.leaf("weight", dims<2>(positions, columns), options, trees.positions...); });
  }

  HEDDLE_FN index_t width() const { return columns; }

  template <class Call, class Weights, class Y>
  HEDDLE_FN void forward(Call const& call, Weights const& w, token_batch const& batch, Y const& y) const {
    detail::expect_in_use(w.tokens);
    embedding(call.exec(), w.tokens.local, w.positions.local, batch.tokens, batch.sequence, y);
  }
  template <class Call, class DY, class Gradients>
  HEDDLE_FN void backward_weight(Call const& call, token_batch const& batch, DY const& dy, Gradients& g) const {
    detail::expect_gradient(g.tokens);
    embedding_backward(call.exec(), batch.tokens, dy, g.tokens.local);
    if (positions > 0) position_backward(call.exec(), batch.sequence, dy, g.positions.local);
  }
};

/// The summed cross entropy of the rows of a microbatch.
/// Memory: needs x from F to B; keeps one log-sum-exp per row from F to B.
struct cross_entropy_sink {
  cross_entropy_options options = {};

  struct plan {
    slot lse, loss;
  };
  HEDDLE_FN plan make_plan(planner& p, layer_shape const& s) const {
    planner::scope scope(p);
    return {p.take_statistics(life::saved, s.rows()), p.take_statistics(life::fwd, s.rows())};
  }
  HEDDLE_FN life keep_x() const { return life::saved; }
  HEDDLE_FN bool replaces_x() const { return true; }
  HEDDLE_FN bool counts(std::int32_t target) const { return target != options.ignore_index; }

  template <class Call, class X>
  HEDDLE_FN void forward(Call const& call, X const& x, token_batch const& batch, loss_views const& loss,
                         plan const& pl, frame const& fr) const {
    using number = tile::value_t<typename X::value_type>;
    auto const each = fr.vector_at<number>(pl.loss);
    cross_entropy(call.exec(), x, batch.targets, each, fr.vector_at<number>(pl.lse), options);
    cross_entropy_total(call.exec(), each, batch.targets, loss.sum, loss.count, options);
  }
  template <class Call, class X, class Scale, class DX>
  HEDDLE_FN void backward_input(Call const& call, X const& x, token_batch const& batch, Scale const& scale,
                                DX const& dx, plan const& pl, frame const& fr) const {
    using number = tile::value_t<typename X::value_type>;
    cross_entropy_backward(call.exec(), x, batch.targets, fr.vector_at<number>(pl.lse), scale, dx, options);
  }
};

}  // namespace heddle::nn
