// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/error.hpp>
#include <heddle/core/math.hpp>
#include <heddle/core/philox.hpp>
#include <heddle/core/tensor_view.hpp>

#include <algorithm>
#include <vector>

namespace heddle::model {

/// How a token is chosen from logits.
struct sampling_options {
  double temperature = 1;  ///< divides the logits; 0: always the most likely token
  double top_p = 1;        ///< keeps the fewest likely tokens whose probabilities sum to at least this; always one
  index_t top_k = 0;       ///< keeps at most so many; 0: any number
  std::uint64_t seed = 0;
};

/// Chooses tokens at random, by position: the same logits, seed and position give the same token.
///
/// Determinism: weights and sums in fp64, in the order of falling weights (tokens ascending among equals) where
/// something is cut off, else in the order of tokens.
/// Memory: one entry per token of the vocabulary, taken at construction.
class sampler {
 public:
  /// Errors: contract_error for a temperature or top_k below 0 or a top_p outside [0, 1].
  HEDDLE_FN sampler(sampling_options const& options, index_t vocabulary) : options_(options) {
    HEDDLE_EXPECTS(options.temperature >= 0 && options.temperature <= 1e30,
                   "a temperature must be finite and not below 0", options.temperature);
    HEDDLE_EXPECTS(options.top_p >= 0 && options.top_p <= 1, "top_p is a probability", options.top_p);
    HEDDLE_EXPECTS(options.top_k >= 0 && vocabulary >= 1, "top_k must not be negative", options.top_k, vocabulary);
    kept_.reserve(static_cast<std::size_t>(vocabulary));
  }
  HEDDLE_FN sampler(sampler const&) = default;
  HEDDLE_FN sampler(sampler&&) noexcept = default;
  HEDDLE_FN sampler& operator=(sampler const&) = default;
  HEDDLE_FN sampler& operator=(sampler&&) noexcept = default;
  HEDDLE_FN ~sampler() = default;

  HEDDLE_FN sampling_options const& options() const noexcept { return options_; }

  /// The next token after `position` tokens.
  ///
  /// Post: a token whose logit is NaN or -inf is never chosen; where some are +inf one of those is; equal logits at
  /// temperature 0 give the lowest token. Errors: error(errc::invalid_argument) where no token can be chosen.
  template <vector_view Logits>
  HEDDLE_FN std::int32_t operator()(Logits const& logits, index_t position) {
    index_t const best = most_likely(logits);
    if (best < 0)
      throw error(errc::invalid_argument,
                  make_text("no token can follow position ", position, ": every logit is NaN or -inf"));
    if (options_.temperature == 0 || options_.top_p == 0 || options_.top_k == 1) return static_cast<std::int32_t>(best);
    weigh(logits, static_cast<double>(static_cast<float>(logits(best))));
    if (options_.top_p < 1 || (options_.top_k > 0 && options_.top_k < static_cast<index_t>(kept_.size()))) cut();
    return draw(position);
  }

 private:
  struct candidate {
    double weight;
    std::int32_t token;
  };

  template <class Logits>
  static HEDDLE_FN index_t most_likely(Logits const& logits) {
    index_t best = -1;
    float highest = -__builtin_inff();
    for (index_t t = 0; t < logits.extent(0); ++t)
      if (float const l = static_cast<float>(logits(t)); l > highest) {
        highest = l;
        best = t;
      }
    return best;
  }
  /// Weights relative to the likeliest token, whose weight is 1.
  template <class Logits>
  HEDDLE_FN void weigh(Logits const& logits, double highest) {
    kept_.clear();
    for (index_t t = 0; t < logits.extent(0); ++t) {
      double const l = static_cast<double>(static_cast<float>(logits(t)));
      double const weight = l == highest ? 1 : heddle::exp((l - highest) / options_.temperature);
      if (weight > 0) kept_.push_back({weight, static_cast<std::int32_t>(t)});  // false for NaN
    }
  }
  HEDDLE_FN void cut() {
    std::sort(kept_.begin(), kept_.end(), [](candidate const& a, candidate const& b) {
      return a.weight != b.weight ? a.weight > b.weight : a.token < b.token;
    });
    std::size_t const k = static_cast<std::size_t>(options_.top_k);
    if (k > 0 && k < kept_.size()) kept_.resize(k);
    double const enough = mul(options_.top_p, total());
    double sum = 0;
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      sum += kept_[i].weight;
      if (sum >= enough) return kept_.resize(i + 1);
    }
  }
  HEDDLE_FN double total() const {
    double sum = 0;
    for (candidate const& c : kept_) sum += c.weight;
    return sum;
  }
  HEDDLE_FN std::int32_t draw(index_t position) const {
    philox_block const b = philox(options_.seed, stream).block(static_cast<std::uint64_t>(position));
    // 53 random bits: a double in [0, 1).
    double const u = mul(static_cast<double>((std::uint64_t{b.word[0]} << 21) ^ (b.word[1] >> 11)), 0x1p-53);
    double const at = mul(u, total());
    double sum = 0;
    for (candidate const& c : kept_) {
      sum += c.weight;
      if (at < sum) return c.token;
    }
    return kept_.back().token;
  }

  static constexpr std::uint64_t stream = 0x73616d706c65;  // "sample": no other use of the seed has it
  sampling_options options_;
  std::vector<candidate> kept_;
};

}  // namespace heddle::model
