// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/algorithm/detail/counting.hpp>
#include <heddle/core/monoid.hpp>
#include <heddle/core/overlap.hpp>
#include <heddle/tile/run.hpp>

namespace heddle {

namespace detail {

/// The bin of a key: itself, or `keys` for one that is dropped.
template <class T>
struct key_bin {
  index_t keys;

  HEDDLE_HD_FN index_t operator()(T key) const {
    std::uint64_t const k = static_cast<std::uint64_t>(key);
    if (k < static_cast<std::uint64_t>(keys)) return static_cast<index_t>(k);
    bool const dropped = std::is_signed_v<T> && key == static_cast<T>(-1);
    HEDDLE_EXPECTS(dropped, "a key is below the number of keys, or -1 for an element to drop", key, keys);
    return keys;
  }
};

/// Chunks of a part: each is counted by quarters, and the counts are kept for when it is sorted.
struct partition_chunks {
  static constexpr index_t length = 32768, most_keys = 2048;  // with very many keys runs would be too short
  static constexpr index_t rows = 5;                          // of the tables of a part: all of it, four quarters

  std::uint32_t* tables;    // [parts][rows][keys + 1]
  std::uint16_t* quarters;  // [parts][chunks of a part][4][keys + 1]

  static HEDDLE_HD_FN index_t of_part(even_parts const& cut) { return tile::ceil_div(cut.length, length); }
  static HEDDLE_HD_FN index_t kept(even_parts const& cut, index_t keys) {
    return cut.parts * of_part(cut) * 4 * (keys + 1);
  }
};

template <class Source>
struct partition_count_program {
  using plain = void;

  Source source;
  even_parts cut;
  index_t keys;
  partition_chunks chunks;

  template <class Ctx>
  struct shared {};
  HEDDLE_FN span work() const {
    return {.operation = "partition_by_key.count",
            .shape = {cut.n, keys},
            .bytes = source.bytes() + cut.parts * (keys + 1) * static_cast<index_t>(sizeof(std::uint32_t)) +
                     partition_chunks::kept(cut, keys) * static_cast<index_t>(sizeof(std::uint16_t)),
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
    ctx.for_each(1, [this, part](index_t) {
      with_adjacent(source, [this, part](auto const& from) { this->count(from, part); });
    });
  }

 private:
  template <class From>
  HEDDLE_HD_FN void count(From const& from, index_t part) const {
    index_t const bins = keys + 1, end = cut.end(part);
    std::uint32_t* const total = chunks.tables + part * partition_chunks::rows * bins;
    std::uint16_t* quarters = chunks.quarters + part * partition_chunks::of_part(cut) * 4 * bins;
    for (index_t k = 0; k < bins; ++k) total[k] = 0;
    for (index_t i = cut.first(part); i < end; i += partition_chunks::length, quarters += 4 * bins) {
      count_chunk(from, quarters, i, end - i < partition_chunks::length ? end : i + partition_chunks::length);
      for (index_t k = 0; k < bins; ++k)
        total[k] += std::uint32_t{quarters[k]} + quarters[bins + k] + quarters[2 * bins + k] + quarters[3 * bins + k];
    }
  }
  template <class From>
  HEDDLE_HD_FN void count_chunk(From const& from, std::uint16_t* a, index_t first, index_t end) const {
    key_bin<typename Source::value_type> const bin{keys};
    index_t const bins = keys + 1, quarter = (end - first) / 4;
    std::uint16_t *const b = a + bins, *const c = b + bins, *const d = c + bins;
    for (index_t k = 0; k < 4 * bins; ++k) a[k] = 0;
    index_t const second = first + quarter, third = second + quarter, fourth = third + quarter;
    for (index_t j = 0; j < quarter; ++j) {
      ++a[bin(from(first + j))], ++b[bin(from(second + j))];
      ++c[bin(from(third + j))], ++d[bin(from(fourth + j))];
    }
    for (index_t i = fourth + quarter; i < end; ++i) ++d[bin(from(i))];
  }
};

/// From the counts of the parts to counts, offsets, and where each part puts its first element of each key.
template <class Dropped>
struct partition_offsets_program {
  using plain = void;

