// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/algorithm/detail/sort_key.hpp>
#include <heddle/core/overlap.hpp>
#include <heddle/tile/run.hpp>

/// @file
/// Searches: an index or a count per block of elements, then one for all.

namespace heddle {
namespace detail {

// A pick says what one block gives (`block`: elements at(0) ... at(n - 1), the first of which has index `first`), what
// to begin with, how a block joins what was found before it, and what is written in the end.

template <class F>
struct pick_first {
  F f;
  static HEDDLE_HD_FN index_t start() { return -1; }
  HEDDLE_DEVICE_PASS_QUIET
  template <class At>
  HEDDLE_HD_FN index_t block(At const& at, index_t first, index_t n) const {
    for (index_t i = 0; i < n; ++i)
      if (f(at(first + i))) return first + i;
    return -1;
  }
  template <class At>
  HEDDLE_HD_FN index_t join(At const&, index_t before, index_t block) const {
    return before >= 0 ? before : block;
  }
  static HEDDLE_HD_FN index_t finish(index_t found) { return found; }
};

template <class F>
struct pick_last {
  F f;
  static HEDDLE_HD_FN index_t start() { return -1; }
  HEDDLE_DEVICE_PASS_QUIET
  template <class At>
  HEDDLE_HD_FN index_t block(At const& at, index_t first, index_t n) const {
    for (index_t i = n; i-- > 0;)
      if (f(at(first + i))) return first + i;
    return -1;
  }
  template <class At>
  HEDDLE_HD_FN index_t join(At const&, index_t before, index_t block) const {
    return block >= 0 ? block : before;
  }
  static HEDDLE_HD_FN index_t finish(index_t found) { return found; }
};

template <class F>
struct pick_count {
  F f;
  static HEDDLE_HD_FN index_t start() { return 0; }
  HEDDLE_DEVICE_PASS_QUIET
  template <class At>
  HEDDLE_HD_FN index_t block(At const& at, index_t first, index_t n) const {
    index_t count = 0;
    for (index_t i = 0; i < n; ++i) count += f(at(first + i)) ? 1 : 0;
    return count;
  }
  template <class At>
  HEDDLE_HD_FN index_t join(At const&, index_t before, index_t block) const {
    return before + block;
  }
  static HEDDLE_HD_FN index_t finish(index_t found) { return found; }
};

/// Whether there is an element for which the predicate says `Wanted`, or whether there is none.
template <class F, bool Wanted, bool Exists>
struct pick_any {
  F f;
  static HEDDLE_HD_FN index_t start() { return 0; }
  HEDDLE_DEVICE_PASS_QUIET
  template <class At>
  HEDDLE_HD_FN index_t block(At const& at, index_t first, index_t n) const {
    for (index_t i = 0; i < n; ++i)
      if (static_cast<bool>(f(at(first + i))) == Wanted) return 1;
    return 0;
  }
  template <class At>
  HEDDLE_HD_FN index_t join(At const&, index_t before, index_t block) const {
    return before | block;
  }
  static HEDDLE_HD_FN bool finish(index_t found) { return (found != 0) == Exists; }
};

/// The first of those that nothing stands before.
template <class Less>
struct pick_least {
  Less less;
  static HEDDLE_HD_FN index_t start() { return -1; }
  HEDDLE_DEVICE_PASS_QUIET
  template <class At>
  HEDDLE_HD_FN index_t block(At const& at, index_t first, index_t n) const {
    index_t best = first;
    for (index_t i = first + 1; i < first + n; ++i)
      if (less(at(i), at(best))) best = i;
    return best;
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class At>
  HEDDLE_HD_FN index_t join(At const& at, index_t before, index_t block) const {
    return before < 0 || less(at(block), at(before)) ? block : before;
  }
  static HEDDLE_HD_FN index_t finish(index_t found) { return found; }
};

/// An order turned round.
template <class Less>
struct greater_by {
  Less less;
  HEDDLE_DEVICE_PASS_QUIET
  template <class T>
  HEDDLE_HD_FN bool operator()(T const& a, T const& b) const {
    return less(b, a);
  }
};

template <class T>
struct element_at {
  view<T const, 1> in;
  HEDDLE_TILE T const& operator()(index_t i) const { return in.data()[i * in.stride(0)]; }
};

template <class T, class Pick>
struct search_blocks_program {
  using plain = void;
  static constexpr index_t block = tile::block_elements;

