// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/algorithm/detail/counting.hpp>
#include <heddle/algorithm/detail/even_bins.hpp>
#include <heddle/core/overlap.hpp>
#include <heddle/tile/run.hpp>

namespace heddle {

namespace detail {

/// counts[bin] = the sum over the parts; the bins behind the last one go to `outside`.
struct merge_counts_program {
  using plain = void;
  static constexpr index_t grain = 1024;

  std::uint32_t const* tables;
  index_t parts, row, bins, all_bins;  // row: distance between the tables of two parts
  view<index_t, 1> counts, outside;

  template <class Ctx>
  struct shared {};
  HEDDLE_FN span work() const {
    return {.operation = "histogram",
            .shape = {parts, all_bins},
            .bytes = parts * all_bins * static_cast<index_t>(sizeof(std::uint32_t)) + element_bytes(counts, outside),
            .flops = parts * all_bins};
  }
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return tile::ceil_div(all_bins, grain);
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    index_t const first = ctx.tile() * grain, left = all_bins - first;
    ctx.for_each(left < grain ? left : grain, [this, first](index_t b) { merge(first + b); });
  }

 private:
  HEDDLE_HD_FN void merge(index_t bin) const {
    index_t sum = 0;
    for (index_t p = 0; p < parts; ++p) sum += tables[p * row + bin];
    if (bin < bins)
      counts.data()[bin * counts.stride(0)] = sum;
    else if (!outside.empty())
      outside.data()[(bin - bins) * outside.stride(0)] = sum;
  }
};

template <executor E, class V, class F>
HEDDLE_FN void histogram_to(E& exec, V const& in, F const& f, view<index_t, 1> const& counts,
                            view<index_t, 1> const& outside, index_t all_bins) {
  expect_apart("histogram", counts, in, outside);
  expect_apart("histogram", outside, in);
  even_parts const cut = cut_for_bins(in.extent(0), all_bins, exec.concurrency());
  index_t const row = tables_for(all_bins) * all_bins;
  scratch_frame<E> frame(exec);
  std::uint32_t* const tables = frame.template take<std::uint32_t>(checked_product(cut.parts, row));
  if (cut.parts > 0)
    tile::run(exec, count_program<source_t<V>, F>{source_of(in), f, cut, all_bins, tables, "histogram.count"});
  tile::run(exec, merge_counts_program{tables, cut.parts, row, counts.extent(0), all_bins, counts, outside});
}

template <class V>
concept count_view = vector_view<V> && writable_view<V> && std::same_as<typename V::value_type, index_t>;

// A view can be called with an integer too, and is none.
template <class F, class In>
concept bin_function = !input_view<F> && std::is_trivially_copyable_v<F> &&
                       std::invocable<F const&, tile::value_t<typename In::value_type> const&>;

// The bin that a function of the user names; what is none of them goes behind the last.
template <class F>
struct bin_or_outside {
  F f;
  index_t bins;

  HEDDLE_DEVICE_PASS_QUIET
  template <class T>
  HEDDLE_HD_FN index_t operator()(T const& x) const {
    auto const bin = f(x);
    static_assert(std::integral<std::remove_cvref_t<decltype(bin)>>, "a bin is an integer");
    // As unsigned 64 bits a negative number is above all bins.
    return static_cast<std::uint64_t>(bin) < static_cast<std::uint64_t>(bins) ? static_cast<index_t>(bin) : bins;
  }
};
struct same_value {
  template <class T>
  HEDDLE_HD_FN T operator()(T const& x) const {
    return x;
  }
};

}  // namespace detail

