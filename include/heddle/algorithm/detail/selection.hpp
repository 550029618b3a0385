// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/algorithm/views.hpp>
#include <heddle/tile/run.hpp>

/// @file
/// Selection in three steps: how many elements each block of 4096 keeps, where each block's first one goes, and the
/// writing. A `Keep` says `keep(i)`, pure, and `bytes()`, what is read for all of its elements.

namespace heddle {
namespace detail {

/// What is known of a block: how many elements it keeps (later: the kept elements before it), and, for runs, the first
/// kept element of it and of all behind.
struct selection_plan {
  index_t n, blocks;
  index_t* kept;   // [blocks + 1]
  index_t* first;  // [blocks + 1], or null

  static constexpr index_t block = tile::block_elements;
  HEDDLE_HD_FN index_t begin(index_t b) const { return b * block; }
  HEDDLE_HD_FN index_t end(index_t b) const { return n - begin(b) < block ? n : begin(b) + block; }
};

template <class Keep>
struct count_kept_program {
  using plain = void;
  Keep keep;
  selection_plan plan;

  template <class Ctx>
  struct shared {};
  HEDDLE_FN span work() const {
    return {.operation = "select.count",
            .shape = {plan.n},
            .bytes = keep.bytes() + plan.blocks * static_cast<index_t>(sizeof(index_t)),
            .flops = plan.n};
  }
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return plan.blocks;
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    index_t const b = ctx.tile();
    ctx.for_each(1, [this, b](index_t) { count(b); });
  }

 private:
  HEDDLE_DEVICE_PASS_QUIET
  HEDDLE_HD_FN void count(index_t b) const {
    index_t const end = plan.end(b);
    int kept = 0;
    for (index_t i = plan.begin(b); i < end; ++i) kept += keep(i) ? 1 : 0;
    plan.kept[b] = kept;
    if (!plan.first) return;
    index_t i = plan.begin(b);
    while (i < end && !keep(i)) ++i;
    plan.first[b] = i < end ? i : -1;
  }
};

struct selection_offsets_program {
  using plain = void;
  selection_plan plan;
  index_t* count;

  template <class Ctx>
  struct shared {};
  HEDDLE_FN span work() const {
    return {.operation = "select.offsets",
            .shape = {plan.blocks},
            .bytes = (2 * plan.blocks + 1) * static_cast<index_t>(sizeof(index_t)),
            .flops = plan.blocks};
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
    index_t before = 0;
    for (index_t b = 0; b < plan.blocks; ++b) {
      index_t const kept = plan.kept[b];
      plan.kept[b] = before;
      before += kept;
    }
    plan.kept[plan.blocks] = *count = before;
    if (!plan.first) return;
    plan.first[plan.blocks] = plan.n;
    for (index_t b = plan.blocks; b-- > 0;)
      if (plan.first[b] < 0) plan.first[b] = plan.first[b + 1];
  }
};

/// `write.block(keep, plan, b)` writes what block b selects.
template <class Keep, class Write>
struct write_kept_program {
  using plain = void;
  Keep keep;
  Write write;
  selection_plan plan;
  char const* operation;

  template <class Ctx>
  struct shared {};
  // How much is written is known only when it runs: as much as can be.
  HEDDLE_FN span work() const {
    return {.operation = operation, .shape = {plan.n}, .bytes = keep.bytes() + write.bytes(), .flops = plan.n};
  }
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return plan.blocks;
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    index_t const b = ctx.tile();
    ctx.for_each(1, [this, b](index_t) { write.block(keep, plan, b); });
  }
};

template <class V>
concept one_count = vector_view<V> && writable_view<V> && std::same_as<typename V::value_type, index_t>;

template <executor E, class Keep, class Write>
HEDDLE_FN void select_as(E& exec, char const* operation, index_t n, Keep const& keep, Write const& write,
                         view<index_t, 1> const& count, bool runs = false) {
  HEDDLE_EXPECTS(count.extent(0) == 1, "a selection writes one count", operation, count.extent(0));
  index_t const blocks = tile::ceil_div(n, selection_plan::block);
  scratch_frame<E> frame(exec);
  index_t* const kept = frame.template take<index_t>(blocks + 1);
  index_t* const first = runs ? frame.template take<index_t>(blocks + 1) : nullptr;
  selection_plan const plan{n, blocks, kept, first};
  if (n > 0) tile::run(exec, count_kept_program<Keep>{keep, plan});
  tile::run(exec, selection_offsets_program{plan, count.data()});
  if (n > 0) tile::run(exec, write_kept_program<Keep, Write>{keep, write, plan, operation});
}

