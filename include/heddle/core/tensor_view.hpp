// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/extents.hpp>

#include <concepts>

namespace heddle {

class host_space;

/// A window on memory that somebody else owns: data, extents and 64-bit strides, tagged with the memory space.
///
/// Shapes: any rank; strides are free and may be zero or negative. Types: `T` is the element; a view of `T const`
/// is an input. Units: strides in elements. Constness is shallow: a const view of mutable elements is writable.
/// Memory: owns nothing and never extends a lifetime; trivially copyable.
template <class T, class Extents, class Space = host_space>
class tensor_view {
 public:
  using element_type = T;
  using value_type = std::remove_cv_t<T>;
  using extents_type = Extents;
  using space = Space;

  static HEDDLE_HD_FN constexpr std::size_t rank() noexcept { return Extents::rank(); }

  HEDDLE_HD_FN constexpr tensor_view() noexcept : data_(nullptr), extents_(), stride_{} {}

  /// Row-major: the last index moves fastest.
  HEDDLE_HD_FN constexpr tensor_view(T* data, Extents const& e) noexcept : data_(data), extents_(e), stride_{} {
    index_t step = 1;
    for (std::size_t i = rank(); i-- > 0;) {
      stride_[i] = step;
      step *= e[i];
    }
  }

  /// With one stride per dimension.
  template <class... S>
    requires(sizeof...(S) == Extents::rank() && sizeof...(S) > 0 && (std::convertible_to<S, index_t> && ...))
  HEDDLE_HD_FN constexpr tensor_view(T* data, Extents const& e, S... strides) noexcept
      : data_(data), extents_(e), stride_{static_cast<index_t>(strides)...} {}

  /// From a view of the same space whose extents fit: adds const, or forgets static sizes.
  template <class U, class F>
    requires(std::convertible_to<U (*)[], T (*)[]>&& std::convertible_to<F, Extents>&& F::rank() == Extents::rank())
  HEDDLE_HD_FN constexpr tensor_view(tensor_view<U, F, Space> const& other)
      : data_(other.data()), extents_(other.extents()), stride_{} {
    for (std::size_t i = 0; i < rank(); ++i) stride_[i] = other.stride(i);
  }

  HEDDLE_HD_FN constexpr T* data() const noexcept { return data_; }
  HEDDLE_HD_FN constexpr Extents const& extents() const noexcept { return extents_; }
  HEDDLE_HD_FN constexpr index_t extent(std::size_t i) const noexcept { return extents_[i]; }
  HEDDLE_HD_FN constexpr index_t stride(std::size_t i) const noexcept { return stride_[i]; }
  HEDDLE_HD_FN constexpr index_t size() const noexcept { return extents_.size(); }
  HEDDLE_HD_FN constexpr bool empty() const noexcept { return size() == 0; }

  template <class... I>
    requires(sizeof...(I) == Extents::rank() && (std::convertible_to<I, index_t> && ...))
  HEDDLE_HD_FN constexpr T& operator()(I... i) const {
    index_t const index[] = {static_cast<index_t>(i)..., 0};
    index_t at = 0;
    for (std::size_t d = 0; d < rank(); ++d) {
      HEDDLE_ASSERT(index[d] >= 0 && index[d] < extents_[d], "index out of range", d, index[d], extents_[d]);
      at += index[d] * stride_[d];
    }
    return data_[at];
  }

  /// Whether the elements lie without gaps in row-major order; true for an empty view.
  HEDDLE_HD_FN constexpr bool is_contiguous() const noexcept {
    if (empty()) return true;
    index_t step = 1;
    for (std::size_t i = rank(); i-- > 0;) {
      if (extents_[i] != 1 && stride_[i] != step) return false;
      step *= extents_[i];
    }
    return true;
  }

  /// Whether no two indices of two dimensions name one element, as an output needs. Strides of more than two dimensions
  /// that meet only together are not found.
  HEDDLE_HD_FN constexpr bool has_distinct_elements() const noexcept {
    if (empty()) return true;
    for (std::size_t a = 0; a < rank(); ++a) {
      if (extents_[a] == 1) continue;
      if (stride_[a] == 0) return false;
      for (std::size_t b = 0; b < a; ++b)
        if (extents_[b] > 1 && meet(extents_[a], stride_[a], extents_[b], stride_[b])) return false;
    }
    return true;
  }

 private:
  // Fewer than n steps of s meet fewer than m steps of t where i s = j t; the fewest are |t| / gcd and |s| / gcd.
  static HEDDLE_HD_FN constexpr bool meet(index_t n, index_t s, index_t m, index_t t) noexcept {
    s = s < 0 ? -s : s;
    t = t < 0 ? -t : t;
    if (s > (m - 1) * t || t > (n - 1) * s) return false;
    index_t divisor = s, rest = t;
    while (rest != 0) {
      index_t const next = divisor % rest;
      divisor = rest;
      rest = next;
    }
    return t / divisor < n && s / divisor < m;
  }