  std::uint32_t const* tables;
  index_t parts, row, keys;
  index_t* starts;  // [parts][2][keys + 1]; the first row is written
  view<index_t, 1> counts, offsets;
  Dropped* dropped;

  template <class Ctx>
  struct shared {};
  HEDDLE_FN span work() const {
    return {.operation = "partition_by_key.offsets",
            .shape = {parts, keys},
            .bytes = parts * (keys + 1) * static_cast<index_t>(sizeof(std::uint32_t) + sizeof(index_t)) +
                     element_bytes(counts, offsets) + static_cast<index_t>(sizeof(Dropped)),
            .flops = parts * (keys + 1)};
  }
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return 1;
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    ctx.for_each(1, [this](index_t) { scan(); });
  }

 private:
  HEDDLE_HD_FN void scan() const {
    index_t at = 0;
    for (index_t k = 0; k <= keys; ++k) {
      index_t const first = at;
      for (index_t p = 0; p < parts; ++p) {
        starts[p * 2 * (keys + 1) + k] = at;
        at += tables[p * row + k];
      }
      offsets.data()[k * offsets.stride(0)] = first;
      if (k < keys)
        counts.data()[k * counts.stride(0)] = at - first;
      else
        *dropped = at - first;
    }
  }
};

/// Puts the index of every element where it belongs. A chunk is first sorted where the caches hold it and then copied
/// key by key, so that memory is written in runs.
template <class Source, class I>
struct partition_write_program {
  using plain = void;
  using key = typename Source::value_type;

  Source source;
  even_parts cut;
  index_t keys;
  partition_chunks chunks;
  index_t* starts;  // [parts][2][keys + 1]: where the next element of each key goes, and room
  I* sorted;        // [parts][length of a chunk]
  view<I, 1> permutation, inverse;

  template <class Ctx>
  struct shared {};
  HEDDLE_FN span work() const {
    return {.operation = "partition_by_key",
            .shape = {cut.n, keys},
            .bytes = source.bytes() + element_bytes(permutation, inverse) +
                     cut.parts * (keys + 1) * static_cast<index_t>(sizeof(index_t)) +
                     (keys > partition_chunks::most_keys ? 0 : partition_chunks::kept(cut, keys)) *
                         static_cast<index_t>(sizeof(std::uint16_t))};
  }
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return cut.parts;
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    index_t const part = ctx.tile();
    ctx.for_each(1, [this, part](index_t) {
      if (inverse.empty())
        write<false>(part);
      else
        write<true>(part);
    });
  }

 private:
  // Keys were checked when they were counted; what is none of them was -1.
  template <class From>
  struct known_bin {
    From const& from;
    std::uint64_t keys;

    HEDDLE_HD_FN index_t operator()(index_t i) const {
      std::uint64_t const k = static_cast<std::uint64_t>(from(i));
      return static_cast<index_t>(k < keys ? k : keys);
    }
  };

  template <bool Inverse>
  HEDDLE_HD_FN void write(index_t part) const {
    index_t* const next = starts + part * 2 * (keys + 1);
    with_adjacent(source, [&](auto const& from) {
      known_bin<std::remove_cvref_t<decltype(from)>> const bin{from, static_cast<std::uint64_t>(keys)};
      index_t const end = cut.end(part);
      if (keys > partition_chunks::most_keys) return write_directly<Inverse>(bin, next, cut.first(part), end);
      std::uint16_t const* quarters = chunks.quarters + part * partition_chunks::of_part(cut) * 4 * (keys + 1);
      for (index_t i = cut.first(part); i < end; i += partition_chunks::length, quarters += 4 * (keys + 1))
        write_chunk<Inverse>(bin, part, quarters, next, i,
                             end - i < partition_chunks::length ? end : i + partition_chunks::length);
    });
  }

  template <bool Inverse, class Bin>
  HEDDLE_HD_FN void write_directly(Bin const& bin_of, index_t* next, index_t first, index_t end) const {
    for (index_t i = first; i < end; ++i) {
      index_t const bin = bin_of(i), at = next[bin]++;
      permutation.data()[at * permutation.stride(0)] = static_cast<I>(bin < keys ? i : -1);
      if constexpr (Inverse) inverse.data()[i * inverse.stride(0)] = static_cast<I>(bin < keys ? at : -1);
    }
  }