/// Kept elements in a row. Every turn writes and only a kept one goes on, so that nothing is guessed; the loop ends
/// with the last kept element, so that nothing behind it is touched.
template <class Source, class Out>
struct write_selected {
  Source source;
  view<Out, 1> out;

  HEDDLE_HD_FN index_t bytes() const { return 2 * source.bytes(); }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Keep>
  HEDDLE_HD_FN void block(Keep const& keep, selection_plan const& plan, index_t b) const {
    index_t k = plan.kept[b], i = plan.begin(b);
    index_t const end = plan.kept[b + 1], step = out.stride(0);
    for (Out* const to = out.data(); k < end; ++i) {
      to[k * step] = static_cast<Out>(source(i));
      k += keep(i) ? 1 : 0;
    }
  }
};

/// Kept elements first, the others behind all of them.
template <class Source, class Out>
struct write_partitioned {
  Source source;
  view<Out, 1> out;

  HEDDLE_HD_FN index_t bytes() const { return 2 * source.bytes(); }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Keep>
  HEDDLE_HD_FN void block(Keep const& keep, selection_plan const& plan, index_t b) const {
    index_t k = plan.kept[b], other = plan.kept[plan.blocks] + plan.begin(b) - k;
    index_t const end = plan.end(b), step = out.stride(0);
    Out* const to = out.data();
    for (index_t i = plan.begin(b); i < end; ++i) {
      bool const kept = keep(i);
      to[(kept ? k : other) * step] = static_cast<Out>(source(i));
      k += kept ? 1 : 0;
      other += kept ? 0 : 1;
    }
  }
};

/// The first element of every run, and how long the run is.
template <class Source, class Out>
struct write_runs {
  Source source;
  view<Out, 1> out;
  view<index_t, 1> lengths;

  HEDDLE_HD_FN index_t bytes() const { return 2 * source.bytes() + element_bytes(lengths); }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Keep>
  HEDDLE_HD_FN void block(Keep const& keep, selection_plan const& plan, index_t b) const {
    index_t k = plan.kept[b], head = -1;
    index_t const end = plan.end(b);
    for (index_t i = plan.begin(b); i < end; ++i) {
      if (!keep(i)) continue;
      if (head >= 0) lengths.data()[(k - 1) * lengths.stride(0)] = i - head;
      out.data()[k++ * out.stride(0)] = static_cast<Out>(source(i));
      head = i;
    }
    if (head >= 0) lengths.data()[(k - 1) * lengths.stride(0)] = plan.first[b + 1] - head;
  }
};

template <class Source, class F>
struct keep_if {
  Source source;
  F pred;
  HEDDLE_HD_FN index_t bytes() const { return source.bytes(); }
  HEDDLE_DEVICE_PASS_QUIET
  HEDDLE_HD_FN bool operator()(index_t i) const { return static_cast<bool>(pred(tile::widen(source(i)))); }
};
template <class Flags>
struct keep_flagged {
  Flags flags;
  HEDDLE_HD_FN index_t bytes() const { return flags.bytes(); }
  HEDDLE_HD_FN bool operator()(index_t i) const { return static_cast<bool>(flags(i)); }
};
/// An element that differs from the one before it.
template <class Source, class Equal>
struct keep_heads {
  Source source;
  Equal equal;
  HEDDLE_HD_FN index_t bytes() const { return source.bytes(); }
  HEDDLE_DEVICE_PASS_QUIET
  HEDDLE_HD_FN bool operator()(index_t i) const {
    return i == 0 || !static_cast<bool>(equal(tile::widen(source(i - 1)), tile::widen(source(i))));
  }
};
struct equal_values {
  template <class T>
  HEDDLE_HD_FN bool operator()(T const& a, T const& b) const {
    return a == b;
  }
};

}  // namespace detail
}  // namespace heddle