/// counts[b] = how many elements x have floor((x - lo) * bins / (hi - lo)) == b, for lo <= x < hi.
///
/// Shapes: in a vector, lazy ones included; counts a vector, one element per bin; outside, if given, three: below lo,
/// at or above hi, NaN. The last edge is open. Types: integers and floats; lo and hi as in's numbers (float for narrow
/// floats); counts of 64 bits. Pre: lo < hi, both finite, and so is (hi - lo) * bins; at least one bin; the outputs
/// overlap nothing. Post: counts and outside are overwritten, and add up to the extent of in. Complexity: one pass.
/// Sync: submits. Memory: 32-bit tables of all bins for up to four parts per worker, of the arena. Determinism: exact.
/// Numerics: integers in exact wider arithmetic; floats in fp64, in this order of operations, and what rounds up to
/// bins is counted in the last one.
struct histogram_fn {
  template <executor E, input_vector In, detail::count_view C>
  requires scalar<typename In::value_type> HEDDLE_FN void operator()(E& exec, In const& in,
                                                                     tile::value_t<typename In::value_type> lo,
                                                                     tile::value_t<typename In::value_type> hi,
                                                                     C const& counts) const {
    run(exec, in, lo, hi, counts, view<index_t, 1>(nullptr, dims<1>(0)));
  }
  template <executor E, input_vector In, detail::count_view C, detail::count_view O>
  requires scalar<typename In::value_type> HEDDLE_FN void operator()(E& exec, In const& in,
                                                                     tile::value_t<typename In::value_type> lo,
                                                                     tile::value_t<typename In::value_type> hi,
                                                                     C const& counts, O const& outside) const {
    HEDDLE_EXPECTS(outside.extent(0) == 3, "outside has three elements: below, above, NaN", outside.extent(0));
    run(exec, in, lo, hi, counts, view<index_t, 1>(outside));
  }

 private:
  template <executor E, class In, class T>
  static HEDDLE_FN void run(E& exec, In const& in, T lo, T hi, view<index_t, 1> const& counts,
                            view<index_t, 1> const& outside) {
    HEDDLE_EXPECTS(counts.extent(0) >= 1, "a histogram has a bin", counts.extent(0));
    HEDDLE_EXPECTS(lo < hi, "the range of a histogram is not empty: lo < hi", lo, hi);
    if constexpr (std::floating_point<T>)
      HEDDLE_EXPECTS(is_finite(lo) && is_finite(hi), "both ends are finite", lo, hi);
    detail::histogram_to(exec, in, detail::even_bins<T>(lo, hi, counts.extent(0)), counts, outside,
                         counts.extent(0) + 3);
  }
};

/// counts[b] = how many elements x have bin(x) == b.
///
/// Shapes: in a vector, lazy ones included; counts a vector, one element per bin; outside, if given, one element: how
/// many have another bin than these. Types: bin gives integers, and narrow floats arrive as float; without it, the
/// elements are integers and are the bins. Pre: bin is trivially copyable and pure. Otherwise as histogram.
struct histogram_by_fn {
  template <executor E, input_vector In, detail::bin_function<In> F, detail::count_view C>
  HEDDLE_FN void operator()(E& exec, In const& in, F const& bin, C const& counts) const {
    run(exec, in, bin, counts, view<index_t, 1>(nullptr, dims<1>(0)));
  }
  template <executor E, input_vector In, detail::bin_function<In> F, detail::count_view C, detail::count_view O>
  HEDDLE_FN void operator()(E& exec, In const& in, F const& bin, C const& counts, O const& outside) const {
    HEDDLE_EXPECTS(outside.extent(0) == 1, "outside has one element", outside.extent(0));
    run(exec, in, bin, counts, view<index_t, 1>(outside));
  }
  template <executor E, input_vector Keys, detail::count_view C>
  requires std::integral<typename Keys::value_type> HEDDLE_FN void operator()(E& exec, Keys const& keys,
                                                                              C const& counts) const {
    (*this)(exec, keys, detail::same_value{}, counts);
  }
  template <executor E, input_vector Keys, detail::count_view C, detail::count_view O>
  requires std::integral<typename Keys::value_type> HEDDLE_FN void operator()(E& exec, Keys const& keys,
                                                                              C const& counts, O const& outside) const {
    (*this)(exec, keys, detail::same_value{}, counts, outside);
  }

 private:
  template <executor E, class In, class F>
  static HEDDLE_FN void run(E& exec, In const& in, F const& bin, view<index_t, 1> const& counts,
                            view<index_t, 1> const& outside) {
    HEDDLE_EXPECTS(counts.extent(0) >= 1, "a histogram has a bin", counts.extent(0));
    detail::histogram_to(exec, in, detail::bin_or_outside<F>{bin, counts.extent(0)}, counts, outside,
                         counts.extent(0) + 1);
  }
};

inline constexpr histogram_fn histogram{};
inline constexpr histogram_by_fn histogram_by{};

}  // namespace heddle