  T* data_;
  Extents extents_;
  index_t stride_[Extents::rank() + 1];
};

/// A view with run-time extents.
template <class T, std::size_t Rank, class Space = host_space>
using view = tensor_view<T, dims<Rank>, Space>;

namespace detail {
template <class V>
inline constexpr bool is_tensor_view = false;
template <class T, class E, class S>
inline constexpr bool is_tensor_view<tensor_view<T, E, S>> = true;
}  // namespace detail

/// A tensor_view of any element, extents and space.
/// Meaning: names memory; copying it copies no elements.
template <class V>
concept any_view = detail::is_tensor_view<std::remove_cvref_t<V>>;

/// A view of a given rank.
template <class V, std::size_t Rank>
concept view_of_rank = any_view<V> &&(std::remove_cvref_t<V>::rank() == Rank);

/// A view with one index, and one with two.
template <class V>
concept vector_view = view_of_rank<V, 1>;
template <class V>
concept matrix_view = view_of_rank<V, 2>;

/// A view whose elements may be written.
template <class V>
concept writable_view = any_view<V> && !std::is_const_v<typename std::remove_cvref_t<V>::element_type>;

/// Whether dimension i of A and dimension j of B can have one size, as far as their types say.
template <any_view A, any_view B>
HEDDLE_HD_FN constexpr bool can_agree(std::size_t i, std::size_t j) noexcept {
  index_t const a = A::extents_type::static_extent(i), b = B::extents_type::static_extent(j);
  return a == dynamic || b == dynamic || a == b;
}

/// Forgets static sizes and adds const where asked: the one type that kernels are instantiated with.
template <any_view V>
HEDDLE_HD_FN constexpr auto canonical(V const& v) {
  return view<typename V::element_type, V::rank(), typename V::space>(v);
}
template <any_view V>
HEDDLE_HD_FN constexpr auto canonical_input(V const& v) {
  return view<typename V::value_type const, V::rank(), typename V::space>(v);
}

namespace detail {
template <class T, class Space, std::size_t Rank>
HEDDLE_HD_FN constexpr auto view_from(T* data, index_t const* sizes, index_t const* strides) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    if constexpr (Rank == 0)
      return view<T, 0, Space>(data, dims<0>());
    else
      return view<T, Rank, Space>(data, dims<Rank>(sizes[I]...), strides[I]...);
  }
  (std::make_index_sequence<Rank>{});
}
}  // namespace detail

/// The part [lo, hi) of dimension `dim`; the rank stays.
/// Pre: 0 <= lo <= hi <= extent(dim).
template <any_view V>
HEDDLE_HD_FN constexpr auto slice(V const& v, std::size_t dim, index_t lo, index_t hi) {
  HEDDLE_EXPECTS(dim < V::rank(), "the dimension must exist", dim, V::rank());
  HEDDLE_EXPECTS(lo >= 0 && lo <= hi && hi <= v.extent(dim), "a slice must lie inside the view", lo, hi, v.extent(dim));
  index_t sizes[V::rank() + 1], strides[V::rank() + 1];
  for (std::size_t i = 0; i < V::rank(); ++i) {
    sizes[i] = i == dim ? hi - lo : v.extent(i);
    strides[i] = v.stride(i);
  }
  index_t const shift = hi == lo ? 0 : lo * v.stride(dim);
  return detail::view_from<typename V::element_type, typename V::space, V::rank()>(v.data() + shift, sizes, strides);
}

/// Fixes one index; the rank falls by one.
/// Pre: 0 <= index < extent(dim).
template <any_view V>
  requires(V::rank() > 0)
HEDDLE_HD_FN constexpr auto select(V const& v, std::size_t dim, index_t index) {
  HEDDLE_EXPECTS(dim < V::rank(), "the dimension must exist", dim, V::rank());
  HEDDLE_EXPECTS(index >= 0 && index < v.extent(dim), "the index must lie inside the view", index, v.extent(dim));
  index_t sizes[V::rank()] = {}, strides[V::rank()] = {};
  for (std::size_t i = 0, o = 0; i < V::rank(); ++i)
    if (i != dim) {
      sizes[o] = v.extent(i);
      strides[o++] = v.stride(i);
    }
  return detail::view_from<typename V::element_type, typename V::space, V::rank() - 1>(v.data() + index * v.stride(dim),
                                                                                       sizes, strides);
}

/// Swaps two dimensions.
template <any_view V>
  requires(V::rank() >= 2)
HEDDLE_HD_FN constexpr auto transpose(V const& v, std::size_t a = V::rank() - 2, std::size_t b = V::rank() - 1) {
  HEDDLE_EXPECTS(a < V::rank() && b < V::rank(), "both dimensions must exist", a, b, V::rank());
  index_t sizes[V::rank()], strides[V::rank()];
  for (std::size_t i = 0; i < V::rank(); ++i) {
    std::size_t const from = i == a ? b : i == b ? a : i;
    sizes[i] = v.extent(from);
    strides[i] = v.stride(from);
  }
  return detail::view_from<typename V::element_type, typename V::space, V::rank()>(v.data(), sizes, strides);
}

