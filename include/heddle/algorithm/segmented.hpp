// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/algorithm/detail/segments.hpp>
#include <heddle/algorithm/scan.hpp>
#include <heddle/core/overlap.hpp>
#include <heddle/tile/run.hpp>

namespace heddle {

namespace detail {

/// Refuses offsets that would lead outside the input, before anything is read by them.
template <class Offsets>
struct check_segments_program {
  using plain = void;
  static constexpr index_t grain = 4096;
  segments<Offsets> cut;

  template <class Ctx>
  struct shared {};
  HEDDLE_FN span work() const {
    return {.operation = "segmented.check", .shape = {cut.n, cut.count}, .bytes = cut.offsets.bytes()};
  }
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return tile::ceil_div(cut.count, grain);
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    index_t const first = ctx.tile() * grain, left = cut.count - first;
    ctx.for_each(left < grain ? left : grain, [this, first](index_t s) { cut.check(first + s); });
  }
};

template <class M, class Source, class Offsets>
struct segmented_operands {
  using value = typename M::value_type;

  M m;
  Source in;
  segments<Offsets> cut;
  value* slots;

  HEDDLE_FN segmented_operands(M const& monoid, Source const& from, segments<Offsets> const& segs, value* values)
      : m(monoid), in(from), cut(segs), slots(values) {}

  HEDDLE_FN index_t slot_bytes() const { return cut.slots() * static_cast<index_t>(sizeof(value)); }
  HEDDLE_HD_FN value element(index_t i) const { return static_cast<value>(tile::widen(in(i))); }
  HEDDLE_DEVICE_PASS_QUIET
  HEDDLE_HD_FN bool alone(index_t s) const { return cut.end(s) - cut.begin(s) <= cut.block; }
};

/// What every block comes to: the result of its segment where it is alone, else into its slot.
template <class M, class Source, class Offsets, class Out>
struct segmented_blocks_program : segmented_operands<M, Source, Offsets> {
  using plain = void;
  using base = segmented_operands<M, Source, Offsets>;
  view<Out, 1> out;

  HEDDLE_FN segmented_blocks_program(base const& operands, view<Out, 1> const& to) : base(operands), out(to) {}

  template <class Ctx>
  struct shared {};
  HEDDLE_FN span work() const {
    return {.operation = "segmented_reduce.blocks",
            .shape = {this->cut.n, this->cut.count},
            .bytes = this->in.bytes() + this->cut.offsets.bytes() + element_bytes(out),
            .flops = this->cut.n};
  }
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return this->cut.windows();
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    index_t const window = ctx.tile();
    ctx.for_each(1, [this, window](index_t) { run(window); });
  }

 private:
  HEDDLE_DEVICE_PASS_QUIET
  HEDDLE_HD_FN void run(index_t window) const {
    this->cut.for_each_block(window, [this](index_t s, index_t first, index_t end) {
      auto const v = reduce_segment_block(this->m, end - first, [&](index_t e) { return this->element(first + e); });
      if (this->alone(s))
        out.data()[s * out.stride(0)] = static_cast<Out>(settled(v));
      else
        this->slots[this->cut.slot(s, first)] = v;
    });
  }
};

/// The results of empty segments and of those of several blocks.
template <class M, class Source, class Offsets, class Out>
struct segmented_results_program : segmented_operands<M, Source, Offsets> {
  using plain = void;
  using base = segmented_operands<M, Source, Offsets>;
  static constexpr index_t grain = 256;
  view<Out, 1> out;

  HEDDLE_FN segmented_results_program(base const& operands, view<Out, 1> const& to) : base(operands), out(to) {}

  template <class Ctx>
  struct shared {};
  HEDDLE_FN span work() const {
    return {.operation = "segmented_reduce",
            .shape = {this->cut.n, this->cut.count},
            .bytes = this->cut.offsets.bytes() + this->slot_bytes(),
            .flops = this->cut.slots()};
  }
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return tile::ceil_div(this->cut.count, grain);
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    index_t const first = ctx.tile() * grain, left = this->cut.count - first;
    ctx.for_each(left < grain ? left : grain, [this, first](index_t s) { run(first + s); });
  }

 private:
  HEDDLE_DEVICE_PASS_QUIET
  HEDDLE_HD_FN void run(index_t s) const {
    index_t const a = this->cut.begin(s), n = this->cut.end(s) - a, block = this->cut.block;
    if (n > 0 && n <= block) return;
    auto const v = n == 0 ? this->m.identity()
                          : tile::detail::stream_tree<typename M::value_type>(
                                tile::ceil_div(n, block), combine_with<M>{this->m}, [this, s, a, block](index_t b) {
                                  return this->slots[this->cut.slot(s, a + b * block)];
                                });
    out.data()[s * out.stride(0)] = static_cast<Out>(settled(v));
  }
};