  char const* operation;
  view<T const, 1> in;
  index_t* found;
  Pick pick;

  template <class Ctx>
  struct shared {};
  HEDDLE_FN span work() const {
    return {.operation = operation,
            .shape = {in.extent(0)},
            .bytes = element_bytes(in) + tiles<void>() * static_cast<index_t>(sizeof(index_t)),
            .flops = in.extent(0)};
  }
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return tile::ceil_div(in.extent(0), block);
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    index_t const b = ctx.tile();
    ctx.for_each(1, [this, b](index_t) { run(b); });
  }

 private:
  HEDDLE_DEVICE_PASS_QUIET
  HEDDLE_HD_FN void run(index_t b) const {
    index_t const first = b * block, left = in.extent(0) - first;
    found[b] = pick.block(element_at<T>{in}, first, left < block ? left : block);
  }
};

template <class T, class R, class Pick>
struct search_result_program {
  using plain = void;

  view<T const, 1> in;
  index_t const* found;
  index_t blocks;
  R* result;
  Pick pick;

  template <class Ctx>
  struct shared {};
  HEDDLE_FN span work() const {
    return {.operation = "search.result",
            .shape = {blocks},
            .bytes = blocks * static_cast<index_t>(sizeof(index_t)) + static_cast<index_t>(sizeof(R))};
  }
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return 1;
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    ctx.for_each(1, [this](index_t) { run(); });
  }

 private:
  HEDDLE_DEVICE_PASS_QUIET
  HEDDLE_HD_FN void run() const {
    index_t all = pick.start();
    for (index_t b = 0; b < blocks; ++b) all = pick.join(element_at<T>{in}, all, found[b]);
    *result = static_cast<R>(pick.finish(all));
  }
};

/// Where an index or a count goes, and where the answer yes or no may go too.
template <class R>
concept index_result = writable_view<R> && std::signed_integral<typename R::value_type>;
template <class R>
concept answer_result = writable_view<R> && std::integral<typename R::value_type>;
template <class In, class F>
concept predicate_of =
    std::is_trivially_copyable_v<F> && std::is_invocable_r_v<bool, F const&, typename In::value_type const&>;
template <class In, class R, class F>
concept search_operands = index_result<R> && predicate_of<In, F>;
template <class In, class R, class F>
concept question_operands = answer_result<R> && predicate_of<In, F>;

template <executor E, class In, class R, class Pick>
HEDDLE_FN void search(E& exec, char const* operation, In const& in, R const& result, Pick const& pick) {
  using T = typename In::value_type;
  using number = typename R::value_type;
  index_t const n = in.extent(0);
  if constexpr (!std::same_as<decltype(pick.finish(n)), bool>)
    HEDDLE_EXPECTS(static_cast<index_t>(static_cast<number>(n)) == n, "the type of the result must hold the extent",
                   operation, n);
  expect_apart(operation, result, in);
  using blocks_program = search_blocks_program<T, Pick>;
  index_t const blocks = tile::ceil_div(n, blocks_program::block);
  scratch_frame<E> frame(exec);
  index_t* const found = frame.template take<index_t>(blocks);
  if (blocks > 0) tile::run(exec, blocks_program{operation, canonical_input(in), found, pick});
  tile::run(exec, search_result_program<T, number, Pick>{canonical_input(in), found, blocks, result.data(), pick});
}

}  // namespace detail
}  // namespace heddle
