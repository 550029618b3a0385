// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/extents.hpp>
#include <heddle/core/philox.hpp>

namespace heddle::attention {

/// Dropout of attention weights: a pair is kept with probability 1 - p, and its weight then divided by 1 - p. The sum
/// of weights and the log-sum-exp are those before dropout.
///
/// Whether a pair is kept is a function of (seed, stream) and of the pair's global element index
/// ((b Hq + h) Sq + i) Sk + j in a tensor [sequences, heads, queries, keys]. The first_* members say where this call
/// begins in it; `heads`, `queries` and `keys` are its extents, by default those of the call. With lists of sequences
/// `queries` and `keys` must be given: the longest of the batch. Elements have numbers below 2^63.
/// Errors: contract_error at the call where it leaves the extents; for lengths in lists when the work reads them.
/// Determinism: same pairs for any backend, thread count and cut, forward and backward.
struct dropout {
  double probability = 0;
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;
  index_t first_sequence = 0, first_head = 0, first_query = 0, first_key = 0;
  index_t heads = 0, queries = 0, keys = 0;
};

namespace detail {

/// Dropout as the work carries it. A pair is kept where its word is below `threshold`; `kept` is what a kept weight is
/// multiplied by, 0 where nothing is dropped.
template <class T>
struct dropout_rule {
  std::uint64_t seed = 0, stream = 0, first = 0;
  index_t per_sequence = 0, per_head = 0, per_query = 0;
  std::uint32_t threshold = 0;
  T kept = T(0);

  HEDDLE_TILE bool active() const noexcept { return kept != T(0); }
  /// The longest sequence that has elements of its own, from the call's first query and key on. Pre: active.
  HEDDLE_FN index_t most_queries() const noexcept {
    index_t const all = per_query ? per_head / per_query : 0;
    return all ? all - static_cast<index_t>(first) / per_query % all : 0;
  }
  HEDDLE_FN index_t most_keys() const noexcept {
    return per_query ? per_query - static_cast<index_t>(first) % per_query : 0;
  }
  /// The element of key 0 for query i of its sequence.
  HEDDLE_TILE std::uint64_t row(index_t sequence, index_t head, index_t i) const noexcept {
    return first + static_cast<std::uint64_t>(sequence * per_sequence + head * per_head + i * per_query);
  }
  /// Factors of n elements from `element` on, `stride` numbers apart.
  HEDDLE_FN void factors(std::uint64_t element, index_t n, T* out, index_t stride) const {
    philox const random(seed, stream);
    philox_block words{};
    for (index_t c = 0; c < n; ++c, ++element) {
      if (c == 0 || element % 4 == 0) words = random.block(element / 4);
      out[c * stride] = words.word[element % 4] < threshold ? kept : T(0);
    }
  }
  HEDDLE_FN T factor(std::uint64_t element) const {
    return philox(seed, stream).bits(element) < threshold ? kept : T(0);
  }
};

/// What dropout numbers: the members that the caller left open are those of the call.
struct dropout_extents {
  index_t heads, queries, keys;
};

/// Checks that the call lies inside the extents, and that elements have numbers of 63 bits.
HEDDLE_FN void check_dropout(dropout const& d, dropout_extents const& call, dropout_extents const& all,
                             index_t sequences, bool lists) {
  HEDDLE_EXPECTS(d.first_sequence >= 0 && d.first_head >= 0 && d.first_query >= 0 && d.first_key >= 0,
                 "dropout numbers from 0 on: no first_* is negative", d.first_sequence, d.first_head, d.first_query,
                 d.first_key);
  HEDDLE_EXPECTS(d.heads >= 0 && d.queries >= 0 && d.keys >= 0, "the extents that dropout numbers are not negative",
                 d.heads, d.queries, d.keys);
  HEDDLE_EXPECTS(!lists || (d.queries > 0 && d.keys > 0),
                 "dropout over lists of sequences needs the longest lengths: set dropout.queries and dropout.keys");
  // Subtractions, because a sum could wrap. Lengths in lists are compared when the work reads them.
  bool const inside = lists ? d.first_query < all.queries && d.first_key < all.keys
                            : d.first_query <= all.queries - call.queries && d.first_key <= all.keys - call.keys;
  HEDDLE_EXPECTS(d.first_head <= all.heads - call.heads && inside,
                 "the call must lie inside the extents that dropout numbers", d.first_head, d.first_query, d.first_key,
                 all.heads, all.queries, all.keys);
  index_t const per_sequence = checked_product(all.heads, checked_product(all.queries, all.keys));
  constexpr index_t last = 0x7fffffffffffffff;
  HEDDLE_EXPECTS(product_fits(d.first_sequence, per_sequence) &&
                     product_fits(sequences, per_sequence, last - d.first_sequence * per_sequence),
                 "elements that dropout numbers lie below 2^63", d.first_sequence, sequences, per_sequence);
}

/// `lists`: whether sequences differ in length. queries and keys: of the call's sequences where they do not.
template <class T>
HEDDLE_FN dropout_rule<T> make_dropout(dropout const& d, index_t heads, index_t queries, index_t keys, bool lists,
                                       index_t sequences = 1) {
  HEDDLE_EXPECTS(d.probability >= 0 && d.probability < 1, "a dropout probability lies in [0, 1)", d.probability);
  if (d.probability == 0) return {};
  dropout_extents const all{d.heads ? d.heads : heads, d.queries ? d.queries : queries, d.keys ? d.keys : keys};
  check_dropout(d, {heads, queries, keys}, all, sequences, lists);
  dropout_rule<T> r{};
  r.seed = d.seed, r.stream = d.stream;
  r.per_query = all.keys, r.per_head = all.queries * all.keys, r.per_sequence = all.heads * r.per_head;
  r.first = static_cast<std::uint64_t>(d.first_sequence * r.per_sequence + d.first_head * r.per_head +
                                       d.first_query * r.per_query + d.first_key);
  double const words = mul(1 - d.probability, 0x1p32);
  r.threshold = words < 0x1p32 ? static_cast<std::uint32_t>(words) : ~std::uint32_t{0};
  r.kept = static_cast<T>(1 / (1 - d.probability));
  return r;
}

}  // namespace detail
}  // namespace heddle::attention
