// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

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

namespace detail {
/// A borrowed list of numbers of one of two types: where it lies and, in one number, its length and which type.
class two_type_list {
 public:
  HEDDLE_HD_FN constexpr two_type_list(void const* data, index_t size, bool second) noexcept
      : data_(data), size_and_type_(static_cast<std::uint64_t>(size) << 1 | (second ? 1u : 0u)) {}

  HEDDLE_HD_FN constexpr index_t size() const noexcept { return static_cast<index_t>(size_and_type_ >> 1); }
  HEDDLE_HD_FN constexpr bool second() const noexcept { return (size_and_type_ & 1u) != 0; }
  HEDDLE_HD_FN constexpr void const* data() const noexcept { return data_; }

 private:
  void const* data_;
  std::uint64_t size_and_type_;
};
}  // namespace detail

/// A borrowed list of 32-bit or 64-bit integers, one per sequence or per sequence boundary. Read by the operation's
/// work, not at submission.
class integer_list {
 public:
  HEDDLE_HD_FN constexpr integer_list() noexcept : list_(nullptr, 0, false) {}

  /// Pre: the elements lie without gaps.
  template <any_view V>
    requires((V::rank() == 1 || V::rank() == 2) &&
             (std::same_as<typename V::value_type, std::int32_t> || std::same_as<typename V::value_type, std::int64_t>))
  HEDDLE_HD_FN constexpr integer_list(V const& v) : list_(v.data(), v.size(), sizeof(typename V::value_type) == 8) {
    HEDDLE_EXPECTS(v.is_contiguous(), "a list of integers must lie without gaps", v.size());
  }

  HEDDLE_HD_FN constexpr index_t size() const noexcept { return list_.size(); }
  HEDDLE_HD_FN index_t operator[](index_t i) const noexcept {
    return list_.second() ? static_cast<std::int64_t const*>(list_.data())[i]
                          : static_cast<std::int32_t const*>(list_.data())[i];
  }

 private:
  detail::two_type_list list_;
};

/// A borrowed list of floats or doubles, one per query head. Read by the operation's work, not at submission.
class number_list {
 public:
  HEDDLE_HD_FN constexpr number_list() noexcept : list_(nullptr, 0, false) {}

  /// Pre: the elements lie without gaps.
  template <vector_view V>
    requires(std::same_as<typename V::value_type, float> || std::same_as<typename V::value_type, double>)
  HEDDLE_HD_FN constexpr number_list(V const& v) : list_(v.data(), v.size(), sizeof(typename V::value_type) == 8) {
    HEDDLE_EXPECTS(v.is_contiguous(), "a list of numbers must lie without gaps", v.stride(0));
  }

  HEDDLE_HD_FN constexpr index_t size() const noexcept { return list_.size(); }
  HEDDLE_HD_FN double operator[](index_t i) const noexcept {
    return list_.second() ? static_cast<double const*>(list_.data())[i]
                          : static_cast<double>(static_cast<float const*>(list_.data())[i]);
  }

 private:
  detail::two_type_list list_;
};

}  // namespace heddle::attention