  // A chunk goes in four quarters at once, each with a table of its own, so that equal keys don't wait for each other.
  template <bool Inverse, class Bin>
  HEDDLE_HD_FN void write_chunk(Bin const& bin, index_t part, std::uint16_t const* quarters, index_t* next,
                                index_t first, index_t end) const {
    index_t const bins = keys + 1, quarter = (end - first) / 4;
    std::uint32_t* const a = chunks.tables + (part * partition_chunks::rows + 1) * bins;
    std::uint32_t *const b = a + bins, *const c = b + bins, *const d = c + bins;
    index_t const second = first + quarter, third = second + quarter, fourth = third + quarter;
    index_t* const shift = next + bins;  // from a position in the chunk to one in the permutation
    make_positions(quarters, a, next, shift);
    I* const local = sorted + part * partition_chunks::length;
    auto const put = [&](std::uint32_t* at, index_t i) {
      index_t const k = bin(i), to = at[k]++;
      local[to] = static_cast<I>(i);
      if constexpr (Inverse) inverse.data()[i * inverse.stride(0)] = static_cast<I>(k < keys ? to + shift[k] : -1);
    };
    for (index_t j = 0; j < quarter; ++j) put(a, first + j), put(b, second + j), put(c, third + j), put(d, fourth + j);
    for (index_t i = fourth + quarter; i < end; ++i) put(d, i);
    copy_out(d, local, next);
  }

  // From the counts of the quarters to where each puts its first element of every key.
  HEDDLE_HD_FN void make_positions(std::uint16_t const* counts, std::uint32_t* at, index_t const* next,
                                   index_t* shift) const {
    index_t const bins = keys + 1;
    std::uint32_t before = 0;
    for (index_t k = 0; k < bins; ++k) {
      shift[k] = next[k] - before;
      for (int q = 0; q < 4; ++q) {
        at[q * bins + k] = before;
        before += counts[q * bins + k];
      }
    }
  }
  // ends[k] is where key k ends in the chunk.
  HEDDLE_HD_FN void copy_out(std::uint32_t const* ends, I const* local, index_t* next) const {
    std::uint32_t from = 0;
    for (index_t k = 0; k <= keys; ++k) {
      index_t const n = ends[k] - from;
      if (k < keys)
        copy_run(next[k], local + from, n);
      else
        for (index_t i = 0; i < n; ++i) permutation.data()[(next[k] + i) * permutation.stride(0)] = I(-1);
      next[k] += n;
      from = ends[k];
    }
  }
  HEDDLE_HD_FN void copy_run(index_t to, I const* from, index_t n) const {
    if (permutation.stride(0) == 1)
      __builtin_memcpy(permutation.data() + to, from, static_cast<std::size_t>(n) * sizeof(I));
    else
      for (index_t i = 0; i < n; ++i) permutation.data()[(to + i) * permutation.stride(0)] = from[i];
  }
};

template <class V>
concept index_output = vector_view<V> && writable_view<V> && std::signed_integral<typename V::value_type> &&
    (sizeof(typename V::value_type) >= 4);
template <class V>
concept wide_output = vector_view<V> && writable_view<V> && std::same_as<typename V::value_type, index_t>;

}  // namespace detail

