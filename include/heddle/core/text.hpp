// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/config.hpp>

#include <concepts>
#include <cstddef>
#include <type_traits>

namespace heddle {

/// A message of bounded length that owns its characters and never allocates.
///
/// Post: what does not fit is cut and the text ends in "...".
/// Complexity: O(length of what is appended).
class text {
 public:
  static constexpr std::size_t capacity = 511;

  HEDDLE_FN text() noexcept : size_(0) { data_[0] = 0; }
  HEDDLE_FN explicit text(char const* s) noexcept : text() { append(s); }

  HEDDLE_FN char const* c_str() const noexcept { return data_; }
  HEDDLE_FN std::size_t size() const noexcept { return size_; }

  HEDDLE_FN text& append(char c) noexcept {
    if (size_ < capacity) {
      data_[size_++] = c;
      data_[size_] = 0;
    } else {
      data_[capacity - 3] = data_[capacity - 2] = data_[capacity - 1] = '.';
    }
    return *this;
  }
  HEDDLE_FN text& append(char const* s) noexcept {
    for (; s && *s; ++s) append(*s);
    return *this;
  }
  HEDDLE_FN text& append(bool b) noexcept { return append(b ? "true" : "false"); }
  template <class I>
    requires(std::integral<I> && !std::same_as<I, bool> && !std::same_as<I, char>)
  HEDDLE_FN text& append(I value) noexcept {
    using U = std::make_unsigned_t<I>;
    U rest = static_cast<U>(value);
    if constexpr (std::is_signed_v<I>) {
      if (value < 0) {
        append('-');
        rest = static_cast<U>(U{0} - rest);
      }
    }
    char digits[24];
    int n = 0;
    do {
      digits[n++] = static_cast<char>('0' + static_cast<int>(rest % 10));
      rest = static_cast<U>(rest / 10);
    } while (rest != 0);
    while (n > 0) append(digits[--n]);
    return *this;
  }
  HEDDLE_FN text& append(double value) noexcept {
    char number[40];
    __builtin_snprintf(number, sizeof number, "%.9g", value);
    return append(static_cast<char const*>(number));
  }
  template <class E>
    requires std::is_enum_v<E>
  HEDDLE_FN text& append(E value) noexcept {
    return append(static_cast<std::underlying_type_t<E>>(value));
  }
  HEDDLE_FN text& append(void const* pointer) noexcept {
    char number[24];
    __builtin_snprintf(number, sizeof number, "%p", pointer);
    return append(static_cast<char const*>(number));
  }

 private:
  std::size_t size_;
  char data_[capacity + 1];
};

/// Appends every argument in turn.
template <class... Parts>
HEDDLE_FN text make_text(Parts const&... parts) noexcept {
  text t;
  (t.append(parts), ...);
  return t;
}

}  // namespace heddle
