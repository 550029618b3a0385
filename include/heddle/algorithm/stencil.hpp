// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/algorithm/detail/halo_source.hpp>
#include <heddle/core/overlap.hpp>
#include <heddle/tile/run.hpp>
#include <heddle/tile/vec.hpp>

namespace heddle {

/// The elements around one element of a view of T, or around as many as V has lanes: what a stencil's callable gets.
///
/// Types: V a number or a vec; of narrow floats, float. Pre of every call: no offset is above the stencil's radius.
template <class V, class T = V>
class neighbourhood {
 public:
  HEDDLE_HD_FN neighbourhood(detail::halo_source<T> const& source, index_t z, index_t y, index_t x)
      : source_(&source), z_(z), y_(y), x_(x) {}

  HEDDLE_HD_FN V operator()(index_t dx) const { return (*this)(0, 0, dx); }
  HEDDLE_HD_FN V operator()(index_t dy, index_t dx) const { return (*this)(0, dy, dx); }
  HEDDLE_HD_FN V operator()(index_t dz, index_t dy, index_t dx) const {
    HEDDLE_ASSERT(abs(dz) <= source_->radius && abs(dy) <= source_->radius && abs(dx) <= source_->radius,
                  "a stencil must not look beyond its radius", dz, dy, dx, source_->radius);
    return source_->at(z_ + dz, y_ + dy, x_ + dx);
  }

 private:
  detail::halo_source<T> const* source_;
  index_t z_, y_, x_;
};

/// Vectors, for places whose whole surroundings exist and lie side by side.
template <class T, int W, int R, class S>
class neighbourhood<vec<T, W, R>, S> {
  using V = vec<T, W, R>;

 public:
  HEDDLE_TILE neighbourhood(S const* centre, index_t z_step, index_t y_step)
      : centre_(centre), z_step_(z_step), y_step_(y_step) {}

  HEDDLE_TILE V operator()(index_t dx) const { return load_as<V>(centre_ + dx); }
  HEDDLE_TILE V operator()(index_t dy, index_t dx) const { return load_as<V>(centre_ + (dy * y_step_ + dx)); }
  HEDDLE_TILE V operator()(index_t dz, index_t dy, index_t dx) const {
    return load_as<V>(centre_ + (dz * z_step_ + dy * y_step_ + dx));
  }

 private:
  S const* centre_;
  index_t z_step_, y_step_;
};

/// What stands outside a view: one value; the nearest element; the view again.
template <class T>
struct constant_edge {
  T value;
};
struct clamp_edge {};
struct periodic_edge {};
/// Elements nearer to an end than the radius are copied, and f never looks outside.
struct copied_edge {};

namespace detail {

template <class T>
struct edge_rule {
  edge_kind kind;
  T value;
};
template <class T, class U>
HEDDLE_FN edge_rule<T> edge_rule_of(constant_edge<U> const& e) {
  return {edge_kind::constant, static_cast<T>(e.value)};
}
template <class T>
HEDDLE_FN edge_rule<T> edge_rule_of(clamp_edge const&) {
  return {edge_kind::clamp, T()};
}
template <class T>
HEDDLE_FN edge_rule<T> edge_rule_of(periodic_edge const&) {
  return {edge_kind::periodic, T()};
}
template <class T>
HEDDLE_FN edge_rule<T> edge_rule_of(copied_edge const&) {
  return {edge_kind::copied, T()};
}

/// Operands of a stencil, always in three dimensions; a view of fewer has sizes 1 in front.
template <class In, class Out, class F>
struct stencil_work {
  using number = tile::value_t<In>;
  using input = In;
  using output = Out;
  static constexpr index_t columns_of_tile = 8192, elements_of_tile = 8192;

  halo_source<In> in;
  Out* out;
  index_t step[3];  // of out
  F f;

