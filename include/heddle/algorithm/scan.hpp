// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/algorithm/detail/row_layout.hpp>
#include <heddle/algorithm/detail/scan_lanes.hpp>
#include <heddle/algorithm/detail/settled.hpp>
#include <heddle/core/overlap.hpp>
#include <heddle/tile/run.hpp>

namespace heddle {

namespace detail {

/// The running values inside one block of up to 4096 elements, one at a time: `next(x)` takes element e and returns
/// the inclusive value. A monoid of the user is a fold.
template <class M, bool Grouped>
struct block_scan {
  using value = typename M::value_type;

  M m;
  value so_far;

  template <class At, class Put>
  HEDDLE_HD_FN value run(index_t n, At const& at, Put const& put) {
    so_far = at(0);
    put(0, so_far);
    for (index_t e = 1; e < n; ++e) {
      so_far = m.combine(so_far, at(e));
      put(e, so_far);
    }
    return so_far;
  }
};

/// Sums of floats: groups of 16 in four steps, each lane i >= d adding lane i - d of the step before on the left; then
/// the value of the groups before.
template <class M>
struct block_scan<M, true> {
  using value = typename M::value_type;
  static constexpr int group = 16;

  M m;
  value so_far;

  template <class At, class Put>
  HEDDLE_HD_FN value run(index_t n, At const& at, Put const& put) {
    for (index_t first = 0; first < n; first += group) {
      int const count = static_cast<int>(n - first < group ? n - first : index_t{group});
      value lane[group] = {};
      for (int i = 0; i < count; ++i) lane[i] = at(first + i);
      // From the top down, so that a step reads the lanes of the step before.
      for (int d = 1; d < group; d *= 2)
        for (int i = group - 1; i >= d; --i) lane[i] = m.combine(lane[i - d], lane[i]);
      for (int i = 0; i < count; ++i) {
        value const v = first == 0 ? lane[i] : m.combine(so_far, lane[i]);
        put(first + i, v);
        if (i + 1 == count) so_far = v;
      }
    }
    return so_far;
  }
};

enum class scan_step { totals, values };

/// Step `totals`: what the elements of each block come to. Step `values`: the values, from the carries.
template <class M, class Source, class Out, scan_step Step>
struct scan_program : plain_unless<scans_in_lanes<M, Source>> {
  using value = typename M::value_type;
  static constexpr index_t block = tile::block_elements;

  M m;
  Source in;
  view<Out, 1> out;
  value* carries;  // carries[b + 1] belongs to block b
  index_t first_block, end_block;
  bool exclusive, has_carry;

  HEDDLE_FN scan_program(M const& monoid, Source const& from, view<Out, 1> const& to, value* between,
                         index_t first_of_window, index_t end_of_window, bool shifted, bool has_init)
      : m(monoid),
        in(from),
        out(to),
        carries(between),
        first_block(first_of_window),
        end_block(end_of_window),
        exclusive(shifted),
        has_carry(has_init) {}

  template <class Ctx>
  struct shared {};
  HEDDLE_FN bool unit_columns() const { return in.unit() && (out.stride(0) == 1 || out.extent(0) <= 1); }
  HEDDLE_FN span work() const {
    index_t const n = elements_before(end_block) - elements_before(first_block), all = in.extent(0);
    return {.operation = Step == scan_step::totals ? "scan.totals" : "scan",
            .shape = {n},
            .bytes = in.bytes() / all * n +
                     (Step == scan_step::totals ? 0 : n * static_cast<index_t>(sizeof(Out))) +
                     (end_block - first_block) * static_cast<index_t>(sizeof(value)),
            .flops = n * (Step == scan_step::totals ? 1 : 2)};
  }
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return end_block - first_block;
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    index_t const b = first_block + ctx.tile();
    if constexpr (scans_in_lanes<M, Source> && requires { typename Ctx::isa; })
      run_lanes<typename Ctx::isa>(b);
    else
      ctx.for_each(1, [this, b](index_t) { run_block(b); });
  }

 private:
  HEDDLE_HD_FN index_t elements_before(index_t b) const { return tile::detail::smaller(b * block, in.extent(0)); }

  template <class Isa>
  HEDDLE_TILE void run_lanes(index_t b) const {
    index_t const first = b * block, n = elements_before(b + 1) - first;
    lane_scan<Isa, M, Source> scan(m, in);
    if constexpr (Step == scan_step::totals)
      carries[b + 1] = scan.total(first, n);
    else
      scan.values(first, n, out.data() + first, carries[b], has_carry || b > 0, exclusive);
  }
  HEDDLE_DEVICE_PASS_QUIET
  HEDDLE_HD_FN void run_block(index_t b) const {
    index_t const first = b * block, n = elements_before(b + 1) - first;
    block_scan<M, scans_in_groups<M>> scan{m, m.identity()};
    auto const at = [&](index_t e) { return static_cast<value>(tile::widen(in(first + e))); };
    if constexpr (Step == scan_step::totals) {
      carries[b + 1] = scan.run(n, at, [](index_t, value const&) {});
    } else {
      bool const carried = has_carry || b > 0;
      value const carry = carries[b];
      // In place, an exclusive value overwrites the element that the next one is made of: it is stored one late.
      value before = carry;
      scan.run(n, at, [&](index_t e, value const& local) {
        value const v = carried ? m.combine(carry, local) : local;
        out.data()[(first + e) * out.stride(0)] = static_cast<Out>(settled(exclusive ? before : v));
        before = v;
      });
    }
  }
};

/// carries[0] = init or the identity; carries[b + 1] = carries[b] combined with the total of block b, for the blocks of
/// one window.
template <class M>
struct scan_carries_program {
  using value = typename M::value_type;
  using plain = void;

