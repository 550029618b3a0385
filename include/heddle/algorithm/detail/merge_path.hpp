// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/algorithm/detail/radix_bucket.hpp>
#include <heddle/tile/run.hpp>

namespace heddle {
namespace detail {

/// How many elements of a are among the first `diagonal` of the stable merge of a and b.
HEDDLE_DEVICE_PASS_QUIET
template <class A, class B, class Less>
HEDDLE_HD_FN index_t merge_split(A const& a, index_t na, B const& b, index_t nb, index_t diagonal, Less const& less) {
  index_t low = diagonal > nb ? diagonal - nb : 0, high = diagonal < na ? diagonal : na;
  while (low < high) {
    index_t const mid = low + (high - low) / 2;
    if (less(b(diagonal - 1 - mid), a(mid)))
      high = mid;
    else
      low = mid + 1;
  }
  return low;
}

/// Calls put(at, from_b, i) for places [first, last) of the merge: element i of a or b stands there.
HEDDLE_DEVICE_PASS_QUIET
template <class A, class B, class Less, class Put>
HEDDLE_HD_FN void merge_part(A const& a, index_t na, B const& b, index_t nb, index_t first, index_t last,
                             Less const& less, Put const& put) {
  index_t i = merge_split(a, na, b, nb, first, less), j = first - i, at = first;
  for (; at < last && i < na && j < nb; ++at) {
    bool const from_b = less(b(j), a(i));
    put(at, from_b, from_b ? j : i);
    j += from_b;
    i += !from_b;
  }
  for (; at < last && i < na; ++at) put(at, false, i++);
  for (; at < last && j < nb; ++at) put(at, true, j++);
}

/// One round of a merge sort: sorted runs of `run` records become runs of twice as many.
template <class K, class V, class Less>
struct merge_round_program {
  using plain = void;
  using data = records<K, V>;
  static constexpr index_t part = 8192;

  index_t n, run;
  bool const* skip;  ///< null: never
  data source, target;
  Less less;

  template <class Ctx>
  struct shared {};
  HEDDLE_FN span work() const {
    return {.operation = "sort.merge", .shape = {n, run}, .bytes = skip ? 0 : 2 * n * data::bytes};
  }
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return tile::ceil_div(n, part);
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    index_t const t = ctx.tile();
    ctx.for_each(1, [this, t](index_t) {
      if (!skip || !*skip) merge_tile(t * part);
    });
  }

 private:
  // A part may reach over several pairs of short runs.
  HEDDLE_DEVICE_PASS_QUIET
  HEDDLE_HD_FN void merge_tile(index_t first) const {
    index_t const last = first + part < n ? first + part : n;
    for (index_t at = first; at < last;) {
      index_t const pair = at / (2 * run) * (2 * run);
      index_t const end = pair + 2 * run < n ? pair + 2 * run : n, stop = end < last ? end : last;
      merge_pair(pair, end, at - pair, stop - pair);
      at = stop;
    }
  }
  HEDDLE_DEVICE_PASS_QUIET
  HEDDLE_HD_FN void merge_pair(index_t pair, index_t end, index_t first, index_t last) const {
    index_t const size = end - pair, na = size < run ? size : run;
    data const a = source.from(pair), b = source.from(pair + na), out = target.from(pair);
    merge_part([&](index_t i) -> K const& { return a.keys[i]; }, na, [&](index_t j) -> K const& { return b.keys[j]; },
               size - na, first, last, less,
               [&](index_t at, bool from_b, index_t i) { out.take(at, from_b ? b : a, i); });
  }
};

}  // namespace detail
}  // namespace heddle