/// A slot holds what its block comes to, then the carry into it.
template <class M, class Source, class Offsets>
struct segmented_carries_program : segmented_operands<M, Source, Offsets> {
  using plain = void;
  using base = segmented_operands<M, Source, Offsets>;
  static constexpr index_t grain = 256;

  HEDDLE_FN explicit segmented_carries_program(base const& operands) : base(operands) {}

  template <class Ctx>
  struct shared {};
  HEDDLE_FN span work() const {
    return {.operation = "segmented_scan.carries",
            .shape = {this->cut.n, this->cut.count},
            .bytes = this->cut.offsets.bytes() + 2 * this->slot_bytes(),
            .flops = this->cut.slots()};
  }
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return tile::ceil_div(this->cut.count, grain);
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    index_t const first = ctx.tile() * grain, left = this->cut.count - first;
    ctx.for_each(left < grain ? left : grain, [this, first](index_t s) { run(first + s); });
  }

 private:
  HEDDLE_DEVICE_PASS_QUIET
  HEDDLE_HD_FN void run(index_t s) const {
    if (this->alone(s)) return;
    index_t const a = this->cut.begin(s), block = this->cut.block;
    auto carry = this->slots[this->cut.slot(s, a)];
    for (index_t first = a + block; first < this->cut.end(s); first += block) {
      auto& slot = this->slots[this->cut.slot(s, first)];
      auto const total = slot;
      slot = carry;
      carry = this->m.combine(carry, total);
    }
  }
};

/// Step `totals`: what the blocks of longer segments come to. Step `values`: the values.
template <class M, class Source, class Offsets, class Out, scan_step Step>
struct segmented_scan_program : segmented_operands<M, Source, Offsets> {
  using plain = void;
  using base = segmented_operands<M, Source, Offsets>;
  using value = typename M::value_type;
  view<Out, 1> out;
  bool exclusive;

  HEDDLE_FN segmented_scan_program(base const& operands, view<Out, 1> const& to, bool shifted)
      : base(operands), out(to), exclusive(shifted) {}

  template <class Ctx>
  struct shared {};
  HEDDLE_FN span work() const {
    constexpr bool totals = Step == scan_step::totals;
    return {
        .operation = totals ? "segmented_scan.totals" : "segmented_scan",
        .shape = {this->cut.n, this->cut.count},
        .bytes = this->in.bytes() + this->cut.offsets.bytes() + this->slot_bytes() + (totals ? 0 : element_bytes(out)),
        .flops = this->cut.n * (totals ? 1 : 2)};
  }
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return this->cut.windows();
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    index_t const window = ctx.tile();
    ctx.for_each(1, [this, window](index_t) { run(window); });
  }

 private:
  HEDDLE_DEVICE_PASS_QUIET
  HEDDLE_HD_FN void run(index_t window) const {
    this->cut.for_each_block(window, [this](index_t s, index_t first, index_t end) {
      if constexpr (Step == scan_step::totals) {
        if (this->alone(s)) return;
      }
      block_of(first, end, first > this->cut.begin(s), this->cut.slot(s, first));
    });
  }
  HEDDLE_DEVICE_PASS_QUIET
  HEDDLE_HD_FN void block_of(index_t first, index_t end, bool carried, index_t slot) const {
    block_scan<M, scans_in_groups<M>> scan{this->m, this->m.identity()};
    auto const at = [&](index_t e) { return this->element(first + e); };
    if constexpr (Step == scan_step::totals) {
      this->slots[slot] = scan.run(end - first, at, [](index_t, value const&) {});
    } else {
      value const carry = carried ? this->slots[slot] : this->m.identity();
      value before = carry;  // in place, an exclusive value is stored one late
      scan.run(end - first, at, [&](index_t e, value const& local) {
        value const v = carried ? this->m.combine(carry, local) : local;
        out.data()[(first + e) * out.stride(0)] = static_cast<Out>(settled(exclusive ? before : v));
        before = v;
      });
    }
  }
};

template <class V>
concept offsets_input = input_vector<V> && std::integral<typename V::value_type>;

template <executor E, class In, class Offsets>
HEDDLE_FN segments<source_t<Offsets>> checked_segments(E& exec, In const& in, Offsets const& offsets) {
  HEDDLE_EXPECTS(offsets.extent(0) >= 1, "offsets have one element more than there are segments", offsets.extent(0));
  HEDDLE_EXPECTS(offsets.extent(0) > 1 || in.extent(0) == 0, "without segments there are no elements", in.extent(0));
  segments<source_t<Offsets>> const cut{source_of(offsets), offsets.extent(0) - 1, in.extent(0)};
  if (cut.count > 0) tile::run(exec, check_segments_program<source_t<Offsets>>{cut});
  return cut;
}

