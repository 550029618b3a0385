// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/algorithm/detail/settled.hpp>
#include <heddle/algorithm/transform.hpp>
#include <heddle/core/monoid.hpp>
#include <heddle/tile/canonical.hpp>

namespace heddle {

namespace detail {

/// One result per block of 4096 elements.
template <class M, class F, class... In>
struct reduce_blocks_program : plain_unless<is_lanewise<M> && takes_lanes<F, In...>> {
  using value = typename M::value_type;
  static constexpr bool lanes = is_lanewise<M> && takes_lanes<F, In...>;

  M m;
  F f;
  view<value, 1> results;
  index_t n;
  row_layouts<In const...> in;

  HEDDLE_FN reduce_blocks_program(M const& monoid, F const& call, view<value, 1> const& to, index_t count,
                                  row_layouts<In const...> const& operands)
      : m(monoid), f(call), results(to), n(count), in(operands) {}

  template <class Ctx>
  struct columns {
    typename Ctx::template column_of<value> sum;
  };
  struct nothing {};
  template <class Ctx>
  struct shared : std::conditional_t<lanes, columns<Ctx>, nothing> {};

  HEDDLE_FN bool unit_columns() const { return in.unit_columns(); }
  HEDDLE_FN span work() const {
    return {.operation = "reduce.blocks",
            .shape = {n},
            .bytes = in.bytes() + element_bytes(results),
            .flops = n * (1 + tile::flops_of<F>)};
  }
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return tile::ceil_div(results.extent(0), Ctx::rows);
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    index_t const at = ctx.tile() * Ctx::rows;
    in.template with<Ctx>(at, visit_rows<reduce_blocks_program, Ctx>{*this, ctx, at});
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx, class... Ref>
  HEDDLE_TILE void visit(Ctx& ctx, index_t at, Ref const&... refs) const {
    if constexpr (lanes) {
      auto& s = ctx.template shared<shared<Ctx>>();
      ctx.reduce_of(s.sum, f, m, refs...);
      ctx.store(results, at, s.sum);
    } else {
      index_t const left = results.extent(0) - at;
      auto const& shape = tile::detail::shape_of(refs...);
      ctx.for_each(left < Ctx::rows ? left : index_t{Ctx::rows}, [&](index_t r) {
        results.data()[(at + r) * results.stride(0)] = block_of(shape.columns_of(r), r, refs...);
      });
    }
  }

 private:
  // Lanes may change places; an order that must be kept is a fold from the first element on.
  HEDDLE_DEVICE_PASS_QUIET
  template <class... Ref>
  HEDDLE_HD_FN value block_of(index_t count, index_t r, Ref const&... refs) const {
    auto const at = [&](index_t e) { return static_cast<value>(f(tile::detail::element_of(refs, r, e)...)); };
    if constexpr (M::commutative) {
      return tile::detail::reduce_block<value>(count, m.identity(), combine_with<M>{m}, at);
    } else {
      value v = at(0);
      for (index_t e = 1; e < count; ++e) v = m.combine(v, at(e));
      return v;
    }
  }
};

/// result = init + T over the results of the blocks.
template <class M, class R>
struct reduce_results_program {
  using value = typename M::value_type;
  using plain = void;

  M m;
  value* results;
  index_t blocks;
  R* to;
  value init;
  bool has_init;

