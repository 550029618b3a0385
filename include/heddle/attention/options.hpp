// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/attention/bias.hpp>
#include <heddle/attention/dropout.hpp>
#include <heddle/attention/lists.hpp>
#include <heddle/attention/mask.hpp>

namespace heddle::attention {

/// What attention can be told beside its operands.
///
/// `mask`: which keys a query sees. `scale`: factor on q.k, any finite number of the scores' type,
/// 1/sqrt(dk) by default. `softcap`: c > 0
/// replaces a score s by c*tanh(s/c) before bias and mask; none by default. `query_offset`: position of query 0 of each
/// sequence in key coordinates, may be negative; by default Lk - Lq of each sequence, which aligns the last query
/// with the last key. `query_offsets`: one offset per sequence instead. `cu_q`, `cu_k`: starts of the sequences in
/// the token dimension, sequences + 1 numbers from 0, never falling; rows past the last one are slack: never read,
/// written as 0 (-inf in the log-sum-exp). Without them the tokens are cut into `sequences` equal parts.
/// `bias`: added to the capped score. `sinks`: one logit per query head that takes part in the softmax of each of its
/// rows and has no value; -inf is none. `sinks_in_lse`: whether the log-sum-exp counts them. `drop`: dropout of the
/// weights. `strict`: bf16 is widened to float and multiplied as that; by default forward multiplies pairs
/// (linalg/pair_dot.hpp) and rounds weights to bf16.
template <mask Mask = causal, attention::bias Bias = no_bias>
struct options {
  Mask mask{};
  setting<double> scale{};
  setting<double> softcap{};
  setting<index_t> query_offset{};
  integer_list query_offsets{};
  integer_list cu_q{};
  integer_list cu_k{};
  index_t sequences = 1;
  Bias bias{};
  number_list sinks{};
  bool sinks_in_lse = true;
  dropout drop{};
  bool strict = false;
};

/// Options with a mask whose type is awkward to spell: `with_mask(causal{} & window(256, 0))`.
template <mask Mask>
HEDDLE_HD_FN constexpr options<Mask> with_mask(Mask const& m) {
  return {m, {}, {}, {}, {}, {}, {}, 1, {}, {}, true, {}, false};
}
/// Options with a bias, and a mask.
template <bias Bias, mask Mask = causal>
HEDDLE_HD_FN constexpr options<Mask, Bias> with_bias(Bias const& b, Mask const& m = {}) {
  return {m, {}, {}, {}, {}, {}, {}, 1, b, {}, true, {}, false};
}

}  // namespace heddle::attention
