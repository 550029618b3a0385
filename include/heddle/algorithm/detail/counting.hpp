// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/algorithm/views.hpp>
#include <heddle/tile/run.hpp>

/// @file
/// Counting into bins, each part of the input by itself: what histograms and partition_by_key begin with. Counts are
/// exact, so how the input is cut leaves no trace.

namespace heddle {
namespace detail {

/// A cut of [0, n) into parts of one length, the last may be shorter.
struct even_parts {
  static constexpr index_t longest = index_t{1} << 30;  // so that 32 bits count the elements of a part

  index_t n, length, parts;

  HEDDLE_HD_FN index_t first(index_t part) const { return part * length; }
  HEDDLE_HD_FN index_t end(index_t part) const { return part + 1 == parts ? n : (part + 1) * length; }
};

/// Up to `most` parts of at least `least` elements, more where parts would grow too long.
HEDDLE_FN constexpr even_parts cut_evenly(index_t n, index_t most, index_t least,
                                          index_t longest = even_parts::longest) {
  index_t wanted = n / (least < 1 ? 1 : least);
  wanted = wanted > most ? most : wanted < 1 ? 1 : wanted;
  index_t const needed = tile::ceil_div(n, longest), parts = wanted > needed ? wanted : needed;
  index_t const length = n == 0 ? 1 : tile::ceil_div(n, parts);
  return {n, length, n == 0 ? 0 : tile::ceil_div(n, length)};
}

/// Several tables side by side, so that equal neighbours don't wait for each other's counter.
HEDDLE_FN constexpr index_t tables_for(index_t bins) { return bins <= 4096 ? 4 : 1; }

/// Parts for a count into `bins` bins: a few for each worker, while tables stay small beside the input.
HEDDLE_FN constexpr even_parts cut_for_bins(index_t n, index_t bins, int workers) {
  index_t const table = 4 * bins * tables_for(bins);
  return cut_evenly(n, index_t{4} * workers, table > 16384 ? table : index_t{16384});
}

/// Adds up the tables that stand behind the first into it.
HEDDLE_HD_FN void add_tables(std::uint32_t* table, index_t bins) {
  for (index_t copy = 1; copy < tables_for(bins); ++copy)
    for (index_t b = 0; b < bins; ++b) table[b] += table[copy * bins + b];
}

/// table[b] = how many i in [first, end) have bin(i) == b; the tables behind it are room.
HEDDLE_DEVICE_PASS_QUIET
template <class Bin>
HEDDLE_HD_FN void count_into_tables(Bin const& bin, index_t bins, std::uint32_t* table, index_t first, index_t end) {
  index_t const copies = tables_for(bins);
  for (index_t b = 0; b < copies * bins; ++b) table[b] = 0;
  index_t i = first;
  if (copies == 4) {
    std::uint32_t *const second = table + bins, *const third = second + bins, *const fourth = third + bins;
    for (; i + 8 <= end; i += 8) {
      index_t const a = bin(i), b = bin(i + 1), c = bin(i + 2), d = bin(i + 3);
      index_t const e = bin(i + 4), f = bin(i + 5), g = bin(i + 6), h = bin(i + 7);
      ++table[a], ++second[b], ++third[c], ++fourth[d];
      ++table[e], ++second[f], ++third[g], ++fourth[h];
    }
  }
  for (; i < end; ++i) ++table[bin(i)];
  add_tables(table, bins);
}

/// The same for elements of one byte: counted by what they are, so that f is asked once for each of 256 values.
HEDDLE_DEVICE_PASS_QUIET
template <class T, class F>
HEDDLE_HD_FN void count_bytes(adjacent_source<T> const& source, F const& f, index_t bins, std::uint32_t* table,
                              index_t first, index_t end) {
  std::uint32_t values[4 * 256];
  count_into_tables([&](index_t i) { return index_t{static_cast<std::uint8_t>(source(i))}; }, 256, values, first, end);
  for (index_t b = 0; b < bins; ++b) table[b] = 0;
  for (int v = 0; v < 256; ++v)
    if (values[v] > 0) table[f(tile::widen(static_cast<T>(v)))] += values[v];
}

/// The bin of element i: a function of its value.
template <class Source, class F>
struct bin_of_value {
  Source source;
  F f;

  HEDDLE_DEVICE_PASS_QUIET
  HEDDLE_HD_FN index_t operator()(index_t i) const { return f(tile::widen(source(i))); }
};

/// Into tables, the bins f(element) of elements [first, end).
template <class F>
struct count_values {
  F const& f;
  index_t bins;
  std::uint32_t* table;
  index_t first, end;

  HEDDLE_DEVICE_PASS_QUIET
  template <class Source>
  HEDDLE_HD_FN void operator()(Source const& source) const {
    count_into_tables(bin_of_value<Source, F>{source, f}, bins, table, first, end);
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <std::integral T>
    requires(sizeof(T) == 1 && !std::is_same_v<T, bool>)
  HEDDLE_HD_FN void operator()(adjacent_source<T> const& source) const {
    if (end - first >= 1024)
      count_bytes(source, f, bins, table, first, end);
    else
      count_into_tables(bin_of_value<adjacent_source<T>, F>{source, f}, bins, table, first, end);
  }
};

/// tables[part][bin] = how many elements of a part have f(element) == bin. Every result is in [0, bins).
template <class Source, class F>
struct count_program {
  using plain = void;

  Source source;
  F f;
  even_parts cut;
  index_t bins;
  std::uint32_t* tables;  // [parts][tables_for(bins)][bins]; the first of each part holds the sum at the end
  char const* operation;

  template <class Ctx>
  struct shared {};
  HEDDLE_FN span work() const {
    return {.operation = operation,
            .shape = {cut.n, bins},
            .bytes = source.bytes() + cut.parts * bins * static_cast<index_t>(sizeof(std::uint32_t)),
            .flops = cut.n};
  }
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return cut.parts;
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    index_t const part = ctx.tile();
    ctx.for_each(1, [this, part](index_t) { count(part); });
  }

 private:
  HEDDLE_DEVICE_PASS_QUIET
  HEDDLE_HD_FN void count(index_t part) const {
    with_adjacent(source,
                  count_values<F>{f, bins, tables + part * tables_for(bins) * bins, cut.first(part), cut.end(part)});
  }
};

}  // namespace detail
}  // namespace heddle