/// Runs one dimension backwards.
/// Post: element i along `dim` is the element extent(dim) - 1 - i of v.
template <any_view V>
  requires(V::rank() > 0)
HEDDLE_HD_FN constexpr auto reverse(V const& v, std::size_t dim = 0) {
  HEDDLE_EXPECTS(dim < V::rank(), "the dimension must exist", dim, V::rank());
  index_t sizes[V::rank()], strides[V::rank()];
  for (std::size_t i = 0; i < V::rank(); ++i) {
    sizes[i] = v.extent(i);
    strides[i] = i == dim ? -v.stride(i) : v.stride(i);
  }
  index_t const shift = v.empty() ? 0 : (v.extent(dim) - 1) * v.stride(dim);
  return detail::view_from<typename V::element_type, typename V::space, V::rank()>(v.data() + shift, sizes, strides);
}

/// Whether a view can be read with other extents without moving elements, and if not, why.
struct reshape_report {
  enum class fault { none, size, strides } why = fault::none;
  std::size_t dim = 0;  ///< of the new extents, where the fault shows

  HEDDLE_HD_FN constexpr explicit operator bool() const noexcept { return why == fault::none; }
};

namespace detail {
/// Dimensions as sizes and strides, without those of size 1 and with neighbours merged where one stride serves both.
template <std::size_t Rank>
struct merged_dims {
  index_t size[Rank + 1];
  index_t stride[Rank + 1];
  std::size_t count;

  template <any_view V>
  HEDDLE_HD_FN constexpr explicit merged_dims(V const& v) : size{}, stride{}, count(0) {
    for (std::size_t i = 0; i < Rank; ++i) {
      if (v.extent(i) == 1) continue;
      if (count > 0 && stride[count - 1] == v.extent(i) * v.stride(i)) {
        size[count - 1] *= v.extent(i);
        stride[count - 1] = v.stride(i);
      } else {
        size[count] = v.extent(i);
        stride[count++] = v.stride(i);
      }
    }
  }
};

// Gives each new dimension a stride. From the last one on, each takes its size out of the last merged dimension that
// has elements left, and must do so without a remainder.
template <any_view V>
HEDDLE_HD_FN constexpr reshape_report reshape_strides(V const& v, index_t const* sizes, std::size_t rank,
                                                      index_t* strides) {
  using fault = reshape_report::fault;
  index_t total = 1;
  for (std::size_t i = rank; i-- > 0; total *= sizes[i]) strides[i] = total;
  if (total != v.size()) return {fault::size, 0};
  if (total == 0) return {};
  merged_dims<V::rank()> old(v);
  std::size_t at = old.count;
  index_t left = 1, step = 1;
  for (std::size_t i = rank; i-- > 0;) {
    if (sizes[i] == 1) continue;  // any stride will do
    if (left == 1) {
      --at;  // the products of sizes agree, so there is one
      left = old.size[at];
      step = old.stride[at];
    }
    if (left % sizes[i] != 0) return {fault::strides, i};
    strides[i] = step;
    step *= sizes[i];
    left /= sizes[i];
  }
  return {};
}
}  // namespace detail

/// Tells whether `reshape` would succeed; touches no data.
template <any_view V, index_t... E>
HEDDLE_HD_FN constexpr reshape_report can_reshape(V const& v, extents<E...> const& to) {
  index_t sizes[sizeof...(E) + 1] = {}, strides[sizeof...(E) + 1] = {};
  for (std::size_t i = 0; i < sizeof...(E); ++i) sizes[i] = to[i];
  return detail::reshape_strides(v, sizes, sizeof...(E), strides);
}

/// The same elements in the same row-major order under other extents.
/// Pre: `can_reshape(v, to)`.
template <any_view V, index_t... E>
HEDDLE_HD_FN constexpr auto reshape(V const& v, extents<E...> const& to) {
  index_t sizes[sizeof...(E) + 1] = {}, strides[sizeof...(E) + 1] = {};
  for (std::size_t i = 0; i < sizeof...(E); ++i) sizes[i] = to[i];
  reshape_report const report = detail::reshape_strides(v, sizes, sizeof...(E), strides);
  HEDDLE_EXPECTS(report.why != reshape_report::fault::size, "a reshape must keep the number of elements", v.size(),
                 to.size());
  HEDDLE_EXPECTS(report.why != reshape_report::fault::strides,
                 "these strides can't be merged without a copy; reshape a contiguous view", report.dim);
  return detail::view_from<typename V::element_type, typename V::space, sizeof...(E)>(v.data(), sizes, strides);
}

}  // namespace heddle
