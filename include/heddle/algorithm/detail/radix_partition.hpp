// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/algorithm/detail/radix_bucket.hpp>
#include <heddle/algorithm/detail/stream_line.hpp>
#include <heddle/tile/run.hpp>

/// @file
/// The first pass of a large sort: records go to buckets by the highest bits that differ, in their order.

namespace heddle {
namespace detail {

/// What the steps of one partition share: how records are cut into chunks, and tables in scratch. A cell is what the
/// leading bits of a key name; neighbouring cells of few records make a bucket together.
struct partition_tables {
  struct state {
    int shift;        ///< a cell is the key shifted right by so many bits
    bool recount;     ///< the counts were made for another shift
    bool even;        ///< the buckets are small enough for one worker each
    index_t buckets;  ///< how many there are
  };
  index_t n, chunk, chunks;
  index_t cells, most_buckets;
  index_t wanted, most;      ///< records of a bucket: that close it, and that are too many for one worker
  int guess;                 ///< the shift if all bits differ
  std::uint64_t* varying;    ///< [chunks, 2]: AND and OR of the keys
  std::uint32_t* counts;     ///< [chunks, cells]
  index_t* at;               ///< [chunks, most_buckets]: counts, then positions
  index_t* starts;           ///< [most_buckets + 1]
  std::uint16_t* bucket_of;  ///< [cells]
  std::int8_t* bits;         ///< [most_buckets]: the lowest bits that differ in a bucket
  state* found;

  HEDDLE_HD_FN index_t first_of(index_t c) const { return c * chunk < n ? c * chunk : n; }
};

enum class partition_step { read, plan, recount, offsets };

/// Counts of every digit in every chunk, and from them where each goes.
template <class K, partition_step Step>
struct partition_program {
  using plain = void;
  using key = typename key_order<K>::key;

  partition_tables tables;
  K const* keys;
  key_order<K> order;

  template <class Ctx>
  struct shared {};
  HEDDLE_FN span work() const {
    constexpr char const* names[] = {"sort.read", "sort.plan", "sort.recount", "sort.offsets"};
    bool const reads = Step == partition_step::read;
    return {.operation = names[static_cast<int>(Step)],
            .shape = {tables.n},
            .bytes = reads ? tables.n * static_cast<index_t>(sizeof(K)) : 0};
  }
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return Step == partition_step::read || Step == partition_step::recount ? tables.chunks : 1;
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    index_t const c = ctx.tile();
    ctx.for_each(1, [this, c](index_t) { step(c); });
  }

 private:
  HEDDLE_HD_FN void step(index_t c) const {
    if constexpr (Step == partition_step::read)
      count<true>(c, tables.guess);
    else if constexpr (Step == partition_step::plan)
      plan();
    else if constexpr (Step == partition_step::offsets)
      place();
    else if (tables.found->recount)
      count<false>(c, tables.found->shift);
  }
  template <bool Varying>
  HEDDLE_HD_FN void count(index_t c, int shift) const {
    key const mask = static_cast<key>(tables.cells - 1);
    std::uint32_t* const counts = tables.counts + c * tables.cells;
    for (index_t d = 0; d < tables.cells; ++d) counts[d] = 0;
    key all = static_cast<key>(~key{0}), some = 0;
    for (index_t i = tables.first_of(c), end = tables.first_of(c + 1); i < end; ++i) {
      key const k = order(keys[i]);
      all &= k;
      some |= k;
      ++counts[(k >> shift) & mask];
    }
    if constexpr (Varying) {
      tables.varying[2 * c] = all;
      tables.varying[2 * c + 1] = some;
    }
  }
  HEDDLE_HD_FN void plan() const {
    key all = static_cast<key>(~key{0}), some = 0;
    for (index_t c = 0; c < tables.chunks; ++c) {
      all &= static_cast<key>(tables.varying[2 * c]);
      some |= static_cast<key>(tables.varying[2 * c + 1]);
    }
    int const above = highest_bit(static_cast<key>(all ^ some)) + 1 - highest_bit(static_cast<key>(tables.cells));
    tables.found->shift = above > 0 ? above : 0;
    tables.found->recount = tables.found->shift != tables.guess;
  }