  template <class Ctx>
  struct shared {};
  HEDDLE_FN span work() const {
    return {.operation = "reduce",
            .shape = {blocks},
            .bytes = blocks * static_cast<index_t>(sizeof(value)) + static_cast<index_t>(sizeof(R)),
            .flops = blocks};
  }
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return 1;
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    value total = blocks > 0 ? ctx.tree_reduce(results, blocks, m) : has_init ? init : m.identity();
    if (blocks > 0 && has_init) total = m.combine(init, total);
    ctx.store_scalar(to, settled(total));
  }
};

template <class V, class M>
concept result_view = writable_view<V> && std::convertible_to<typename M::value_type, typename V::value_type>;

template <class First, class... Rest>
HEDDLE_FN First const& first_of(First const& first, Rest const&...) {
  return first;
}

template <executor E, class R, class M, class F, class... In>
HEDDLE_FN void reduce_to(E& exec, R const& result, M const& m, typename M::value_type const* init, F const& f,
                         In const&... in) {
  using value = typename M::value_type;
  HEDDLE_EXPECTS(result.size() == 1, "a reduction writes one element", result.size());
  expect_apart("reduce", result, in...);
  auto const& first = first_of(in...);
  bool const equal = ((in.extents() == first.extents()) && ...);
  HEDDLE_EXPECTS(equal, "the operands of a reduction have one shape", in.size()...);
  index_t const n = first.size(), blocks = tile::ceil_div(n, tile::block_elements);
  scratch_frame<E> frame(exec);
  value* const results = frame.template take<value>(blocks);
  if (blocks > 0)
    tile::run(exec, reduce_blocks_program<M, F, operand_t<In>...>(
                        m, f, view<value, 1>(results, dims<1>(blocks)), n,
                        make_row_layouts(true, tile::block_elements, in...)));
  tile::run(exec, reduce_results_program<M, typename R::element_type>{m, results, blocks, result.data(),
                                                                      init ? *init : m.identity(), init != nullptr});
}

// An element as a value of the monoid.
template <class T>
struct as_value {
  static constexpr index_t flops = 0;
  HEDDLE_DEVICE_PASS_QUIET
  template <class V>
  HEDDLE_TILE auto operator()(V const& v) const {
    if constexpr (std::is_same_v<lane_t<V>, T> || !arithmetic<T>)
      return v;
    else
      return convert<T>(v);
  }
};

}  // namespace detail

/// result = in[0] + in[1] + ..., with the monoid's combine.
///
/// Shapes: in a vector, lazy ones included, or a contiguous matrix read row by row; result a view of one element.
/// Types: the monoid's value type is the accumulator; elements convert to it, narrow floats by way of float. Pre:
/// `init`, if given, has exactly the value type. Post: n = 0 gives init, else the identity. Complexity: n combinations.
/// Sync: submits; `read` fetches the result. Memory: one value per 4096 elements, of the arena. Determinism: the same
/// bits on every backend and for any number of workers: blocks of 4096, the canonical lanes (tile/canonical.hpp) where
/// the monoid is commutative, a fold in element order where not, T over the blocks, init on the left. Numerics: a NaN
/// result is the canonical NaN.
struct reduce_fn {
  template <executor E, input_view In, monoid M, detail::result_view<M> R>
  HEDDLE_FN void operator()(E& exec, In const& in, R const& result, M const& m) const {
    check(in);
    detail::reduce_to(exec, result, m, nullptr, detail::as_value<typename M::value_type>{}, in);
  }
  template <executor E, input_view In, monoid M, detail::result_view<M> R, std::same_as<typename M::value_type> Init>
  HEDDLE_FN void operator()(E& exec, In const& in, R const& result, M const& m, Init const& init) const {
    check(in);
    detail::reduce_to(exec, result, m, &init, detail::as_value<typename M::value_type>{}, in);
  }

 private:
  template <input_view In>
  static HEDDLE_FN void check(In const& in) {
    HEDDLE_EXPECTS(In::rank() == 1 || in.is_contiguous(), "reduce takes a vector or contiguous memory", in.size());
  }
};

/// result = f(in[0]...) + f(in[1]...) + ..., in one pass. As reduce; f as for transform, with results of the monoid's
/// value type.
struct transform_reduce_fn {
  template <executor E, monoid M, detail::result_view<M> R, class F, input_view... In>
    requires(sizeof...(In) >= 1)
  HEDDLE_FN void operator()(E& exec, R const& result, M const& m, F const& f, In const&... in) const {
    bool const readable = ((In::rank() == 1 || in.is_contiguous()) && ...);
    HEDDLE_EXPECTS(readable, "transform_reduce takes vectors or contiguous memory", in.size()...);
    detail::reduce_to(exec, result, m, nullptr, f, in...);
  }
};

inline constexpr reduce_fn reduce{};
inline constexpr transform_reduce_fn transform_reduce{};

}  // namespace heddle
