// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/tree.hpp>
#include <heddle/nn/ends.hpp>
#include <heddle/nn/repeat.hpp>

namespace heddle::nn {

template <class Source, class Blocks, class Back, class Sink>
struct staged;

/// A model as a pipeline runs it: a source, repeated blocks, what follows them, and a sink. `cut(stage, stages)` is the
/// part of one stage: one type for every number of stages, with the ends present on the first and the last only.
///
/// Buckets: 0 is the source, 1 + i the i-th block of this stage, the last one what follows the blocks. The backward
/// pass for weights goes from the last to the first and calls `call.ready(bucket)` after each.
/// Memory: the plan holds the stage's input and, on the last stage, logits, from F to W where the sink writes their
/// cotangent over them and no layer reads them later; activations and cotangents that cross to another stage are the
/// caller's.
template <class Source, class Block, class Back, class Sink>
struct staged<Source, repeat<Block>, Back, Sink> {
  Source source;
  repeat<Block> blocks;
  Back back;
  Sink sink;
  char const* blocks_path = "blocks";
  bool first = true;
  bool last = true;

  template <class F>
  struct parameters {
    typename Source::template parameters<F> source{};
    typename repeat<Block>::template parameters<F> blocks;
    typename Back::template parameters<F> back{};

    HEDDLE_FN parameters() = default;
    HEDDLE_FN parameters(parameters const&) = default;
    HEDDLE_FN parameters(parameters&&) noexcept = default;
    HEDDLE_FN parameters& operator=(parameters const&) = default;
    HEDDLE_FN parameters& operator=(parameters&&) noexcept = default;
    HEDDLE_FN ~parameters() = default;
  };
  struct plan {
    typename repeat<Block>::plan blocks;
    typename Back::plan back{};
    typename Sink::plan sink{};
    slot x{}, dx{};        ///< of the blocks
    slot y{}, dy{};        ///< of the blocks; y on the last stage only
    slot logits{}, d_logits{};

    HEDDLE_FN plan() = default;
    HEDDLE_FN plan(plan const&) = default;
    HEDDLE_FN plan(plan&&) noexcept = default;
    HEDDLE_FN plan& operator=(plan const&) = default;
    HEDDLE_FN plan& operator=(plan&&) noexcept = default;
    HEDDLE_FN ~plan() = default;
  };

  /// The part of `stage` of `stages`: blocks are cut evenly, the first stages take the remainder; a stage may hold
  /// none.
  HEDDLE_FN staged cut(index_t stage, index_t stages) const {
    HEDDLE_EXPECTS(stages >= 1 && stage >= 0 && stage < stages, "staged: the stage must exist", stage, stages);
    staged part = *this;
    auto const range = balanced_part(blocks.count, stages, stage);
    part.blocks.first = blocks.first + range.offset;
    part.blocks.count = range.size;
    part.first = stage == 0;
    part.last = stage + 1 == stages;
    return part;
  }
  HEDDLE_FN int buckets() const { return static_cast<int>(blocks.count) + 2; }

  template <class F>
  HEDDLE_FN parameters<F> tree() const {
    parameters<F> t;
    t.source = source.template tree<F>();
    t.blocks = blocks.template tree<F>();
    t.back = back.template tree<F>();
    return t;
  }
  /// Visits the leaves of this stage. A visitor with a `bucket(int)` member is told which bucket follows.
  template <class Visitor, class... Trees>
  HEDDLE_FN void describe(Visitor& v, Trees&... trees) const {
    tell(v, 0);
    if (first) source.describe(v, trees.source...);
    v.enter(blocks_path, [&] {
      for (index_t i = 0; i < blocks.count; ++i) {
        tell(v, static_cast<int>(i) + 1);
        blocks.describe_of(v, i, trees.blocks...);
      }
    });
    tell(v, buckets() - 1);
    if (last) back.describe(v, trees.back...);
  }

  HEDDLE_FN plan make_plan(planner& p, layer_shape const& s) const {
    planner::scope scope(p);
    plan result;
    layer_shape const inner = s.with_width(source.width());
    result.x = p.take_activation(blocks.keep_x(), s.rows(), inner.width);
    result.dy = p.take_activation(blocks.keep_dy(), s.rows(), inner.width);
    if (first) result.dx = p.take_activation(life::deferred, s.rows(), inner.width);
    if (!last) {
      HEDDLE_EXPECTS(blocks.keep_y() == life::fwd, "staged: a block that needs its own output later can't end a stage");
    } else {
      index_t const classes = back.out_width(inner.width);
      result.y = p.take_activation(longer(blocks.keep_y(), back.keep_x()), s.rows(), inner.width);
      if (logits_are_replaced()) {
        result.logits = p.take_activation(life::kept, s.rows(), classes);
        result.d_logits = result.logits;
      } else {
        result.logits = p.take_activation(longer(back.keep_y(), sink.keep_x()), s.rows(), classes);
        result.d_logits = p.take_activation(back.keep_dy(), s.rows(), classes);
      }
      result.back = back.make_plan(p, inner);
      result.sink = sink.make_plan(p, s.with_width(classes));
    }
    result.blocks = blocks.make_plan(p, inner);
    return result;
  }

