// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Inputs and outputs of the checks: memory, numbers to fill it, and comparison.

#include <heddle/core/tensor_view.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <type_traits>

namespace pareval {

using heddle::index_t;

/// n elements of any type, bool included, with views of them. Numbers start as what no right result holds.
template <class T>
class values {
 public:
  explicit values(index_t n = 0) : data_(new T[static_cast<std::size_t>(n)]()), size_(n) {
    if constexpr (std::is_floating_point_v<T>)
      std::fill(begin(), end(), std::numeric_limits<T>::quiet_NaN());
    else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
      std::fill(begin(), end(), static_cast<T>(0xA5A5A5A5A5A5A5A5));
  }
  values(std::initializer_list<T> list) : values(static_cast<index_t>(list.size())) {
    std::copy(list.begin(), list.end(), begin());
  }
  values(values const& other) : values(other.size_) { std::copy(other.begin(), other.end(), begin()); }
  values(values&&) noexcept = default;
  values& operator=(values other) noexcept {
    data_.swap(other.data_);
    std::swap(size_, other.size_);
    return *this;
  }

  index_t size() const { return size_; }
  T& operator[](index_t i) { return data_[static_cast<std::size_t>(i)]; }
  T const& operator[](index_t i) const { return data_[static_cast<std::size_t>(i)]; }
  T* begin() { return data_.get(); }
  T* end() { return data_.get() + size_; }
  T const* begin() const { return data_.get(); }
  T const* end() const { return data_.get() + size_; }

  heddle::view<T, 1> view() { return {data_.get(), heddle::dims<1>(size_)}; }
  heddle::view<T const, 1> view() const { return {data_.get(), heddle::dims<1>(size_)}; }
  heddle::view<T, 2> matrix(index_t rows, index_t columns) { return {data_.get(), heddle::dims<2>(rows, columns)}; }
  heddle::view<T const, 2> matrix(index_t rows, index_t columns) const {
    return {data_.get(), heddle::dims<2>(rows, columns)};
  }

 private:
  std::unique_ptr<T[]> data_;
  index_t size_;
};

/// What the numbers of an input are like.
enum class shape { random, equal, ascending, descending, two };
inline constexpr shape all_shapes[] = {shape::random, shape::equal, shape::ascending, shape::descending, shape::two};
inline char const* name_of(shape s) {
  constexpr char const* names[] = {"random", "equal", "ascending", "descending", "two values"};
  return names[static_cast<int>(s)];
}

/// Whole numbers in [lo, hi], as T.
template <class T>
values<T> numbers(index_t n, int lo, int hi, shape s, std::mt19937& random) {
  values<T> all(n);
  std::uniform_int_distribution<int> any(lo, hi);
  int const same = any(random), other = any(random);
  for (T& v : all) {
    bool const first = s == shape::equal || (s == shape::two && (random() & 1) != 0);
    v = static_cast<T>(first ? same : s == shape::two ? other : any(random));
  }
  if (s == shape::ascending) std::sort(all.begin(), all.end());
  if (s == shape::descending) std::sort(all.begin(), all.end(), [](T const& a, T const& b) { return b < a; });
  return all;
}

namespace detail {
template <class T>
bool same(T const& a, T const& b) {
  if constexpr (std::is_floating_point_v<T>)
    return a == b || (a != a && b != b);
  else
    return a == b;
}
template <class T>
bool close(T const& want, T const& got, double bound) {
  return std::abs(want - got) <= bound;
}
template <class T, class Equal>
std::string compare(T const* want, T const* got, index_t n, Equal const& equal) {
  for (index_t i = 0; i < n; ++i) {
    if (equal(want[i], got[i])) continue;
    std::ostringstream text;
    text.precision(17);
    text << "element " << i << " of " << n;
    if constexpr (requires { text << want[i]; }) text << " is " << got[i] << ", not " << want[i];
    return text.str();
  }
  return "";
}
}  // namespace detail

/// Nothing where all elements are equal, else the first difference.
template <class T>
std::string differs(values<T> const& want, values<T> const& got) {
  if (want.size() != got.size())
    return "there are " + std::to_string(got.size()) + " elements, not " + std::to_string(want.size());
  return detail::compare(want.begin(), got.begin(), want.size(), detail::same<T>);
}
template <class T>
std::string differs(T const& want, values<T> const& got) {
  return detail::compare(&want, got.begin(), 1, detail::same<T>);
}
/// The same up to a bound on each element's error.
template <class T>
std::string differs(values<T> const& want, values<T> const& got, double bound) {
  return detail::compare(want.begin(), got.begin(), want.size(),
                         [bound](T const& a, T const& b) { return detail::close(a, b, bound); });
}
template <class T>
std::string differs(T const& want, values<T> const& got, double bound) {
  return detail::compare(&want, got.begin(), 1, [bound](T const& a, T const& b) { return detail::close(a, b, bound); });
}

}  // namespace pareval
