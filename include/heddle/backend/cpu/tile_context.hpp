// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/backend/cpu/tile_mma.hpp>
#include <heddle/backend/cpu/tile_reduce.hpp>
#include <heddle/backend/reference/tile_context.hpp>
#include <heddle/tile/targets.hpp>

namespace heddle {
namespace tile {

/// The tile operations in vectors of one instruction set; one worker does a whole tile. A tile has a few rows, so
/// that the short dependent steps of one row (trees, scalars) run beside those of the next.
/// Lives only inside functions compiled for `Isa` (tile/targets.hpp). Pre: the columns of every operand are adjacent.
template <class Isa>
class cpu_context : public operand_makers<4, 64> {
  using base = operand_makers<4, 64>;
  template <class... O>
  static constexpr int lanes = detail::lanes_for<Isa, O...>;

 public:
  using isa = Isa;
  using base::rows;
  static constexpr int mt = detail::cpu_mt, nt = detail::cpu_nt, kt = detail::cpu_kt, stages = 1;

  template <class T>
  using column_of = column<T, rows>;
  template <class T, int Columns>
  using tile_of = storage<T, rows, Columns>;

  HEDDLE_SHIM cpu_context(void* shared, index_t tile) : shared_(shared), tile_(tile) {}

  HEDDLE_SHIM index_t tile() const { return tile_; }
  template <class S>
  HEDDLE_SHIM S& shared() const {
    return *static_cast<S*>(shared_);
  }
  HEDDLE_SHIM void sync() const {}

  template <class Out, class F, class... In>
  HEDDLE_SHIM void map_to(Out& out, F f, In const&... in) const {
    constexpr int w = lanes<std::remove_const_t<Out>, In...>;
    for (index_t r = 0; r < out.rows; ++r)
      map_row<w>(detail::row_of(out, r), out.columns_of(r), detail::streams(out), f,
                 detail::reader<Isa, w>(in, r)...);
    if (detail::streams(out)) heddle::detail::stream_fence();
  }
  template <class T, class F, class... In>
  HEDDLE_SHIM void map_to(matrix_ref<T> const& out, F f, In const&... in) const {
    map_to<matrix_ref<T> const>(out, f, in...);
  }

  template <class T, class F, monoid_on<T> M, class... In>
  HEDDLE_SHIM void reduce_of(column_of<T>& c, F f, M const& m, In const&... in) const {
    constexpr int w = lanes<column_of<T>, In...>;
    auto const& shape = detail::shape_of(in...);
    for (index_t r = 0; r < shape.rows; ++r)
      c.at[r] = reduce_row<w>(shape.columns_of(r), m, f, detail::reader<Isa, w>(in, r)...);
  }

  template <class Out, class T, class F, monoid_on<T> M, class... In>
  HEDDLE_SHIM void map_reduce_to(Out& out, column_of<T>& c, F f, M const& m, In const&... in) const {
    constexpr int w = lanes<std::remove_const_t<Out>, column_of<T>, In...>;
    for (index_t r = 0; r < out.rows; ++r)
      c.at[r] = map_reduce_row<w>(detail::row_of(out, r), out.columns_of(r), m, f,
                                  detail::reader<Isa, w>(in, r)...);
  }

  template <class T, int Columns, class In>
  HEDDLE_SHIM void load(tile_of<T, Columns>& s, In const& in) const {
    map(s, pass, in);
  }
  template <class T, int Columns, class F, class... In>
  HEDDLE_SHIM void map(tile_of<T, Columns>& s, F f, In const&... in) const {
    s.take_shape(detail::shape_of(in...));
    map_to(s, f, in...);
  }
  template <class T, int Columns, class F, monoid_on<T> M, class... In>
  HEDDLE_SHIM void map_reduce(tile_of<T, Columns>& s, column_of<T>& c, F f, M const& m, In const&... in) const {
    s.take_shape(detail::shape_of(in...));
    map_reduce_to(s, c, f, m, in...);
  }
  template <class T, int Columns, monoid_on<T> M>
  HEDDLE_SHIM void row_reduce(column_of<T>& c, M const& m, tile_of<T, Columns> const& s) const {
    reduce_of(c, pass, m, s);
  }
  template <matrix_view V, class T, int Columns>
  HEDDLE_SHIM void store(V const& v, index_t i, index_t j, tile_of<T, Columns> const& s) const {
    map_to(ref(v, i, j, s.columns), pass, s);
  }

