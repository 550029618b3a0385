// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/extents.hpp>

#include <concepts>
#include <type_traits>
#include <utility>

namespace heddle::attention {

/// A half-open run of queries or keys.
struct block {
  index_t begin;
  index_t end;

  HEDDLE_HD_FN constexpr bool empty() const noexcept { return begin >= end; }
  HEDDLE_HD_FN constexpr bool operator==(block const& o) const noexcept { return begin == o.begin && end == o.end; }
};

/// Further than any position: the open end of a key range.
inline constexpr index_t no_bound = index_t{1} << 62;

/// What a mask says about a block of queries against a block of keys.
enum class block_kind {
  skip,     ///< no pair is visible
  partial,  ///< anything
  full      ///< every pair is visible
};

/// Where a mask is asked: one sequence and one key head.
struct place {
  index_t sequence, sequences;
  index_t kv_head, heads_kv;
  index_t offset;  ///< position of the sequence's query 0 in key coordinates
  index_t q_length, k_length;
};

/// A mask that differs by sequence or head: `m.at(place)` is the mask of one of them. See mask.
template <class M>
concept placed_mask = requires(M const& m, place const& p) {
  m.at(p);
};

namespace detail {
// The mask that answers: M itself, or what it has for a place.
template <class M>
struct answering {
  using type = M;
};
template <placed_mask M>
struct answering<M> {
  using type = std::remove_cvref_t<decltype(std::declval<M const&>().at(std::declval<place const&>()))>;
};
}  // namespace detail

/// Which keys a query sees, as a type.
///
/// Valid expressions: `m.visible(i, j)`, `m.kv_range(q)`, `m.kind(q, k)`; or `m.at(place)` that gives such a mask.
/// Meaning: i is the position of the query in key coordinates (its index in the sequence plus the query offset) and
/// may be negative; j >= 0 is the key's index in its sequence. `visible` is the definition. `kv_range(q)` holds
/// every key that a query of q sees, and may hold more (the caller clamps it to the sequence). `kind(q, k)` is skip
/// or full only where that holds for every pair; partial is always right. q and k are not empty. The sequence's end
/// is no business of a mask. A mask is trivially copyable, and its functions may be called anywhere at once.
/// Models: full, causal, window, where, both (`a & b`), block_sparse.
template <class M>
concept mask = std::is_trivially_copyable_v<M> &&
    requires(typename detail::answering<M>::type const& m, index_t i, block b) {
  { m.visible(i, i) } -> std::same_as<bool>;
  { m.kv_range(b) } -> std::same_as<block>;
  { m.kind(b, b) } -> std::same_as<block_kind>;
};

/// A mask that is the same for all sequences and heads.
template <class M>
concept uniform_mask = mask<M> && !placed_mask<M>;

/// Every query sees every key.
struct full {
  HEDDLE_TILE constexpr bool visible(index_t, index_t) const noexcept { return true; }
  HEDDLE_TILE constexpr block kv_range(block) const noexcept { return {-no_bound, no_bound}; }
  HEDDLE_TILE constexpr block_kind kind(block, block) const noexcept { return block_kind::full; }
};

/// A query sees the keys up to its own position.
struct causal {
  HEDDLE_TILE constexpr bool visible(index_t i, index_t j) const noexcept { return j <= i; }
  HEDDLE_TILE constexpr block kv_range(block q) const noexcept { return {-no_bound, q.end}; }
  HEDDLE_TILE constexpr block_kind kind(block q, block k) const noexcept {
    if (k.begin >= q.end) return block_kind::skip;
    return k.end - 1 <= q.begin ? block_kind::full : block_kind::partial;
  }
};

/// A query sees the keys in [i - left, i + right], both ends included; the first `sink_tokens` keys pass the left
/// bound.
class window {
 public:
  static constexpr index_t unbounded = -1;

  /// Pre: left and right are >= 0 or `unbounded`, and below 2^60; sink_tokens >= 0.
  HEDDLE_HD_FN constexpr window(index_t left, index_t right, index_t sink_tokens = 0)
      : left_(left), right_(right), sink_tokens_(sink_tokens) {
    HEDDLE_EXPECTS(left >= unbounded && left < no_bound / 4, "a window's left reach is >= 0, or -1 for none", left);
    HEDDLE_EXPECTS(right >= unbounded && right < no_bound / 4, "a window's right reach is >= 0, or -1 for none", right);
    HEDDLE_EXPECTS(sink_tokens >= 0, "the number of sink tokens is >= 0", sink_tokens);
  }

