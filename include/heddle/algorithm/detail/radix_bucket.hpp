// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/algorithm/detail/sort_key.hpp>
#include <heddle/core/extents.hpp>

/// @file
/// The stable radix sort of one range by one worker, between two buffers.

namespace heddle {
namespace detail {

/// In place of values where keys have none.
struct no_value {};

/// Keys in memory, with the values that travel with them.
template <class K, class V>
struct records {
  static constexpr bool has_values = !std::is_same_v<V, no_value>;
  static constexpr index_t bytes = static_cast<index_t>(sizeof(K) + (has_values ? sizeof(V) : 0));
  K* keys;
  V* values;

  HEDDLE_HD_FN records from(index_t i) const { return {keys + i, has_values ? values + i : nullptr}; }
  HEDDLE_TILE void take(index_t to, records const& source, index_t i) const {
    keys[to] = source.keys[i];
    if constexpr (has_values) values[to] = source.values[i];
  }
  HEDDLE_HD_FN void copy(records const& source, index_t n) const {
    if (keys != source.keys)
      for (index_t i = 0; i < n; ++i) keys[i] = source.keys[i];
    if constexpr (has_values)
      if (values != source.values)
        for (index_t i = 0; i < n; ++i) values[i] = source.values[i];
  }
};

template <class U>
HEDDLE_HD_FN int highest_bit(U x) {
  int at = 0;
  for (int step = 8 * static_cast<int>(sizeof(U)) / 2; step > 0; step /= 2)
    if (x >> (at + step)) at += step;
  return at;
}

template <class K, class V>
class radix_bucket {
 public:
  using data = records<K, V>;
  using key = typename key_order<K>::key;

  HEDDLE_HD_FN explicit radix_bucket(key_order<K> const& order) : order_(order) {}

  /// result = the n records of a in order. a is overwritten; one of result and spare, with room for n, may be a. Keys
  /// differ in their lowest `bits` bits only.
  HEDDLE_HD_FN void sort(data const& a, data const& result, data const& spare, index_t n,
                         int bits = key_order<K>::bits) const {
    if (n <= insertion_size) {
      insert(a, result, n, n * n);
      return;
    }
    if (bits == key_order<K>::bits) bits = highest_bit(varying_bits(a, n)) + 1;
    // Records that agree in so many leading bits are few, and an insertion ends the work; else all bits are used.
    int const passes = passes_for(n), enough = passes * 8;
    int bottom = bits > enough ? bits - enough : 0;
    data sorted = a;
    if (bits > 16 && bits <= 22 && n >= least_wide && n <= most_wide) {
      bottom = 0;
      sort_digits<2, 11>(sorted, result, spare, n, 0);
    } else if (passes == 2) {
      sort_digits<2, 8>(sorted, result, spare, n, bottom);
    } else {
      sort_digits<4, 8>(sorted, result, spare, n, bottom);
    }
    if (bottom == 0) {
      result.copy(sorted, n);
    } else if (!insert(sorted, result, n, move_budget * n)) {
      sorted = result;
      sort_all(sorted, result, spare, n);
      result.copy(sorted, n);
    }
  }

 private:
  static constexpr index_t insertion_size = 24, least_wide = 2048, most_wide = index_t{1} << 22, move_budget = 4;
  static constexpr int spare_bits = 2;

  HEDDLE_HD_FN key varying_bits(data const& a, index_t n) const {
    key all = static_cast<key>(~key{0}), some = 0;
    for (index_t i = 0; i < n; ++i) {
      key const k = order_(a.keys[i]);
      all &= k;
      some |= k;
    }
    return all ^ some;
  }

  struct lone_key {
    K key;
  };
  struct pair {
    K key;
    V value;
  };
  static HEDDLE_TILE auto kept(data const& source, index_t i) {
    if constexpr (data::has_values)
      return pair{source.keys[i], source.values[i]};
    else
      return lone_key{source.keys[i]};
  }

  // False where it gave up; the result then holds all records, in some order that keeps equal ones in theirs.
  HEDDLE_HD_FN bool insert(data const& source, data const& result, index_t n, index_t budget) const {
    key last = 0;
    for (index_t i = 0; i < n; ++i) {
      key const k = order_(source.keys[i]);
      if (k >= last || budget < 0) {
        result.take(i, source, i);
        last = k;
        continue;
      }
      auto const moved = kept(source, i);
      index_t j = i;
      for (; j > 0 && order_(result.keys[j - 1]) > k; --j) result.take(j, result, j - 1);
      budget -= i - j;
      result.keys[j] = moved.key;
      if constexpr (data::has_values) result.values[j] = moved.value;
    }
    return budget >= 0;
  }

  // Two digits of 8 bits, or four, tell most of n records apart.
  static HEDDLE_HD_FN int passes_for(index_t n) {
    return highest_bit(static_cast<std::uint64_t>(n)) + spare_bits <= 16 ? 2 : 4;
  }

  // By digits from a bit on, the lowest first, all counted in one read. The last one ends in `result`, unless the first
  // would then go where the records are. `sorted` is where they are.
  template <int Passes, int Bits>
  HEDDLE_HD_FN void sort_digits(data& sorted, data const& result, data const& spare, index_t n, int bottom) const {
    constexpr int digits = 1 << Bits;
    using count = std::conditional_t<(Bits > 8), std::uint32_t, index_t>;
    count at[Passes][digits] = {};
    for (index_t i = 0; i < n; ++i) {
      std::uint64_t const k = std::uint64_t{order_(sorted.keys[i])} >> bottom;
      for (int p = 0; p < Passes; ++p) ++at[p][(k >> (p * Bits)) & (digits - 1)];
    }
    std::uint64_t const first = std::uint64_t{order_(sorted.keys[0])} >> bottom;
    int left = 0;
    for (int p = 0; p < Passes; ++p) left += differs<Bits>(at[p], first, p, n);
    if ((left % 2 == 1 ? result : spare).keys == sorted.keys) ++left;
    for (int p = 0; p < Passes; ++p) {
      if (!differs<Bits>(at[p], first, p, n)) continue;
      data const& target = left-- % 2 == 1 ? result : spare;
      move<Bits>(sorted, target, n, bottom + p * Bits, at[p]);
      sorted = target;
    }
  }
  template <int Bits, class Count>
  static HEDDLE_HD_FN bool differs(Count const* counts, std::uint64_t first, int pass, index_t n) {
    return static_cast<index_t>(counts[(first >> (pass * Bits)) & ((1 << Bits) - 1)]) != n;
  }
  template <int Bits, class Count>
  HEDDLE_HD_FN void move(data const& source, data const& target, index_t n, int shift, Count* at) const {
    constexpr std::uint64_t mask = (1 << Bits) - 1;
    Count sum = 0;
    for (std::uint64_t d = 0; d <= mask; ++d) {
      Count const count = at[d];
      at[d] = sum;
      sum += count;
    }
    for (index_t i = 0; i < n; ++i)
      target.take(static_cast<index_t>(at[(std::uint64_t{order_(source.keys[i])} >> shift) & mask]++), source, i);
  }
  // Every bit, for keys that agree in long prefixes.
  HEDDLE_HD_FN void sort_all(data& sorted, data const& result, data const& spare, index_t n) const {
    for (int bottom = 0; bottom < key_order<K>::bits; bottom += 32) sort_digits<4, 8>(sorted, result, spare, n, bottom);
  }

  key_order<K> order_;
};

}  // namespace detail
}  // namespace heddle