  // A bucket takes cells as long as they fit.
  HEDDLE_HD_FN void place() const {
    index_t b = 0, held = 0, first_cell = 0, largest = 0;
    clear(0);
    for (index_t cell = 0; cell < tables.cells; ++cell) {
      index_t count = 0;
      for (index_t c = 0; c < tables.chunks; ++c) count += tables.counts[c * tables.cells + cell];
      if (held > 0 && held + count > tables.wanted) {
        close(b, first_cell, cell - 1);
        clear(++b);
        held = 0;
        first_cell = cell;
      }
      tables.bucket_of[cell] = static_cast<std::uint16_t>(b);
      for (index_t c = 0; count > 0 && c < tables.chunks; ++c)
        tables.at[c * tables.most_buckets + b] += tables.counts[c * tables.cells + cell];
      held += count;
      if (held > largest) largest = held;
    }
    close(b, first_cell, tables.cells - 1);
    tables.found->buckets = b + 1;
    tables.found->even = largest <= tables.most;
    number(b + 1);
  }
  HEDDLE_HD_FN void clear(index_t b) const {
    for (index_t c = 0; c < tables.chunks; ++c) tables.at[c * tables.most_buckets + b] = 0;
  }
  HEDDLE_HD_FN void close(index_t b, index_t first, index_t last) const {
    int const cells_differ = first == last ? 0 : highest_bit(static_cast<std::uint64_t>(first ^ last)) + 1;
    tables.bits[b] = static_cast<std::int8_t>(tables.found->shift + cells_differ);
  }
  HEDDLE_HD_FN void number(index_t buckets) const {
    index_t sum = 0;
    for (index_t b = 0; b < buckets; ++b) {
      tables.starts[b] = sum;
      for (index_t c = 0; c < tables.chunks; ++c) {
        index_t& at = tables.at[c * tables.most_buckets + b];
        index_t const count = at;
        at = sum;
        sum += count;
      }
    }
    tables.starts[buckets] = sum;
  }
};

/// Moves records to their buckets, a cache line at a time.
template <class K, class V>
struct radix_scatter_program {
  using plain = void;
  using data = records<K, V>;
  using key = typename key_order<K>::key;
  static constexpr int most_buckets = 4096;
  /// Records that leave together: a line of the smaller ones.
  static constexpr int smaller = static_cast<int>(data::has_values && sizeof(V) < sizeof(K) ? sizeof(V) : sizeof(K));
  static constexpr int line = 64 / smaller;

  partition_tables tables;
  data source, target;
  data lines;  ///< [chunks, most_buckets, line]
  key_order<K> order;
  bool streams;

  template <class Ctx>
  struct shared {};
  HEDDLE_FN span work() const {
    return {.operation = "sort.scatter", .shape = {tables.n}, .bytes = 2 * tables.n * data::bytes};
  }
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return tables.chunks;
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    index_t const c = ctx.tile();
    ctx.for_each(1, [this, c](index_t) {
      if (tables.found->even) move(c);
    });
  }

