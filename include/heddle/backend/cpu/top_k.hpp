// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/algorithm/top_k.hpp>
#include <heddle/backend/cpu/detail/lane_bits.hpp>
#include <heddle/backend/cpu/tile_context.hpp>

namespace heddle {
namespace cpu::detail {

/// Rows of floats with few wanted. The best of each lane bound what is worth a look: where as many lanes as are wanted
/// have a best one of at most `bound`, nothing behind it is among the wanted. What is left is ordered by counting, for
/// each, those that stand before it.
struct top_k_body {
  static constexpr int lanes = 32, most_wanted = 16, most_kept = 64;

  template <class Isa, class I>
  HEDDLE_SHIM void operator()(Isa, heddle::detail::top_k_operands<float, I> const& all, index_t const& first,
                              index_t const& end, std::uint32_t* const& keys) const {
    for (index_t r = first; r < end; ++r) run_row<Isa>(all, r, keys);
  }

 private:
  template <class Isa>
  using key_lanes = vec<std::uint32_t, lanes, Isa::template lanes<std::uint32_t>>;
  struct kept_list {
    int held;
    std::uint64_t entry[most_kept];  // the key, then the index, so that all differ
  };
  /// What `write` takes.
  struct ranked_list {
    int held;
    index_t at[most_wanted];
  };

  template <class Isa, class I>
  static HEDDLE_SHIM void run_row(heddle::detail::top_k_operands<float, I> const& all, index_t r, std::uint32_t* keys) {
    index_t const n = all.x.extent(1), k = all.k();
    std::uint32_t const bound = make_keys<Isa>(all, all.row(r), n, k, keys);
    kept_list kept;
    if (!keep<Isa>(keys, n, bound, kept)) {
      all_of_row(all, r, n, keys);
    } else if (kept.held <= 16) {
      all.write(r, ranked<Isa, 16>(kept, k));
    } else {
      all.write(r, ranked<Isa, most_kept>(kept, k));
    }
  }

  template <class Isa, class I>
  static HEDDLE_SHIM std::uint32_t make_keys(heddle::detail::top_k_operands<float, I> const& all, float const* row,
                                             index_t n, index_t k, std::uint32_t* keys) {
    using U = key_lanes<Isa>;
    using F = vec<float, lanes, U::register_lanes>;
    U least = U::splat(~std::uint32_t{0});
    index_t j = 0;
    for (; j + lanes <= n; j += lanes) {
      U const key = all.order.of_code(bit_cast<std::uint32_t>(F::load(row + j)));
      key.store(keys + j);
      least = min(least, key);
    }
    if (j < n) {
      U const inside = bit_cast<std::uint32_t>(mask_t<U>::iota() < static_cast<std::int32_t>(n - j));
      U const key = all.order.of_code(bit_cast<std::uint32_t>(F::load(row + j, n - j))) | ~inside;
      key.store(keys + j);
      least = min(least, key);
    }
    return bound_of<Isa>(least, k);
  }
  // The k-th of the lanes.
  template <class Isa>
  static HEDDLE_SHIM std::uint32_t bound_of(key_lanes<Isa> const& least, index_t k) {
    using U = key_lanes<Isa>;
    alignas(64) std::uint32_t value[lanes];
    least.store(value);
    mask_t<U> before = mask_t<U>::zero();
    for (int i = 0; i < lanes; ++i) before = before + (U::splat(value[i]) < least);
    U const among = bit_cast<std::uint32_t>(mask_t<U>::splat(static_cast<std::int32_t>(-k)) < before);
    return tree_reduce(least & among, [](auto const& a, auto const& b) HEDDLE_LAMBDA { return max(a, b); });
  }

  // False where there are too many.
  template <class Isa>
  static HEDDLE_SHIM bool keep(std::uint32_t const* keys, index_t n, std::uint32_t bound, kept_list& kept) {
    using U = key_lanes<Isa>;
    int held = 0;
    for (index_t j = 0; j < n; j += lanes) {
      std::uint64_t found = lane_bits(U::load(keys + j) <= U::splat(bound));
      if (n - j < lanes) found &= (std::uint64_t{1} << (n - j)) - 1;
      if (held + lanes > most_kept && found != 0 && held + __builtin_popcountll(found) > most_kept) return false;
      for (; found != 0; found &= found - 1) {
        index_t const at = j + __builtin_ctzll(found);
        kept.entry[held++] = std::uint64_t{keys[at]} << 32 | static_cast<std::uint64_t>(at);
      }
    }
    kept.held = held;
    return true;
  }
  template <class Isa, int Room>
  static HEDDLE_SHIM ranked_list ranked(kept_list& kept, index_t k) {
    using U = vec<std::uint64_t, Room, Isa::template lanes<std::uint64_t>>;
    for (int i = kept.held; i < Room; ++i) kept.entry[i] = ~std::uint64_t{0};
    U const entries = U::load(kept.entry);
    mask_t<U> before = mask_t<U>::zero();
    for (int i = 0; i < kept.held; ++i) before = before - (U::splat(kept.entry[i]) < entries);
    ranked_list list;
    list.held = static_cast<int>(k);
    for (int i = 0; i < kept.held; ++i)
      if (before.lane[i] < k) list.at[before.lane[i]] = static_cast<index_t>(kept.entry[i] & 0xFFFFFFFFu);
    return list;
  }
  template <class I>
  static HEDDLE_SHIM void all_of_row(heddle::detail::top_k_operands<float, I> const& all, index_t r, index_t n,
                                     std::uint32_t const* keys) {
    heddle::detail::best_list<std::uint32_t> best(all.k());
    for (index_t j = 0; j < n; ++j)
      if (best.takes(keys[j])) best.offer(keys[j], j);
    all.write(r, best);
  }
};

}  // namespace cpu::detail

/// top_k on CPUs: rows of floats in vectors where at most 16 are wanted, everything else as the generic form.
template <>
struct kernel<top_k_fn, cpu_tag> {
  template <class Executor, class T, class I>
  static HEDDLE_FN void run(Executor& exec, detail::top_k_operands<T, I> const& all) {
    if constexpr (std::is_same_v<T, float>) {
      using body = cpu::detail::top_k_body;
      constexpr index_t least_columns = 64, most_columns = index_t{1} << 18, tile_columns = 8192;
      index_t const m = all.x.extent(0), n = all.x.extent(1);
      bool const fits = all.k() <= body::most_wanted && n >= least_columns && n <= most_columns;
      if (fits && all.x.stride(1) == 1 && top_k_fn::parts_of(m, n, exec.concurrency()) == 1) {
        index_t const room = tile::ceil_div(n, body::lanes) * body::lanes;
        observed_span<Executor> const scope(exec, [&] { return all.work(); });
        scratch_frame<Executor> frame(exec);
        std::uint32_t* const memory = frame.template take<std::uint32_t>(room * exec.concurrency());
        index_t const rows = n < tile_columns / 16 ? 16 : tile::ceil_div(tile_columns, n);
        exec.for_each_tile(tile::ceil_div(m, rows), [all, memory, room, m, rows](index_t t, int worker) {
          index_t const first = t * rows, end = first + rows < m ? first + rows : m;
          std::uint32_t* const keys = memory + worker * room;
          dispatch_isa(body{}, all, first, end, keys);
        });
        return;
      }
    }
    top_k_fn::generic(exec, all);
  }
};

}  // namespace heddle