template <executor E, class In, class Offsets, class Out, class M>
HEDDLE_FN void segmented_scan_to(E& exec, In const& in, Offsets const& offsets, Out const& out, M const& m,
                                 bool exclusive) {
  using source = source_t<In>;
  using cuts = source_t<Offsets>;
  using y = typename Out::element_type;
  HEDDLE_EXPECTS(in.extent(0) == out.extent(0), "a scan keeps the extent", in.extent(0), out.extent(0));
  expect_apart_or_same("segmented_scan", out, in);
  expect_apart("segmented_scan", out, offsets);
  segments<cuts> const cut = checked_segments(exec, in, offsets);
  scratch_frame<E> frame(exec);
  auto* const slots = frame.template take<typename M::value_type>(cut.slots());
  segmented_operands<M, source, cuts> const operands(m, source_of(in), cut, slots);
  if (cut.n > 0)
    tile::run(exec, segmented_scan_program<M, source, cuts, y, scan_step::totals>(operands, canonical(out), exclusive));
  if (cut.count > 0) tile::run(exec, segmented_carries_program<M, source, cuts>(operands));
  if (cut.n > 0)
    tile::run(exec, segmented_scan_program<M, source, cuts, y, scan_step::values>(operands, canonical(out), exclusive));
}

}  // namespace detail

/// out[s] = in[offsets[s]] + ... + in[offsets[s + 1] - 1], with the monoid's combine; the identity where that is empty.
///
/// Shapes: in a vector of n, lazy ones included; offsets of S + 1; out of S. Types: offsets integers; otherwise as
/// reduce. Pre: offsets start at 0, never fall and end at n. Errors: contract_error from the work for other offsets.
/// Complexity: n combinations, shared evenly whatever the segments are. Sync: submits. Memory: two values per 4096
/// elements, of the arena. Determinism: the bits of reduce on each segment by itself.
/// Numerics: a NaN result is the canonical NaN.
struct segmented_reduce_fn {
  template <executor E, input_vector In, detail::offsets_input Offsets, vector_view Out, monoid M>
  requires writable_view<Out> HEDDLE_FN void operator()(E& exec, In const& in, Offsets const& offsets, Out const& out,
                                                        M const& m) const {
    using source = detail::source_t<In>;
    using cuts = detail::source_t<Offsets>;
    using y = typename Out::element_type;
    auto const cut = detail::checked_segments(exec, in, offsets);
    HEDDLE_EXPECTS(out.extent(0) == cut.count, "every segment has a result", out.extent(0), cut.count);
    expect_apart("segmented_reduce", out, in, offsets);
    scratch_frame<E> frame(exec);
    auto* const slots = frame.template take<typename M::value_type>(cut.slots());
    detail::segmented_operands<M, source, cuts> const operands(m, detail::source_of(in), cut, slots);
    if (cut.n > 0) tile::run(exec, detail::segmented_blocks_program<M, source, cuts, y>(operands, canonical(out)));
    if (cut.count > 0) tile::run(exec, detail::segmented_results_program<M, source, cuts, y>(operands, canonical(out)));
  }
};

/// The running values of each segment by itself, as inclusive_scan and exclusive_scan give them for a vector of its
/// own: blocks are counted from the segment's first element.
///
/// Shapes: in and out vectors of n, in may be lazy; offsets of S + 1. Errors and Pre: as segmented_reduce. Complexity:
/// reads up to twice, writes once. out may be in (in place). Otherwise as the scans.
struct segmented_inclusive_scan_fn {
  template <executor E, input_vector In, detail::offsets_input Offsets, vector_view Out, monoid M>
  requires writable_view<Out> HEDDLE_FN void operator()(E& exec, In const& in, Offsets const& offsets, Out const& out,
                                                        M const& m) const {
    detail::segmented_scan_to(exec, in, offsets, out, m, false);
  }
};
struct segmented_exclusive_scan_fn {
  template <executor E, input_vector In, detail::offsets_input Offsets, vector_view Out, monoid M>
  requires writable_view<Out> HEDDLE_FN void operator()(E& exec, In const& in, Offsets const& offsets, Out const& out,
                                                        M const& m) const {
    detail::segmented_scan_to(exec, in, offsets, out, m, true);
  }
};

inline constexpr segmented_reduce_fn segmented_reduce{};
inline constexpr segmented_inclusive_scan_fn segmented_inclusive_scan{};
inline constexpr segmented_exclusive_scan_fn segmented_exclusive_scan{};

}  // namespace heddle