  HEDDLE_HD_FN index_t chunks() const { return tile::ceil_div(in.size[2], columns_of_tile); }
  HEDDLE_HD_FN index_t rows() const { return in.size[0] * in.size[1]; }
  HEDDLE_HD_FN index_t rows_of_tile() const {
    index_t const n = elements_of_tile / in.size[2];
    return n < 1 ? 1 : n;
  }
  HEDDLE_HD_FN index_t tile_count() const { return chunks() * tile::ceil_div(rows(), rows_of_tile()); }
  HEDDLE_HD_FN Out& result(index_t z, index_t y, index_t x) const {
    return out[z * step[0] + y * step[1] + x * step[2]];
  }
  /// One element, wherever it is.
  HEDDLE_DEVICE_PASS_QUIET
  HEDDLE_TILE void put(index_t z, index_t y, index_t x) const {
    if (in.kind == edge_kind::copied && !in.inside(z, y, x))
      result(z, y, x) = static_cast<Out>(tile::widen(in.element(z, y, x)));
    else
      result(z, y, x) = static_cast<Out>(f(neighbourhood<number, In>(in, z, y, x)));
  }
};

template <class Work>
struct stencil_program {
  using plain = void;

  Work w;

  template <class Ctx>
  struct shared {};
  HEDDLE_FN span work() const {
    index_t const n = w.rows() * w.in.size[2];
    return {.operation = "stencil",
            .shape = {w.in.size[0], w.in.size[1], w.in.size[2]},
            .bytes = n * static_cast<index_t>(sizeof(typename Work::input) + sizeof(typename Work::output))};
  }
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return w.tile_count();
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    index_t const first = ctx.tile() % w.chunks() * Work::columns_of_tile,
                  row = ctx.tile() / w.chunks() * w.rows_of_tile();
    index_t const n = tile::detail::smaller(w.in.size[2] - first, Work::columns_of_tile);
    index_t const rows = tile::detail::smaller(w.rows() - row, w.rows_of_tile());
    ctx.for_each(rows * n, [&o = w, row, first, n](index_t i) {
      index_t const r = row + i / n;
      o.put(r / o.in.size[1], r % o.in.size[1], first + i % n);
    });
  }
};

}  // namespace detail

/// out(i) = f(n), where n gives the elements around in(i): n(dx) of a vector, n(dy, dx) of a matrix, n(dz, dy, dx) of
/// three dimensions; n(0, 0) is the element itself.
///
/// Shapes: in and out of one shape, rank 1 to 3, strides free (adjacent elements are fast). Types: any; f gets narrow
/// floats as float and its result is rounded once. Pre: f asks no farther than `radius` in any dimension, is trivially
/// copyable and pure; the views don't overlap. An f that takes any type (`auto const&`, HEDDLE_LAMBDA) is called with
/// vectors and follows the rules of docs/tile.md; one that takes `neighbourhood<T>` is called with numbers.
/// `edge` says what stands outside: constant_edge{value}, clamp_edge{}, periodic_edge{}; copied_edge{}: f is called
/// only where all elements within the radius exist, and the others are copied. Errors: contract_error; how far f asks
/// is looked at where contracts are 2. Complexity: one call an element. Sync: submits. Determinism: element-wise.
struct stencil_fn {
  template <executor E, any_view In, writable_view Out, class F, class Edge>
    requires(In::rank() == Out::rank() && In::rank() >= 1 && In::rank() <= 3)
  HEDDLE_FN void operator()(E& exec, In const& in, Out const& out, index_t radius, F const& f, Edge const& edge) const {
    using T = typename In::value_type;
    HEDDLE_EXPECTS(in.extents() == out.extents(), "a stencil keeps the extents", in.size(), out.size());
    HEDDLE_EXPECTS(radius >= 0, "a radius must not be negative", radius);
    expect_apart("stencil", out, in);
    if (in.empty()) return;
    auto const rule = detail::edge_rule_of<tile::value_t<T>>(edge);
    detail::stencil_work<T, typename Out::element_type, F> w{
        {in.data(), {1, 1, 1}, {0, 0, 0}, radius, In::rank(), rule.kind, rule.value}, out.data(), {0, 0, 0}, f};
    for (std::size_t d = 0; d < In::rank(); ++d) {
      std::size_t const to = d + 3 - In::rank();
      w.in.size[to] = in.extent(d), w.in.step[to] = in.stride(d), w.step[to] = out.stride(d);
    }
    run_kernel<stencil_fn>(exec, w);
  }

  // The form of backends that have none of their own.
  template <executor E, class Work>
  static HEDDLE_FN void generic(E& exec, Work const& w) {
    tile::run(exec, detail::stencil_program<Work>{w});
  }
};
inline constexpr stencil_fn stencil{};

}  // namespace heddle
