// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/algorithm/merge_path.hpp>
#include <heddle/tile/run.hpp>

namespace heddle {

/// What `balanced_for` calls. One piece of work is visited by one copy, which may keep what it likes from call to call.
///
/// Valid: `v.begin(segment)`, `v.item(segment, rank, item)`, `v.end(segment)`, all numbers index_t.
/// Meaning: item is a position in [offsets(segment), offsets(segment + 1)), and rank is item - offsets(segment).
/// Trivially copyable, at most 256 bytes.
template <class V>
concept segment_visitor = std::is_trivially_copyable_v<V> &&(sizeof(V) <= 256) && requires(V& v, index_t i) {
  v.begin(i);
  v.item(i, i, i);
  v.end(i);
};

/// Every segment is one worker's, runs of neighbours together. Right where lengths differ little.
struct segment_mapped {
  index_t grain = 0;  ///< segments of a run; 0: as many as give every worker 64 turns
};

/// Equal numbers of items plus segments for every piece, so a long segment is cut. Right for any lengths.
struct merge_path {
  index_t pieces = 0;  ///< 0: 16 for each worker
};

/// Every segment is one worker's: the longest first, each to the worker with the least so far. Right where segments
/// must stay whole and are few.
struct lpt {
  int bins = 0;  ///< 0: one for each worker
};

namespace detail {

/// Pieces that one tile does: one on a CPU worker, one for each thread of a block.
template <class Ctx>
HEDDLE_HD_FN constexpr index_t pieces_of_tile() {
  if constexpr (requires { Ctx::threads; })
    return Ctx::threads;
  else
    return 1;
}

template <class I>
struct check_offsets_program {
  using plain = void;
  static constexpr index_t grain = 4096;

  view<I const, 1> offsets;
  index_t items;  // the most that there may be, or -1

  template <class Ctx>
  struct shared {};
  HEDDLE_FN span work() const {
    return {.operation = "offsets.check", .shape = {offsets.extent(0) - 1}, .bytes = element_bytes(offsets)};
  }
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return tile::ceil_div(offsets.extent(0), grain);
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    index_t const first = ctx.tile() * grain, left = offsets.extent(0) - first;
    ctx.for_each(left < grain ? left : grain, [first, o = offsets, most = items](index_t e) {
      index_t const i = first + e;
      HEDDLE_EXPECTS(most < 0 || i + 1 < o.extent(0) || o.data()[i * o.stride(0)] <= most,
                     "the last offset must not be above the number of entries", o.data()[i * o.stride(0)], most);
      HEDDLE_EXPECTS(i == 0 ? o.data()[0] == 0 : o.data()[i * o.stride(0)] >= o.data()[(i - 1) * o.stride(0)],
                     "offsets must start at 0 and never fall", i, o.data()[i * o.stride(0)]);
    });
  }
};

/// The pieces of a schedule that needs no memory: `plan.visit(piece, offsets, visitor)` for every piece.
template <class I, class Plan, class V>
struct balanced_program {
  using plain = void;

  view<I const, 1> offsets;
  Plan plan;
  V visitor;

  template <class Ctx>
  struct shared {};
  HEDDLE_FN span work() const { return {.operation = "balanced_for", .shape = {offsets.extent(0) - 1}}; }
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return tile::ceil_div(plan.pieces, pieces_of_tile<Ctx>());
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    constexpr index_t most = pieces_of_tile<Ctx>();
    index_t const first = ctx.tile() * most, left = plan.pieces - first;
    ctx.for_each(left < most ? left : most, [this, first](index_t i) {
      V mine = visitor;
      plan.visit(first + i, offsets, mine);
    });
  }
};

HEDDLE_DEVICE_PASS_QUIET
template <class I, class V>
HEDDLE_HD_FN void visit_segment(index_t segment, view<I const, 1> const& offsets, V& visitor) {
  index_t const begin = static_cast<index_t>(offsets.data()[segment * offsets.stride(0)]),
                end = static_cast<index_t>(offsets.data()[(segment + 1) * offsets.stride(0)]);
  visitor.begin(segment);
  for (index_t item = begin; item < end; ++item) visitor.item(segment, item - begin, item);
  visitor.end(segment);
}

struct segment_runs {
  index_t pieces, grain;