  M m;
  value* carries;
  index_t first_block, end_block;
  value init;
  bool has_init;

  template <class Ctx>
  struct shared {};
  HEDDLE_FN span work() const {
    return {.operation = "scan.carries",
            .shape = {end_block - first_block},
            .bytes = (2 * (end_block - first_block) + (first_block == 0 ? 1 : 0)) * static_cast<index_t>(sizeof(value)),
            .flops = end_block - first_block};
  }
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return 1;
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    ctx.for_each(1, [this](index_t) {
      if (first_block == 0) carries[0] = has_init ? init : m.identity();
      for (index_t b = first_block; b < end_block; ++b)
        if (b > 0 || has_init) carries[b + 1] = m.combine(carries[b], carries[b + 1]);
    });
  }
};

/// Blocks that go through all steps together: what the first one read is still in the caches of a CPU for the last one.
template <class E>
HEDDLE_FN index_t scan_window(index_t blocks, std::size_t value_bytes, int workers) {
  if (!std::is_same_v<typename E::backend, cpu_tag>) return blocks;
  return index_t{workers} * static_cast<index_t>((std::size_t{1} << 19) / (value_bytes * tile::block_elements) + 1);
}

template <executor E, class In, class Out, class M>
HEDDLE_FN void scan_to(E& exec, In const& in, Out const& out, M const& m, typename M::value_type const* init,
                       bool exclusive) {
  using value = typename M::value_type;
  using source = source_t<In>;
  using y = typename Out::element_type;
  HEDDLE_EXPECTS(in.extent(0) == out.extent(0), "a scan keeps the extent", in.extent(0), out.extent(0));
  expect_apart_or_same(exclusive ? "exclusive_scan" : "inclusive_scan", out, in);
  if (in.empty()) return;
  index_t const blocks = tile::ceil_div(in.extent(0), tile::block_elements);
  index_t const window = scan_window<E>(blocks, sizeof(value), exec.concurrency());
  scratch_frame<E> frame(exec);
  value* const carries = frame.template take<value>(blocks + 1);
  bool const has_init = init != nullptr;
  value const start = has_init ? *init : m.identity();
  source const from = source_of(in);
  for (index_t b = 0; b < blocks; b += window) {
    index_t const end = tile::detail::smaller(b + window, blocks);
    tile::run(exec, scan_program<M, source, y, scan_step::totals>(m, from, canonical(out), carries, b, end, exclusive,
                                                                  has_init));
    tile::run(exec, scan_carries_program<M>{m, carries, b, end, start, has_init});
    tile::run(exec, scan_program<M, source, y, scan_step::values>(m, from, canonical(out), carries, b, end, exclusive,
                                                                  has_init));
  }
}

}  // namespace detail

/// out[i] = in[0] + ... + in[i], with the monoid's combine.
///
/// Shapes: vectors of one extent, strides free; in may be lazy. Types: the monoid's value type is the accumulator and
/// is named by the caller; elements convert to it and values from it. Pre: `init`, if given, has exactly the value
/// type; it is combined first. Complexity: reads twice, writes once. Sync: submits. Memory: one value per 4096
/// elements, of the arena. Determinism: the same bits on every backend. Order is kept, so monoids need not commute; the
/// operator sees only elements, carries and init. Numerics: blocks of 4096, the last value of one is the carry into the
/// next; inside a block sums of floats go in groups of 16, everything else is a fold; a NaN result is the canonical
/// NaN. out may be in (in place).
struct inclusive_scan_fn {
  template <executor E, input_vector In, vector_view Out, monoid M>
  requires writable_view<Out> HEDDLE_FN void operator()(E& exec, In const& in, Out const& out, M const& m) const {
    detail::scan_to(exec, in, out, m, nullptr, false);
  }
  template <executor E, input_vector In, vector_view Out, monoid M, std::same_as<typename M::value_type> Init>
  requires writable_view<Out> HEDDLE_FN void operator()(E& exec, In const& in, Out const& out, M const& m,
                                                        Init const& init) const {
    detail::scan_to(exec, in, out, m, &init, false);
  }
};

/// out[i] = init + in[0] + ... + in[i - 1]; out[0] is init, or the identity. Otherwise as inclusive_scan.
struct exclusive_scan_fn {
  template <executor E, input_vector In, vector_view Out, monoid M>
  requires writable_view<Out> HEDDLE_FN void operator()(E& exec, In const& in, Out const& out, M const& m) const {
    detail::scan_to(exec, in, out, m, nullptr, true);
  }
  template <executor E, input_vector In, vector_view Out, monoid M, std::same_as<typename M::value_type> Init>
  requires writable_view<Out> HEDDLE_FN void operator()(E& exec, In const& in, Out const& out, M const& m,
                                                        Init const& init) const {
    detail::scan_to(exec, in, out, m, &init, true);
  }
};

inline constexpr inclusive_scan_fn inclusive_scan{};
inline constexpr exclusive_scan_fn exclusive_scan{};

}  // namespace heddle