/// Groups elements by key: a stable counting sort of their indices, as the dispatch to experts needs it.
///
/// Shapes: keys a vector of n, lazy ones included; counts of E; offsets of E + 1; permutation of n; dropped one
/// element; inverse, if given, of n. Types: keys any integers; counts, offsets and dropped of 64 bits; permutation and
/// inverse signed integers of 32 or 64 bits that hold n. Pre: every key is in [0, E), or -1: that element is dropped;
/// the outputs overlap nothing. Post: permutation[offsets[k] + j] is the index of the j-th element with key k, in input
/// order; behind offsets[E] it is -1. inverse[i] is the position of element i in permutation, -1 where it was dropped.
/// Errors: contract_error from the work for any other key. Complexity: reads twice, writes once; fast for E up to
/// thousands. Sync: submits. Memory: 36 bytes for each of the E + 1 bins and 32768 indices for each part, up to four
/// parts per worker, and 8 bytes per bin for every 32768 elements, of the arena.
/// Determinism: exact.
struct partition_by_key_fn {
  template <executor E, input_vector Keys, detail::wide_output C, detail::wide_output O, detail::index_output P,
            detail::wide_output D>
  requires std::integral<typename Keys::value_type> HEDDLE_FN void operator()(E& exec, Keys const& keys,
                                                                              C const& counts, O const& offsets,
                                                                              P const& permutation,
                                                                              D const& dropped) const {
    using index = typename P::value_type;
    run<index>(exec, keys, counts, offsets, permutation, dropped, view<index, 1>(nullptr, dims<1>(0)));
  }
  template <executor E, input_vector Keys, detail::wide_output C, detail::wide_output O, detail::index_output P,
            detail::wide_output D>
  requires std::integral<typename Keys::value_type> HEDDLE_FN void operator()(
      E& exec, Keys const& keys, C const& counts, O const& offsets, P const& permutation, D const& dropped,
      view<typename P::value_type, 1> const& inverse) const {
    HEDDLE_EXPECTS(inverse.extent(0) == keys.extent(0), "the inverse has one element per key", inverse.extent(0),
                   keys.extent(0));
    run<typename P::value_type>(exec, keys, counts, offsets, permutation, dropped, inverse);
  }

 private:
  template <class I, executor E, class Keys>
  static HEDDLE_FN void run(E& exec, Keys const& keys, view<index_t, 1> const& counts, view<index_t, 1> const& offsets,
                            view<I, 1> const& permutation, view<index_t, 1> const& dropped, view<I, 1> const& inverse) {
    index_t const n = keys.extent(0), count = counts.extent(0);
    HEDDLE_EXPECTS(offsets.extent(0) == count + 1, "offsets has one element more than counts", offsets.extent(0),
                   count);
    HEDDLE_EXPECTS(permutation.extent(0) == n, "the permutation has one element per key", permutation.extent(0), n);
    HEDDLE_EXPECTS(dropped.extent(0) == 1, "dropped has one element", dropped.extent(0));
    expect_apart("partition_by_key", counts, keys, offsets, permutation, dropped, inverse);
    expect_apart("partition_by_key", offsets, keys, permutation, dropped, inverse);
    expect_apart("partition_by_key", permutation, keys, dropped, inverse);
    expect_apart("partition_by_key", dropped, keys, inverse);
    expect_apart("partition_by_key", inverse, keys);
    HEDDLE_EXPECTS(n <= static_cast<index_t>(detail::range_end<I>(true)), "an index must fit the permutation", n);
    using source = detail::source_t<Keys>;
    using bin = detail::key_bin<typename Keys::value_type>;
    detail::even_parts const cut = detail::cut_for_bins(n, count + 1, exec.concurrency());
    bool const direct = count > detail::partition_chunks::most_keys;
    index_t const bins = count + 1, row = bins * (direct ? detail::tables_for(bins) : detail::partition_chunks::rows);
    scratch_frame<E> frame(exec);
    auto* const tables = frame.template take<std::uint32_t>(checked_product(cut.parts, row));
    auto* const quarters = frame.template take<std::uint16_t>(direct ? 0 : detail::partition_chunks::kept(cut, count));
    auto* const starts = frame.template take<index_t>(checked_product(cut.parts, 2 * bins));
    I* const sorted = frame.template take<I>(direct ? 0 : cut.parts * detail::partition_chunks::length);
    detail::partition_chunks const chunks{tables, quarters};
    source const from = detail::source_of(keys);
    if (n > 0 && direct)
      tile::run(exec,
                detail::count_program<source, bin>{from, bin{count}, cut, bins, tables, "partition_by_key.count"});
    else if (n > 0)
      tile::run(exec, detail::partition_count_program<source>{from, cut, count, chunks});
    tile::run(exec, detail::partition_offsets_program<index_t>{tables, cut.parts, row, count, starts, counts, offsets,
                                                               dropped.data()});
    if (n > 0)
      tile::run(exec, detail::partition_write_program<source, I>{from, cut, count, chunks, starts, sorted, permutation,
                                                                 inverse});
  }
};
inline constexpr partition_by_key_fn partition_by_key{};

}  // namespace heddle