  template <class T>
  using operand_a = detail::packed_a<T>;
  template <class T>
  using operand_b = detail::packed_b<T>;
  template <class T>
  using accumulator = detail::packed_sums<T>;

  template <class T, matrix_view V>
  HEDDLE_SHIM void copy_async(operand_a<T>& o, V const& a, index_t i, index_t k) const {
    detail::pack_rows<Isa>(o, a, i, k);
  }
  template <class T, matrix_view V>
  HEDDLE_SHIM void copy_async(operand_b<T>& o, V const& b, index_t k, index_t j) const {
    detail::pack_columns<Isa>(o, b, k, j);
  }
  HEDDLE_SHIM void commit() const {}
  template <int N>
  HEDDLE_SHIM void wait() const {}
  template <class T>
  HEDDLE_SHIM accumulator<T>& zero(accumulator<T>& sums) const {
    __builtin_memset(sums.at, 0, sizeof sums.at);
    return sums;
  }
  template <class T>
  HEDDLE_SHIM void mma(accumulator<T>& sums, operand_a<T> const& a, operand_b<T> const& b, index_t depth) const {
    detail::multiply_packed<Isa>(sums, a, b, depth);
  }
  template <matrix_view V, class T, class F, class... In>
  HEDDLE_SHIM void store(V const& v, index_t i, index_t j, accumulator<T> const& sums, F f, In const&... in) const {
    using shape = detail::micro_shape<Isa, T>;
    index_t const m = detail::smaller(v.extent(0) - i, mt), n = detail::smaller(v.extent(1) - j, nt);
    for (index_t r = 0; r < m; ++r)
      store_sums_row(v.data() + ((i + r) * v.stride(0) + j), sums.at + shape::row_offset(r), n, f,
                     detail::reader<Isa, shape::lanes>(in, r)...);
  }

  template <class T>
  HEDDLE_SHIM void fill(column_of<T>& c, T value) const {
    for (int r = 0; r < rows; ++r) c.at[r] = value;
  }
  template <class T, class F, class... Column>
  HEDDLE_SHIM void map(column_of<T>& c, F f, Column const&... columns) const {
    using V = detail::lanes_vec<Isa, T, rows>;
    f(detail::lanes_vec<Isa, typename Column::element, rows>::load(columns.at)...).store(c.at);
    static_assert(V::width == rows);
  }
  template <class T, vector_view V>
  HEDDLE_SHIM void load(column_of<T>& c, V const& v, index_t i) const {
    index_t const n = v.extent(0) - i < rows ? v.extent(0) - i : index_t{rows};
    for (index_t r = 0; r < n; ++r) c.at[r] = widen(v.data()[(i + r) * v.stride(0)]);
  }
  template <vector_view V, class T>
  HEDDLE_SHIM void store(V const& v, index_t i, column_of<T> const& c) const {
    index_t const n = v.extent(0) - i < rows ? v.extent(0) - i : index_t{rows};
    for (index_t r = 0; r < n; ++r) v.data()[(i + r) * v.stride(0)] = static_cast<typename V::element_type>(c.at[r]);
  }

  template <class T, monoid_on<T> M>
  HEDDLE_SHIM T column_reduce(column_of<T> const& c, M const& m, index_t count) const {
    T values[rows];
    for (index_t r = 0; r < count; ++r) values[r] = c.at[r];
    return detail::combine_tree(values, count, heddle::detail::combine_with<M>{m});
  }
  template <class T, monoid_on<T> M>
  HEDDLE_SHIM T tree_reduce(T* values, index_t n, M const& m) const {
    return detail::combine_tree(values, n, heddle::detail::combine_with<M>{m});
  }

  template <vector_view V, class F, monoid M, class... In>
  HEDDLE_SHIM void reduce_strip(V const& v, index_t j, F f, M const& m, In const&... in) const {
    using T = typename M::value_type;
    constexpr int w = detail::lanes_for<Isa, column_of<T>, In...>;
    heddle::detail::combine_with<M> const op{m};
    auto const& shape = detail::shape_of(in...);
    for (index_t c = 0; c < shape.columns; c += w) {
      index_t const n = shape.columns - c < w ? shape.columns - c : index_t{w};
      using L = detail::lanes_vec<Isa, T, w>;
      // The rows of a block go to 64 accumulators in turn, which is the canonical order of each column.
      L const sum = detail::reduce_elements(shape.rows, L::splat(m.identity()), op, [&](index_t r) HEDDLE_LAMBDA {
        return f(detail::reader<Isa, w>(in, r).part(c, n)...);
      });
      store_as(v.data() + (j + c), sum, n);
    }
  }

