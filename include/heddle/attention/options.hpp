// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/attention/mask.hpp>
#include <heddle/core/tensor_view.hpp>

namespace heddle::attention {

/// A value that the caller may leave to the operation.
template <class T>
class setting {
 public:
  HEDDLE_HD_FN constexpr setting() noexcept : value_(), given_(false) {}
  HEDDLE_HD_FN constexpr setting(T value) noexcept : value_(value), given_(true) {}

  HEDDLE_HD_FN constexpr bool given() const noexcept { return given_; }
  HEDDLE_HD_FN constexpr T value_or(T other) const noexcept { return given_ ? value_ : other; }

 private:
  T value_;
  bool given_;
};

/// A borrowed list of 32-bit or 64-bit integers, one per sequence or per sequence boundary. Read by the operation's
/// work, not at submission.
class integer_list {
 public:
  HEDDLE_HD_FN constexpr integer_list() noexcept : data_(nullptr), size_(0), wide_(false) {}

  /// Pre: the elements lie without gaps.
  template <vector_view V>
    requires(std::same_as<typename V::value_type, std::int32_t> || std::same_as<typename V::value_type, std::int64_t>)
  HEDDLE_HD_FN constexpr integer_list(V const& v)
      : data_(v.data()), size_(v.size()), wide_(sizeof(typename V::value_type) == 8) {
    HEDDLE_EXPECTS(v.is_contiguous(), "a list of offsets must lie without gaps", v.stride(0));
  }

  HEDDLE_HD_FN constexpr index_t size() const noexcept { return size_; }
  HEDDLE_HD_FN index_t operator[](index_t i) const noexcept {
    return wide_ ? static_cast<std::int64_t const*>(data_)[i] : static_cast<std::int32_t const*>(data_)[i];
  }

 private:
  void const* data_;
  index_t size_;
  bool wide_;
};

/// What attention can be told beside its operands.
///
/// `mask`: which keys a query sees. `scale`: factor on q.k, any finite number of the scores' type,
/// 1/sqrt(dk) by default. `softcap`: c > 0
/// replaces a score s by c*tanh(s/c) before the mask; none by default. `query_offset`: position of query 0 of each
/// sequence in key coordinates, may be negative; by default Lk - Lq of each sequence, which aligns the last query
/// with the last key. `query_offsets`: one offset per sequence instead. `cu_q`, `cu_k`: starts of the sequences in
/// the token dimension, sequences + 1 numbers from 0, never falling; rows past the last one are slack: never read,
/// written as 0 (-inf in the log-sum-exp). Without them the tokens are cut into `sequences` equal parts.
template <mask Mask = causal>
struct options {
  Mask mask{};
  setting<double> scale{};
  setting<double> softcap{};
  setting<index_t> query_offset{};
  integer_list query_offsets{};
  integer_list cu_q{};
  integer_list cu_k{};
  index_t sequences = 1;
};

/// Options with a mask whose type is awkward to spell: `with_mask(causal{} & window(256, 0))`.
template <mask Mask>
HEDDLE_HD_FN constexpr options<Mask> with_mask(Mask const& m) {
  return {m, {}, {}, {}, {}, {}, {}, 1};
}

}  // namespace heddle::attention