  HEDDLE_DEVICE_PASS_QUIET
  template <class I, class V>
  HEDDLE_HD_FN void visit(index_t piece, view<I const, 1> const& offsets, V& visitor) const {
    index_t const first = piece * grain, end = tile::detail::smaller(first + grain, offsets.extent(0) - 1);
    for (index_t segment = first; segment < end; ++segment) visit_segment(segment, offsets, visitor);
  }
};

struct merge_path_pieces {
  index_t pieces;

  HEDDLE_DEVICE_PASS_QUIET
  template <class I, class V>
  HEDDLE_HD_FN void visit(index_t piece, view<I const, 1> const& offsets, V& visitor) const {
    merge_path_point const lo = merge_path_piece(offsets, pieces, piece),
                           hi = merge_path_piece(offsets, pieces, piece + 1);
    index_t item = lo.item;
    for (index_t segment = lo.segment; segment < hi.segment || item < hi.item; ++segment) {
      index_t const begin = static_cast<index_t>(offsets.data()[segment * offsets.stride(0)]);
      index_t const end =
          segment < hi.segment ? static_cast<index_t>(offsets.data()[(segment + 1) * offsets.stride(0)]) : hi.item;
      if (item == begin) visitor.begin(segment);
      for (; item < end; ++item) visitor.item(segment, item - begin, item);
      if (segment < hi.segment) visitor.end(segment);
    }
  }
};

/// The segments of each bin as a list: first[bin], then next[segment]; -1 ends it.
struct segment_lists {
  index_t pieces;
  index_t const *first, *next;

  HEDDLE_DEVICE_PASS_QUIET
  template <class I, class V>
  HEDDLE_HD_FN void visit(index_t piece, view<I const, 1> const& offsets, V& visitor) const {
    for (index_t segment = first[piece]; segment >= 0; segment = next[segment])
      visit_segment(segment, offsets, visitor);
  }
};

/// Fills the lists of bins. Serial: segments are few.
template <class I>
struct lpt_program {
  using plain = void;

  view<I const, 1> offsets;
  index_t bins;
  index_t *first, *last, *load, *next, *order;

  template <class Ctx>
  struct shared {};
  HEDDLE_FN span work() const {
    return {.operation = "balanced_for.lpt", .shape = {offsets.extent(0) - 1}, .bytes = element_bytes(offsets)};
  }
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return 1;
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    ctx.for_each(1, [this](index_t) { fill(); });
  }

 private:
  HEDDLE_HD_FN index_t length(index_t s) const {
    return static_cast<index_t>(offsets.data()[(s + 1) * offsets.stride(0)]) -
           static_cast<index_t>(offsets.data()[s * offsets.stride(0)]);
  }
  // Equal lengths in ascending order of segments, so that there is one answer.
  HEDDLE_HD_FN bool before(index_t a, index_t b) const {
    index_t const la = length(a), lb = length(b);
    return la > lb || (la == lb && a < b);
  }
  // Restores the heap below `at`: no parent stands before its children.
  HEDDLE_HD_FN void sift(index_t at, index_t n) const {
    for (index_t child = 2 * at + 1; child < n; child = 2 * at + 1) {
      if (child + 1 < n && before(order[child], order[child + 1])) ++child;
      if (!before(order[at], order[child])) return;
      swap(at, child);
      at = child;
    }
  }
  HEDDLE_HD_FN void swap(index_t a, index_t b) const {
    index_t const t = order[a];
    order[a] = order[b];
    order[b] = t;
  }
  HEDDLE_HD_FN void fill() const {
    index_t const n = offsets.extent(0) - 1;
    for (index_t s = 0; s < n; ++s) order[s] = s, next[s] = -1;
    for (index_t at = n / 2; at-- > 0;) sift(at, n);
    for (index_t end = n; end-- > 1;) {
      swap(0, end);
      sift(0, end);
    }
    for (index_t b = 0; b < bins; ++b) first[b] = last[b] = -1, load[b] = 0;
    for (index_t i = 0; i < n; ++i) {
      index_t least = 0;
      for (index_t b = 1; b < bins; ++b)
        if (load[b] < load[least]) least = b;
      index_t const s = order[i];
      (last[least] < 0 ? first[least] : next[last[least]]) = s;
      last[least] = s;
      load[least] += length(s) + 1;
    }
  }
};

