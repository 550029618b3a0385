// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/attention/lists.hpp>
#include <heddle/attention/softmax_monoid.hpp>

namespace heddle::attention {

/// What is added to the score of a query and a key, after the cap and before the mask.
///
/// Valid expressions: `b(head, i, j)` gives a number for query head `head`, query position i in key coordinates and
/// key j, as masks take them; or `b.slope(head)` gives a number s and stands for the bias -s |i - j|.
/// Meaning: a bias of -inf excludes its key as a mask does; NaN and +inf make their own row NaN. A bias is trivially
/// copyable, and its functions may be called anywhere at once. Slopes are finite.
/// Models: no_bias, alibi, slopes, callables.
template <class B>
concept linear_bias = std::is_trivially_copyable_v<B> && requires(B const& b, index_t head) {
  { b.slope(head) } -> std::convertible_to<double>;
};
template <class B>
concept bias = linear_bias<B> ||(std::is_trivially_copyable_v<B>&& requires(B const& b, index_t i) {
  { b(i, i, i) } -> std::convertible_to<double>;
});

/// Scores are left as they are.
struct no_bias {
  HEDDLE_TILE constexpr float operator()(index_t, index_t, index_t) const noexcept { return 0; }
};

/// Attention with linear biases: head h of `heads` has slope 2^(-8 (h + 1) / n) below the largest power of two
/// n <= heads, and from there on the odd terms of the series for 2 n.
///
/// `first_head`: global index of the call's head 0, where the heads are cut over ranks.
/// Source: arXiv 2108.12409 and its published code for numbers of heads that are no power of two.
class alibi {
 public:
  HEDDLE_HD_FN constexpr explicit alibi(index_t heads, index_t first_head = 0)
      : heads_(static_cast<std::int32_t>(heads)), first_(static_cast<std::int32_t>(first_head)) {
    HEDDLE_EXPECTS(heads >= 1 && heads < index_t{1} << 31, "slopes are made for at least one head", heads);
    HEDDLE_EXPECTS(first_head >= 0 && first_head < heads, "the first head is one of the heads", first_head, heads);
  }

  HEDDLE_HD_FN double slope(index_t head) const {
    index_t const h = first_ + head;
    index_t n = 1;
    while (n * 2 <= heads_) n *= 2;
    double const step = h < n ? 2 * static_cast<double>(h + 1) : 2 * static_cast<double>(h - n) + 1;
    return exp2(-4 * step / static_cast<double>(n));
  }
  HEDDLE_FN void check(index_t heads_q) const {
    HEDDLE_EXPECTS(first_ + heads_q <= heads_, "alibi has no slope for the last query head", first_, heads_q, heads_);
  }

 private:
  std::int32_t heads_, first_;
};

/// A slope of the caller for each query head.
class slopes {
 public:
  HEDDLE_HD_FN constexpr explicit slopes(number_list list) noexcept : list_(list) {}

  HEDDLE_HD_FN double slope(index_t head) const noexcept { return list_[head]; }
  HEDDLE_FN void check(index_t heads_q) const {
    HEDDLE_EXPECTS(list_.size() == heads_q, "one slope per query head", list_.size(), heads_q);
  }

 private:
  number_list list_;
};

namespace detail {

/// Whether scores are changed at all.
template <class Bias>
inline constexpr bool has_bias = !std::is_same_v<Bias, no_bias>;

/// -slope |x - y| for positions relative to the key's block: exact below 2^24 in float, part of the definition of the
/// bits beyond.
template <class T>
HEDDLE_TILE T slope_bias(T slope, T x, T y) {
  T const d = x - y;
  return heddle::mul(-slope, d < T(0) ? -d : d);
}

/// The bias of one pair; -inf for an excluded one.
template <class T, class Bias>
HEDDLE_FN T bias_of(Bias const& b, index_t head, index_t i, index_t j) {
  if constexpr (linear_bias<Bias>) {
    index_t const first = j / keys_per_block * keys_per_block;
    return slope_bias(static_cast<T>(b.slope(head)), static_cast<T>(i - first), static_cast<T>(j - first));
  } else {
    return static_cast<T>(b(head, i, j));
  }
}

template <class Bias>
HEDDLE_FN void check_bias(Bias const& b, index_t heads_q) {
  if constexpr (requires { b.check(heads_q); }) b.check(heads_q);
}

}  // namespace detail
}  // namespace heddle::attention