 private:
  // Position p of the target stands in place (p + phase) mod line of its line.
  HEDDLE_HD_FN void move(index_t c) const {
    int const phase = static_cast<int>(reinterpret_cast<std::uintptr_t>(target.keys) / sizeof(K) % line);
    int const shift = tables.found->shift;
    index_t const buckets = tables.found->buckets;
    key const mask = static_cast<key>(tables.cells - 1);
    index_t* const at = tables.at + c * tables.most_buckets;
    data const buffer = lines.from(c * tables.most_buckets * line);
    std::uint8_t lead[most_buckets];  // places of the first line that belong to others
    for (index_t b = 0; b < buckets; ++b) {
      at[b] += phase;
      lead[b] = static_cast<std::uint8_t>(at[b] % line);
    }
    for (index_t i = tables.first_of(c), end = tables.first_of(c + 1); i < end; ++i) {
      index_t const b = tables.bucket_of[(order(source.keys[i]) >> shift) & mask], p = at[b]++;
      int const place = static_cast<int>(static_cast<std::uint64_t>(p) % line);
      buffer.take(b * line + place, source, i);
      if (place == line - 1) {
        flush(buffer, b, p - place - phase, lead[b], line);
        lead[b] = 0;
      }
    }
    for (index_t b = 0; b < buckets; ++b) {
      int const filled = static_cast<int>(at[b] % line);
      flush(buffer, b, at[b] - filled - phase, lead[b], filled);
    }
    if (streams) line_fence();
  }
  HEDDLE_TILE void flush(data const& buffer, index_t b, index_t to, int first, int count) const {
    flush_line(target.keys + to, buffer.keys + b * line, first, count, line, streams);
    if constexpr (data::has_values)
      flush_line(target.values + to, buffer.values + b * line, first, count, line, streams);
  }
};

/// Sorts every bucket by the bits that are left.
template <class K, class V>
struct buckets_program {
  using plain = void;
  using data = records<K, V>;
  /// What a worker's own buffer holds; larger buckets go to and fro between the two arrays.
  static constexpr index_t room = index_t{196608} / data::bytes + 1;

  partition_tables tables;
  data source, target;
  radix_bucket<K, V> bucket;

  struct nothing {
    HEDDLE_HD_FN data spare() { return {nullptr, nullptr}; }
  };
  struct keys_alone {
    K keys[room];
    HEDDLE_HD_FN data spare() { return {keys, nullptr}; }
  };
  struct pairs {
    K keys[room];
    V values[data::has_values ? room : 1];
    HEDDLE_HD_FN data spare() { return {keys, values}; }
  };
  // A thread block has no room to lose.
  template <class Ctx>
      struct shared : std::conditional_t < requires {
    Ctx::threads;
  }, nothing, std::conditional_t < data::has_values, pairs, keys_alone >> {};
  HEDDLE_FN span work() const {
    return {.operation = "sort.buckets", .shape = {tables.n, tables.most_buckets}, .bytes = 2 * tables.n * data::bytes};
  }
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return tables.most_buckets;
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    index_t const b = ctx.tile();
    data const spare = ctx.template shared<shared<Ctx>>().spare();
    ctx.for_each(1, [this, b, spare](index_t) { run(b, spare); });
  }

 private:
  HEDDLE_HD_FN void run(index_t b, data const& spare) const {
    if (!tables.found->even || b >= tables.found->buckets) return;
    index_t const first = tables.starts[b], n = tables.starts[b + 1] - first;
    data const from = source.from(first);
    bucket.sort(from, target.from(first), spare.keys && n <= room ? spare : from, n, tables.bits[b]);
  }
};

/// Sorts whole chunks, where the buckets would be uneven: chunk c of `chunks` equal ones.
template <class K, class V>
struct chunks_program {
  using plain = void;
  using data = records<K, V>;

  index_t n, chunk;
  bool const* skip;  ///< null: never
  data source, first, second;
  bool into_second;
  radix_bucket<K, V> bucket;

  template <class Ctx>
  struct shared {};
  HEDDLE_FN span work() const {
    return {.operation = "sort.chunks", .shape = {n, chunk}, .bytes = skip ? 0 : 2 * n * data::bytes};
  }
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return tile::ceil_div(n, chunk);
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    index_t const at = ctx.tile() * chunk;
    ctx.for_each(1, [this, at](index_t) { run(at); });
  }

 private:
  HEDDLE_HD_FN void run(index_t at) const {
    if (skip && *skip) return;
    index_t const left = n - at, count = left < chunk ? left : chunk;
    data const a = first.from(at), b = second.from(at);
    a.copy(source.from(at), count);
    bucket.sort(a, into_second ? b : a, into_second ? a : b, count);
  }
};

}  // namespace detail
}  // namespace heddle