  HEDDLE_TILE constexpr bool visible(index_t i, index_t j) const noexcept {
    bool const by_left = left_ < 0 || j >= i - left_ || j < sink_tokens_;
    return by_left && (right_ < 0 || j <= i + right_);
  }
  HEDDLE_TILE constexpr block kv_range(block q) const noexcept {
    return {left_ < 0 || sink_tokens_ > 0 ? -no_bound : q.begin - left_, right_ < 0 ? no_bound : q.end + right_};
  }
  HEDDLE_TILE constexpr block_kind kind(block q, block k) const noexcept {
    if (right_ >= 0 && k.begin > q.end - 1 + right_) return block_kind::skip;
    if (left_ >= 0 && k.end - 1 < q.begin - left_ && k.begin >= sink_tokens_) return block_kind::skip;
    bool const all_left = left_ < 0 || k.begin >= q.end - 1 - left_ || k.end <= sink_tokens_;
    bool const all_right = right_ < 0 || k.end - 1 <= q.begin + right_;
    return all_left && all_right ? block_kind::full : block_kind::partial;
  }

 private:
  index_t left_, right_, sink_tokens_;
};

/// A query sees the keys for which `f(i, j)` holds. No block is known to be full or empty, so it costs most.
template <class Predicate>
struct where {
  Predicate f;

  HEDDLE_TILE constexpr bool visible(index_t i, index_t j) const { return f(i, j); }
  HEDDLE_TILE constexpr block kv_range(block) const noexcept { return {-no_bound, no_bound}; }
  HEDDLE_TILE constexpr block_kind kind(block, block) const noexcept { return block_kind::partial; }
};
template <class Predicate>
where(Predicate) -> where<Predicate>;

namespace detail {

/// The mask of one sequence and key head.
template <class Mask>
HEDDLE_HD_FN auto mask_at(Mask const& m, place const& p) {
  if constexpr (placed_mask<Mask>)
    return m.at(p);
  else
    return m;
}

/// A mask whose lists must be checked before they are used.
template <class M>
concept checked_mask = requires(M const& m, place const& p) {
  m.check(p);
};

template <class Mask>
HEDDLE_FN void check_mask(Mask const& m, place const& p) {
  if constexpr (checked_mask<Mask>) m.check(p);
}

}  // namespace detail

/// A key is visible where both masks say so.
template <mask A, mask B>
struct both {
  [[no_unique_address]] A a;
  [[no_unique_address]] B b;

  HEDDLE_TILE constexpr bool visible(index_t i, index_t j) const requires(uniform_mask<A>&& uniform_mask<B>) {
    return a.visible(i, j) && b.visible(i, j);
  }
  HEDDLE_TILE constexpr block kv_range(block q) const requires(uniform_mask<A>&& uniform_mask<B>) {
    block const x = a.kv_range(q), y = b.kv_range(q);
    return {x.begin > y.begin ? x.begin : y.begin, x.end < y.end ? x.end : y.end};
  }
  HEDDLE_TILE constexpr block_kind kind(block q, block k) const requires(uniform_mask<A>&& uniform_mask<B>) {
    block_kind const x = a.kind(q, k), y = b.kind(q, k);
    if (x == block_kind::skip || y == block_kind::skip) return block_kind::skip;
    return x == block_kind::full && y == block_kind::full ? block_kind::full : block_kind::partial;
  }
  HEDDLE_HD_FN auto at(place const& p) const requires(placed_mask<A> || placed_mask<B>) {
    auto const x = detail::mask_at(a, p);
    auto const y = detail::mask_at(b, p);
    return both<std::remove_cv_t<decltype(x)>, std::remove_cv_t<decltype(y)>>{x, y};
  }
  HEDDLE_FN void check(place const& p) const requires(detail::checked_mask<A> || detail::checked_mask<B>) {
    detail::check_mask(a, p);
    detail::check_mask(b, p);
  }
};

template <mask A, mask B>
HEDDLE_HD_FN constexpr both<A, B> operator&(A const& a, B const& b) {
  return {a, b};
}

}  // namespace heddle::attention
