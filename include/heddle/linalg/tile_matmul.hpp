// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/tile/canonical.hpp>
#include <heddle/tile/functions.hpp>
#include <heddle/tile/run.hpp>

namespace heddle {
namespace linalg {

namespace detail {

/// c = f(a b): one pipeline loop, whether copies are packing (one stage) or asynchronous (two or more).
template <class A, class B, class C, class F>
struct tile_matmul_program {
  using value = tile::value_t<A>;
  static_assert(std::is_same_v<value, tile::value_t<B>>, "both operands compute in one type");

  view<A const, 2> a;
  view<B const, 2> b;
  view<C, 2> c;
  F f;

  template <class Ctx>
  struct shared {
    typename Ctx::template operand_a<value> a[Ctx::stages];
    typename Ctx::template operand_b<value> b[Ctx::stages];
    typename Ctx::template accumulator<value> sums;
  };

  HEDDLE_FN bool unit_columns() const { return tile::has_unit_columns(c); }

  HEDDLE_FN span work() const {
    return {.operation = "tile_matmul",
            .shape = {c.extent(0), c.extent(1), a.extent(1)},
            .bytes = element_bytes(a, b, c),
            .flops = 2 * c.size() * a.extent(1)};
  }
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return tile::ceil_div(c.extent(0), Ctx::mt) * tile::ceil_div(c.extent(1), Ctx::nt);
  }

  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    index_t const across = tile::ceil_div(c.extent(1), Ctx::nt);
    run_tile(ctx, ctx.tile() / across * Ctx::mt, ctx.tile() % across * Ctx::nt);
  }

  /// The tile whose first element is c(i, j).
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void run_tile(Ctx& ctx, index_t i, index_t j) const {
    auto& s = ctx.template shared<shared<Ctx>>();
    index_t const depth = a.extent(1), steps = tile::ceil_div(depth, Ctx::kt);
    auto&& sums = ctx.zero(s.sums);
    for (index_t step = 0; step < Ctx::stages - 1; ++step) copy(ctx, s, step, steps, i, j);
    for (index_t step = 0; step < steps; ++step) {
      copy(ctx, s, step + Ctx::stages - 1, steps, i, j);
      ctx.template wait<Ctx::stages - 1>();
      ctx.sync();  // every part of the operands has landed
      index_t const left = depth - step * Ctx::kt;
      ctx.mma(sums, s.a[step % Ctx::stages], s.b[step % Ctx::stages], left < Ctx::kt ? left : index_t{Ctx::kt});
      ctx.sync();  // nobody reads the slot that the next copy overwrites
    }
    ctx.store(c, i, j, sums, f);
  }

 private:
  // One group per step, an empty one behind the last, so that `wait` can count groups.
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void copy(Ctx& ctx, shared<Ctx>& s, index_t step, index_t steps, index_t i, index_t j) const {
    if (step < steps) {
      ctx.copy_async(s.a[step % Ctx::stages], a, i, step * Ctx::kt);
      ctx.copy_async(s.b[step % Ctx::stages], b, step * Ctx::kt, j);
    }
    ctx.commit();
  }
};

/// c(r, j) = f(T over the pieces of their sums).
template <class V, class C, class F>
struct combine_pieces_program {
  V const* sums;
  index_t pieces;
  view<C, 2> c;
  F f;

  template <class Ctx>
  struct shared {};
  HEDDLE_FN span work() const {
    return {.operation = "tile_matmul.combine",
            .shape = {c.extent(0), c.extent(1), pieces},
            .bytes = element_bytes(c) + pieces * c.size() * static_cast<index_t>(sizeof(V)),
            .flops = (pieces - 1) * c.size()};
  }
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return c.extent(0);
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    index_t const columns = c.extent(1), all = c.size(), row = ctx.tile();
    C* const to = c.data() + row * c.stride(0);
    ctx.for_each(columns, [=, sums = sums, pieces = pieces, f = f, step = c.stride(1)](index_t j) HEDDLE_LAMBDA {
      V const total = tile::detail::stream_tree<V>(
          pieces, plus<>{}, [=](index_t p) HEDDLE_LAMBDA { return sums[p * all + row * columns + j]; });
      to[j * step] = static_cast<C>(f(total));
    });
  }
};

}  // namespace detail

/// The portable matmul: c = f(a b), from one source on every backend.
///
/// Shapes: a [m, k], b [k, n], c [m, n], all strides free (adjacent columns of c are fast). Types: computed in fp32 for
/// narrow floats, else in the element type. Pre: extents fit; c overlaps neither a nor b; `f` is a tile callable of one
/// argument, trivially copyable. Complexity: 2 m n k flops. Sync: submits. Memory: one block of each operand per
/// worker; above k = 4096 also ceil(k / 4096) m n sums.
/// Determinism: repeatable bits on every backend. Numerics: each sum is one fma chain, k ascending from +0; k is cut at
/// multiples of 4096 into chains that are added along T.
struct tile_matmul_fn {
  template <executor E, matrix_view A, matrix_view B, matrix_view C, class F = tile::pass_fn>
  requires writable_view<C> HEDDLE_FN void operator()(E& exec, A const& a, B const& b, C const& c,
                                                      F const& f = {}) const {
    HEDDLE_EXPECTS(a.extent(0) == c.extent(0) && b.extent(1) == c.extent(1) && a.extent(1) == b.extent(0),
                   "a [m, k] times b [k, n] gives c [m, n]", a.extent(0), a.extent(1), b.extent(0), b.extent(1),
                   c.extent(0), c.extent(1));
    HEDDLE_EXPECTS(c.has_distinct_elements(), "tile_matmul: no element of c may stand twice", c.stride(0), c.stride(1));
    if (c.empty()) return;
    using x = typename A::value_type;
    using y = typename B::value_type;
    using z = typename C::element_type;
    using value = tile::value_t<x>;
    index_t const depth = a.extent(1), pieces = tile::ceil_div(depth, tile::block_elements);
    if (pieces <= 1) {
      tile::run(exec, detail::tile_matmul_program<x, y, z, F>{canonical_input(a), canonical_input(b), canonical(c), f});
      return;
    }
    scratch_frame<E> frame(exec);
    value* const sums = frame.template take<value>(checked_product(pieces, c.size()));
    for (index_t p = 0; p < pieces; ++p) {
      index_t const lo = p * tile::block_elements, hi = p + 1 == pieces ? depth : lo + tile::block_elements;
      view<value, 2> const part(sums + p * c.size(), dims<2>(c.extent(0), c.extent(1)));
      tile::run(exec, detail::tile_matmul_program<x, y, value, tile::pass_fn>{
                          canonical_input(slice(a, 1, lo, hi)), canonical_input(slice(b, 0, lo, hi)), part, {}});
    }
    tile::run(exec, detail::combine_pieces_program<value, z, F>{sums, pieces, canonical(c), f});
  }
};

inline constexpr tile_matmul_fn tile_matmul{};

}  // namespace linalg
}  // namespace heddle