  template <class T, class V>
  HEDDLE_SHIM void store_scalar(T* to, V value) const {
    *to = static_cast<T>(value);
  }
  template <class F>
  HEDDLE_SHIM void for_each(index_t n, F f) const {
    for (index_t i = 0; i < n; ++i) f(i);
  }

 private:
  template <class O, class T, class F, class... Reader>
  static HEDDLE_SHIM void store_sums_row(O* out, T const* sums, index_t n, F f, Reader const&... in) {
    using shape = detail::micro_shape<Isa, T>;
    using V = typename shape::vector;
    for (index_t c = 0; c < n; c += V::width)
      store_as(out + c, f(V::load(sums + shape::column_offset(c)), in.part(c, n - c)...), n - c);
  }
  template <int W, class T, class F, class... Reader>
  static HEDDLE_SHIM void map_row(T* out, index_t n, bool stream, F f, Reader const&... in) {
    // Streamed stores begin at a line; what lies before it is a row by itself.
    index_t const head = stream ? detail::smaller(detail::elements_to_line(out), n) : 0;
    for (index_t c = 0, end = head; c < n; end = n) {
      for (; c + 2 * W <= end; c += 2 * W) {
        detail::put_lanes(out + c, f(in.at(c)...), stream && end == n);
        detail::put_lanes(out + c + W, f(in.at(c + W)...), stream && end == n);
      }
      for (; c < end; c += W) store_as(out + c, f(in.part(c, end - c)...), end - c);
      c = end;
    }
  }
  template <int W, monoid M, class F, class... Reader>
  static HEDDLE_SHIM typename M::value_type reduce_row(index_t n, M const& m, F f, Reader const&... in) {
    return detail::reduce_row_lanes<detail::lanes_vec<Isa, typename M::value_type, W>>(
        n, m.identity(), heddle::detail::combine_with<M>{m}, [&](index_t c) HEDDLE_LAMBDA { return f(in.at(c)...); },
        [&](index_t c, index_t left) HEDDLE_LAMBDA { return f(in.part(c, left)...); });
  }
  template <int W, class O, monoid M, class F, class... Reader>
  static HEDDLE_SHIM typename M::value_type map_reduce_row(O* out, index_t n, M const& m, F f, Reader const&... in) {
    return detail::reduce_row_lanes<detail::lanes_vec<Isa, typename M::value_type, W>>(
        n, m.identity(), heddle::detail::combine_with<M>{m},
        [&](index_t c) HEDDLE_LAMBDA {
          auto const value = f(in.at(c)...);
          store_as(out + c, value);
          return value;
        },
        [&](index_t c, index_t left) HEDDLE_LAMBDA {
          auto const value = f(in.part(c, left)...);
          store_as(out + c, value, left);
          return value;
        });
  }

  void* shared_;
  index_t tile_;
};

static_assert(tile_context<cpu_context<isa_tag<isa::baseline>>>);

namespace detail {

template <class Program>
struct cpu_tile {
  Program const& program;
  template <class Isa>
  HEDDLE_SHIM void operator()(Isa, void* const& shared, index_t const& first, index_t const& end) const {
    for (index_t tile = first; tile < end; ++tile) {
      cpu_context<Isa> ctx(shared, tile);
      program(ctx);
    }
  }
};

struct cpu_body {
  template <class, class Program>
  static HEDDLE_FN void run(Program const& program, void* shared, index_t first, index_t end) {
    dispatch_isa(cpu_tile<Program>{program}, shared, first, end);
  }
};

}  // namespace detail
}  // namespace tile

template <>
struct kernel<tile::run_fn, cpu_tag> {
  template <class Executor, class Program>
  static HEDDLE_FN void run(Executor& exec, Program const& program) {
    // The memory of a program is the same for every instruction set.
    using context = tile::cpu_context<isa_tag<isa::baseline>>;
    if constexpr (tile::detail::knows_vectors<Program>)
      if (tile::detail::runs_in_vectors(program))
        return tile::detail::run_on_workers<context, tile::detail::cpu_body>(exec, program);
    tile::detail::run_on_workers<tile::reference_context, tile::detail::reference_body>(exec, program);
  }
};

}  // namespace heddle