  /// Where an earlier stage's activation must lie before `forward`.
  template <class T>
  HEDDLE_FN view<T, 2> input(plan const& pl, frame const& fr) const {
    return fr.at<T>(pl.x);
  }
  /// Where a later stage's cotangent must lie before `backward_input`.
  template <class T>
  HEDDLE_FN view<T, 2> cotangent(plan const& pl, frame const& fr) const {
    return fr.at<T>(pl.dy);
  }

  /// F of one microbatch. `y` is the activation for the next stage, unused on the last; `loss` is used there only.
  template <class Call, class Weights, class T>
  HEDDLE_FN void forward(Call const& call, Weights const& w, token_batch const& batch, view<T, 2> const& y,
                         loss_views const& loss, plan const& pl, frame const& fr) const {
    auto const x = fr.at<T>(pl.x);
    if (first) source.forward(call, w.source, batch, x);
    auto const out = last ? fr.at<T>(pl.y) : y;
    blocks.forward(call.at(blocks_path), w.blocks, view<T const, 2>(x), out, pl.blocks, fr);
    if (!last) return;
    auto const logits = fr.at<T>(pl.logits);
    back.forward(call, w.back, view<T const, 2>(out), logits, pl.back, fr);
    sink.forward(call, view<T const, 2>(logits), batch, loss, pl.sink, fr);
  }

  /// B of one microbatch. `dx` is the cotangent for the stage before, unused on the first; `scale` multiplies the loss.
  template <class Call, class Weights, class T, class Scale>
  HEDDLE_FN void backward_input(Call const& call, Weights const& w, token_batch const& batch, Scale const& scale,
                                view<T, 2> const& dx, plan const& pl, frame const& fr) const {
    view<T const, 2> const x = fr.at<T>(pl.x);
    auto const dy = fr.at<T>(pl.dy);
    view<T const, 2> y;
    if (last) {
      view<T const, 2> const logits = fr.at<T>(pl.logits);
      auto const d_logits = fr.at<T>(pl.d_logits);
      y = fr.at<T>(pl.y);
      sink.backward_input(call, logits, batch, scale, d_logits, pl.sink, fr);
      back.backward_input(call, w.back, detail::only_if(detail::lasts_to_backward(back.keep_x()), y),
                          detail::only_if(detail::lasts_to_backward(back.keep_y()), logits),
                          view<T const, 2>(d_logits), dy, pl.back, fr);
    }
    blocks.backward_input(call.at(blocks_path), w.blocks,
                          detail::only_if(detail::lasts_to_backward(blocks.keep_x()), x),
                          detail::only_if(detail::lasts_to_backward(blocks.keep_y()), y), view<T const, 2>(dy),
                          first ? fr.at<T>(pl.dx) : dx, pl.blocks, fr);
  }

  /// W of one microbatch, bucket by bucket from the last to the first; overwrites the gradients.
  template <class T, class Call, class Gradients>
  HEDDLE_FN void backward_weight(Call const& call, token_batch const& batch, plan const& pl, frame const& fr,
                                 Gradients& g) const {
    view<T const, 2> const x = fr.at<T>(pl.x), dy = fr.at<T>(pl.dy);
    if (last) {
      view<T const, 2> const y = fr.at<T>(pl.y), d_logits = fr.at<T>(pl.d_logits);
      back.backward_weight(call, detail::only_if(detail::lasts_to_weights(back.keep_x()), y),
                           detail::only_if(detail::lasts_to_weights(back.keep_dy()), d_logits), pl.back, fr, g.back);
    }
    call.ready(buckets() - 1);
    for (index_t i = blocks.count; i-- > 0;) {
      blocks.backward_weight_of(call.at(blocks_path), i, x, dy, pl.blocks, fr, g.blocks);
      call.ready(static_cast<int>(i) + 1);
    }
    if (first) source.backward_weight(call, batch, view<T const, 2>(fr.at<T>(pl.dx)), g.source);
    call.ready(0);
  }

 private:
  /// Whether one buffer holds the logits and then their cotangent.
  HEDDLE_FN bool logits_are_replaced() const {
    if constexpr (requires { sink.replaces_x(); })
      return sink.replaces_x() && !detail::lasts_to_backward(back.keep_y()) && back.keep_dy() == life::deferred;
    else
      return false;
  }
  template <class Visitor>
  static HEDDLE_FN void tell(Visitor& v, int bucket) {
    if constexpr (requires { v.bucket(bucket); }) v.bucket(bucket);
  }
};

}  // namespace heddle::nn
