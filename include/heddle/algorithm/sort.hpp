// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/algorithm/detail/adjacent.hpp>
#include <heddle/algorithm/detail/merge_path.hpp>
#include <heddle/algorithm/detail/radix_partition.hpp>
#include <heddle/core/overlap.hpp>
#include <heddle/tile/run.hpp>

namespace heddle {

namespace detail {

/// How a radix sort is cut. The result is stable, so bits depend on none of it.
struct radix_cuts {
  index_t chunk, chunks;  ///< of the partition
  index_t run;            ///< of the merges that stand in for it, n / 2^rounds
  int rounds;
  int cell_bits, bucket_bits;
};
/// Records that one worker sorts faster than several.
inline constexpr index_t lone_sort = index_t{1} << 15;
/// Bytes of records that no cache holds, so that a pass over them had better not fill the caches.
inline constexpr index_t stream_bytes = index_t{1} << 24;

/// Cells are as many as buckets where keys are spread like integers, more where they crowd like floats.
template <class K>
HEDDLE_FN radix_cuts cut_sort(index_t n, int workers) {
  constexpr index_t least_chunk = index_t{1} << 15, most_chunk = index_t{1} << 31, bucket = index_t{1} << 14;
  constexpr int least_bits = 8, most_bits = 11, most_cell_bits = key_order<K>::bits < 16 ? key_order<K>::bits : 16;
  radix_cuts c{};
  index_t const parts = n / least_chunk, turns = workers < 16 ? 4 : 1, most = turns * workers;
  index_t const chunks = parts < most ? parts : most, least = tile::ceil_div(n, most_chunk);
  c.chunk = tile::ceil_div(n, chunks > least ? chunks : least);
  c.chunks = tile::ceil_div(n, c.chunk);
  while ((1 << c.rounds) < workers) ++c.rounds;
  c.run = tile::ceil_div(n, index_t{1} << c.rounds);
  auto const within = [](int x, int low, int high) { return x < low ? low : x > high ? high : x; };
  int const magnitude = highest_bit(static_cast<std::uint64_t>(n));
  c.bucket_bits = within(magnitude - highest_bit(static_cast<std::uint64_t>(bucket)), least_bits, most_bits);
  c.cell_bits = floating_scalar<K> && magnitude - 6 > c.bucket_bits ? magnitude - 6 : c.bucket_bits;
  if (c.cell_bits > most_cell_bits) c.cell_bits = most_cell_bits;
  return c;
}

template <class V>
HEDDLE_FN V* take_values(auto& frame, index_t n) {
  if constexpr (std::is_same_v<V, no_value>)
    return nullptr;
  else
    return frame.template take<V>(n);
}

template <class K, class V, executor E>
HEDDLE_FN void radix_sort(E& exec, records<K, V> const& in, records<K, V> const& out, index_t n,
                          sort_options const& options) {
  using data = records<K, V>;
  using scatter = radix_scatter_program<K, V>;
  key_order<K> const order(options);
  radix_bucket<K, V> const bucket(order);
  scratch_frame<E> frame(exec);
  data const other{frame.template take<K>(n), take_values<V>(frame, n)};
  if (n <= lone_sort) {
    tile::run(exec, chunks_program<K, V>{n, n, nullptr, in, out, other, false, bucket});
    return;
  }
  radix_cuts const cuts = cut_sort<K>(n, exec.concurrency());
  partition_tables tables{};
  tables.n = n, tables.chunk = cuts.chunk, tables.chunks = cuts.chunks;
  tables.cells = index_t{1} << cuts.cell_bits, tables.most_buckets = index_t{2} << cuts.bucket_bits;
  tables.wanted = n >> cuts.bucket_bits, tables.most = n / exec.concurrency();
  tables.guess = key_order<K>::bits - cuts.cell_bits;
  tables.varying = frame.template take<std::uint64_t>(2 * cuts.chunks);
  tables.counts = frame.template take<std::uint32_t>(cuts.chunks * tables.cells);
  tables.at = frame.template take<index_t>(cuts.chunks * tables.most_buckets);
  tables.starts = frame.template take<index_t>(tables.most_buckets + 1);
  tables.bucket_of = frame.template take<std::uint16_t>(tables.cells);
  tables.bits = frame.template take<std::int8_t>(tables.most_buckets);
  tables.found = frame.template take<partition_tables::state>(1);
  index_t const buffered = cuts.chunks * tables.most_buckets * scatter::line;
  data const lines{frame.template take<K>(buffered), take_values<V>(frame, buffered)};
  tile::run(exec, partition_program<K, partition_step::read>{tables, in.keys, order});
  tile::run(exec, partition_program<K, partition_step::plan>{tables, in.keys, order});
  tile::run(exec, partition_program<K, partition_step::recount>{tables, in.keys, order});
  tile::run(exec, partition_program<K, partition_step::offsets>{tables, in.keys, order});
  bool const streams = n * data::bytes >= stream_bytes;
  tile::run(exec, scatter{tables, in, other, lines, order, streams});
  tile::run(exec, buckets_program<K, V>{tables, other, out, bucket});
  if (cuts.rounds == 0) return;
  bool const* const even = &tables.found->even;
  tile::run(exec, chunks_program<K, V>{n, cuts.run, even, in, out, other, cuts.rounds % 2 == 1, bucket});
  for (int round = 0; round < cuts.rounds; ++round) {
    bool const forth = (cuts.rounds - round) % 2 == 0;
    tile::run(exec, merge_round_program<K, V, less_by_key<K>>{n, cuts.run << round, even, forth ? out : other,
                                                              forth ? other : out, less_by_key<K>{order}});
  }
}

}  // namespace detail

/// keys_out = keys_in in order; equal keys stay in theirs.
///
/// Shapes: vectors of one extent, strides free. Types: integers of 8 to 64 bits, float, double, the narrow floats.
/// Pre: keys_out is keys_in (in place) or doesn't overlap it. Errors: contract_error. Complexity: O(n) for numbers of
/// one size. Sync: submits. Determinism: exact and stable, so the same bits everywhere. Memory: scratch of a second
/// copy, of a third where keys_out isn't adjacent, and of tables that grow with the workers. Numerics: -0 equals +0 and
/// both keep their sign; every NaN stands behind the numbers in both directions, unless `nan_placement::first` is asked
/// for. Source: least-significant-digit radix sort inside buckets by the leading digit; merges where buckets are
/// uneven.
struct sort_fn {
  template <executor E, vector_view In, vector_view Out>
    requires(writable_view<Out>&& scalar<typename Out::value_type>&&
                 std::same_as<typename In::value_type, typename Out::value_type>)
  HEDDLE_FN void operator()(E& exec, In const& keys_in, Out const& keys_out, sort_options const& options = {}) const {
    using K = typename Out::value_type;
    using data = detail::records<K, detail::no_value>;
    index_t const n = keys_in.extent(0);
    expect_apart_or_same("sort", keys_out, keys_in);
    scratch_frame<E> frame(exec);
    data const out{detail::adjacent_output(frame, keys_out, n), nullptr};
    if (n == 0) return;
    data const in{const_cast<K*>(detail::adjacent_input(exec, keys_in, out.keys, n)), nullptr};
    detail::radix_sort(exec, in, out, n, options);
    detail::put_back(exec, out.keys, keys_out);
  }
};

/// The same with a value for each key, which goes where its key goes.
///
/// Shapes: four vectors of one extent, strides free. Types: values of any trivially copyable type. Pre: each
/// output is its input (in place) or overlaps nothing. Otherwise as sort.
struct sort_pairs_fn {
  template <executor E, vector_view KeysIn, vector_view KeysOut, vector_view ValuesIn, vector_view ValuesOut>
    requires(writable_view<KeysOut>&& writable_view<ValuesOut>&& scalar<typename KeysOut::value_type>&&
                 std::same_as<typename KeysIn::value_type, typename KeysOut::value_type>&&
                     std::same_as<typename ValuesIn::value_type, typename ValuesOut::value_type>&&
                         std::is_trivially_copyable_v<typename ValuesOut::value_type>)
  HEDDLE_FN void operator()(E& exec, KeysIn const& keys_in, KeysOut const& keys_out, ValuesIn const& values_in,
                            ValuesOut const& values_out, sort_options const& options = {}) const {
    using K = typename KeysOut::value_type;
    using V = typename ValuesOut::value_type;
    using data = detail::records<K, V>;
    index_t const n = keys_in.extent(0);
    expect_apart_or_same("sort_pairs", keys_out, keys_in);
    expect_apart_or_same("sort_pairs", values_out, values_in);
    expect_apart("sort_pairs", keys_out, values_in, values_out);
    expect_apart("sort_pairs", values_out, keys_in);
    scratch_frame<E> frame(exec);
    data const out{detail::adjacent_output(frame, keys_out, n), detail::adjacent_output(frame, values_out, n)};
    HEDDLE_EXPECTS(values_in.size() == n, "all operands of a sort have one extent", values_in.size(), n);
    if (n == 0) return;
    data const in{const_cast<K*>(detail::adjacent_input(exec, keys_in, out.keys, n)),
                  const_cast<V*>(detail::adjacent_input(exec, values_in, out.values, n))};
    detail::radix_sort(exec, in, out, n, options);
    detail::put_back(exec, out.keys, keys_out);
    detail::put_back(exec, out.values, values_out);
  }
};

inline constexpr sort_fn sort{};
inline constexpr sort_pairs_fn sort_pairs{};

}  // namespace heddle