HEDDLE_FN void expect_sizes(segment_mapped const& schedule) {
  HEDDLE_EXPECTS(schedule.grain >= 0, "a run has at least one segment, or 0 for the default", schedule.grain);
}
HEDDLE_FN void expect_sizes(merge_path const& schedule) {
  HEDDLE_EXPECTS(schedule.pieces >= 0, "there is at least one piece, or 0 for the default", schedule.pieces);
}
HEDDLE_FN void expect_sizes(lpt const& schedule) {
  HEDDLE_EXPECTS(schedule.bins >= 0, "there is at least one bin, or 0 for one per worker", schedule.bins);
}

template <executor E, class I, class V>
HEDDLE_FN void run_balanced(E& exec, view<I const, 1> const& offsets, segment_mapped const& schedule,
                            V const& visitor) {
  index_t const n = offsets.extent(0) - 1, even = tile::ceil_div(n, index_t{64} * exec.concurrency());
  index_t const grain = schedule.grain > 0 ? schedule.grain : even;
  tile::run(exec, balanced_program<I, segment_runs, V>{offsets, {tile::ceil_div(n, grain), grain}, visitor});
}

template <executor E, class I, class V>
HEDDLE_FN void run_balanced(E& exec, view<I const, 1> const& offsets, merge_path const& schedule, V const& visitor) {
  index_t const pieces = schedule.pieces > 0 ? schedule.pieces : index_t{16} * exec.concurrency();
  tile::run(exec, balanced_program<I, merge_path_pieces, V>{offsets, {pieces}, visitor});
}

template <executor E, class I, class V>
HEDDLE_FN void run_balanced(E& exec, view<I const, 1> const& offsets, lpt const& schedule, V const& visitor) {
  index_t const bins = schedule.bins > 0 ? schedule.bins : exec.concurrency(), n = offsets.extent(0) - 1;
  scratch_frame<E> frame(exec);
  index_t* const first = frame.template take<index_t>(3 * bins);
  index_t* const next = frame.template take<index_t>(2 * n);
  tile::run(exec, lpt_program<I>{offsets, bins, first, first + bins, first + 2 * bins, next, next + n});
  tile::run(exec, balanced_program<I, segment_lists, V>{offsets, {bins, first, next}, visitor});
}

}  // namespace detail

/// Visits the items of every segment; segment s has the items [offsets(s), offsets(s + 1)).
///
/// Types: offsets of a signed integer; schedule one of segment_mapped, merge_path, lpt. Pre: offsets has at least one
/// element, starts at 0 and never falls; calls for different items don't write what others touch.
/// Post: begin and end once for every segment, empty ones too, and item once for every item.
/// Where a schedule cuts a segment (merge_path alone does), begin belongs to the worker of its first piece and end to
/// that of its last, and pieces run at once: nothing may be carried from begin to end except in the uncut schedules,
/// where one copy of the visitor sees a whole segment, its items in ascending order.
/// Errors: contract_error, from the queue where the offsets are at fault. Complexity: segments + items, and for lpt
/// segments * (log(segments) + bins) on one worker. Sync: submits; offsets are read when the queue gets there, so they
/// may be the result of work before. Memory: for lpt two numbers a segment and three a bin, of the arena.
/// Determinism: the cuts depend on offsets, schedule and, by default, on the number of workers; what must not depend on
/// the last uses no state across items, or an uncut schedule.
struct balanced_for_fn {
  template <executor E, vector_view Offsets, class Schedule, segment_visitor V>
  requires std::signed_integral<typename Offsets::value_type> HEDDLE_FN void operator()(E& exec, Offsets const& offsets,
                                                                                        Schedule const& schedule,
                                                                                        V const& visitor) const {
    HEDDLE_EXPECTS(offsets.extent(0) >= 1, "n segments have n + 1 offsets", offsets.extent(0));
    using I = typename Offsets::value_type;
    view<I const, 1> const o = canonical_input(offsets);
    detail::expect_sizes(schedule);
    tile::run(exec, detail::check_offsets_program<I>{o, -1});
    if (o.extent(0) > 1) detail::run_balanced(exec, o, schedule, visitor);
  }
};
inline constexpr balanced_for_fn balanced_for{};

}  // namespace heddle
