// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/algorithm/detail/source.hpp>

namespace heddle {

/// A vector whose elements are made when they are read, as the makers in namespace views return it.
///
/// Valid: `typename V::value_type`, `v(i)`, `v.extent(0)`, `v.size()`, `v.bytes()`; trivially copyable.
/// Meaning: an input like a view of memory; it can't be written. Models: what namespace views makes.
template <class V>
concept lazy_view = detail::is_lazy<V>;

/// What an algorithm reads: a view of memory, or a lazy one. And one with a single index.
template <class V>
concept input_view = any_view<V> || lazy_view<V>;
template <class V>
concept input_vector = vector_view<V> || lazy_view<V>;

/// The elements of two inputs at one position.
template <class A, class B>
struct zipped {
  A first;
  B second;
};

namespace detail {

template <std::integral T>
struct iota_view : lazy_base {
  using value_type = T;
  static constexpr bool in_lanes = true;
  T first;

  HEDDLE_HD_FN T operator()(index_t i) const { return add(first, static_cast<T>(i)); }
  HEDDLE_HD_FN index_t bytes() const { return 0; }
  HEDDLE_HD_FN bool unit() const { return true; }
  template <class V>
  HEDDLE_TILE V lanes(index_t i) const {
    return V::iota() + (*this)(i);
  }
  template <class V>
  HEDDLE_TILE V lanes(index_t i, index_t) const {
    return lanes<V>(i);
  }
};

template <class F, class... S>
using mapped_t = std::remove_cvref_t<std::invoke_result_t<F const&, tile::value_t<typename S::value_type> const&...>>;

// Vectors of the arguments and of the result have the same registers only where their numbers have one size.
template <class F, class... S>
concept maps_lanes =
    scalar<mapped_t<F, S...>> && arithmetic<mapped_t<F, S...>> &&(S::in_lanes&&...) &&
    ((sizeof(tile::value_t<typename S::value_type>) == sizeof(mapped_t<F, S...>)) && ...) &&
    std::is_invocable_r_v<vec<mapped_t<F, S...>, 4>, F const&, vec<tile::value_t<typename S::value_type>, 4> const&...>;

template <class F, class... S>
struct map_view : lazy_base {
  using value_type = mapped_t<F, S...>;
  static constexpr bool in_lanes = maps_lanes<F, S...>;
  F f;
  map_sources<S...> all;

  HEDDLE_DEVICE_PASS_QUIET
  HEDDLE_HD_FN value_type operator()(index_t i) const { return all.call(f, i); }
  HEDDLE_HD_FN index_t bytes() const { return all.bytes(); }
  HEDDLE_HD_FN bool unit() const { return all.unit(); }
  HEDDLE_DEVICE_PASS_QUIET
  template <class V>
  HEDDLE_TILE V lanes(index_t i) const {
    return all.template call_lanes<V>(f, i, detail::all_lanes{});
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class V>
  HEDDLE_TILE V lanes(index_t i, index_t count) const {
    return all.template call_lanes<V>(f, i, detail::first_lanes{count});
  }
};

template <class A, class B>
struct zip_view : lazy_base {
  using value_type = zipped<typename A::value_type, typename B::value_type>;
  static constexpr bool in_lanes = false;
  A a;
  B b;

  HEDDLE_HD_FN value_type operator()(index_t i) const { return {a(i), b(i)}; }
  HEDDLE_HD_FN index_t bytes() const { return a.bytes() + b.bytes(); }
  HEDDLE_HD_FN bool unit() const { return true; }
};

template <class S, class I>
struct gather_view : lazy_base {
  using value_type = typename S::value_type;
  static constexpr bool in_lanes = scalar<value_type>;
  S source;
  I indices;

  HEDDLE_HD_FN value_type operator()(index_t i) const {
    index_t const at = static_cast<index_t>(indices(i));
    HEDDLE_ASSERT(at >= 0 && at < source.extent(0), "an index must name an element", i, at, source.extent(0));
    return source(at);
  }
  HEDDLE_HD_FN index_t bytes() const { return this->n * static_cast<index_t>(sizeof(value_type)) + indices.bytes(); }
  HEDDLE_HD_FN bool unit() const { return true; }
  template <class V>
  HEDDLE_TILE V lanes(index_t i) const {
    return lanes<V>(i, V::width);
  }
  template <class V>
  HEDDLE_TILE V lanes(index_t i, index_t count) const {
    V r = V::zero();
    for (int k = 0; k < V::width && k < count; ++k) r.lane[k] = tile::widen((*this)(i + k));
    return r;
  }
};

}  // namespace detail

/// Lazy inputs for for_each, transform, copy, reduce, scans, histograms and selections. Nothing is stored: elements are
/// made where they are read, at every read. They hold views, so what those name must stay alive. `[](auto const& x)
/// HEDDLE_LAMBDA {...}` and sources of one size of number keep the vector path; a gather is read one by one.
namespace views {

/// first, first + 1, ...: n integers of the type of first, 64 bits where it is left out. Pre: n >= 0.
struct make_iota {
  template <std::integral T = index_t>
  HEDDLE_HD_FN auto operator()(index_t n, T first = T(0)) const {
    HEDDLE_EXPECTS(n >= 0, "a count must not be negative", n);
    return detail::iota_view<T>{{n}, first};
  }
};

/// f(v[i], ...) for vectors of one extent; narrow floats arrive as float, as in transform. f is pure.
struct make_map {
  template <class F, input_vector V, input_vector... Rest>
  HEDDLE_HD_FN auto operator()(F const& f, V const& v, Rest const&... rest) const {
    bool const equal = ((rest.extent(0) == v.extent(0)) && ...);
    HEDDLE_EXPECTS(equal, "inputs of a map have one extent", v.extent(0), rest.extent(0)...);
    using result = detail::map_view<F, detail::source_t<V>, detail::source_t<Rest>...>;
    return result{{v.extent(0)}, f, detail::map_sources_of(v, rest...)};
  }
};

/// Pairs `zipped{a[i], b[i]}`.
struct make_zip {
  template <input_vector A, input_vector B>
  HEDDLE_HD_FN auto operator()(A const& a, B const& b) const {
    HEDDLE_EXPECTS(a.extent(0) == b.extent(0), "zipped inputs have one extent", a.extent(0), b.extent(0));
    return detail::zip_view<detail::source_t<A>, detail::source_t<B>>{
        {a.extent(0)}, detail::source_of(a), detail::source_of(b)};
  }
};

/// v[indices[i]]. Pre: every index lies inside v; checked where contract level 2 is on.
struct make_gather {
  template <input_vector V, input_vector I>
  requires std::integral<typename I::value_type> HEDDLE_HD_FN auto operator()(V const& v, I const& indices) const {
    return detail::gather_view<detail::source_t<V>, detail::source_t<I>>{
        {indices.extent(0)}, detail::source_of(v), detail::source_of(indices)};
  }
};

/// One maker of each kind.
inline constexpr make_iota iota{};
inline constexpr make_map map{};
inline constexpr make_zip zip{};
inline constexpr make_gather gather{};

}  // namespace views
}  // namespace heddle
