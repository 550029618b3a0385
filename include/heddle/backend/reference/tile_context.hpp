// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/tile/canonical.hpp>
#include <heddle/tile/run.hpp>

namespace heddle {
namespace tile {

/// The tile operations as plain loops over elements: the definition of what they mean.
/// Also the path of operands whose columns are not adjacent.
class reference_context : public operand_makers<3, 5> {
 public:
  static constexpr int mt = 5, nt = 7, kt = 6, stages = 1;

  template <class T>
  using column_of = column<T, rows>;
  template <class T, int Columns>
  using tile_of = storage<T, rows, Columns>;

  HEDDLE_FN reference_context(void* shared, index_t tile) : shared_(shared), tile_(tile) {}

  HEDDLE_FN index_t tile() const { return tile_; }
  template <class S>
  HEDDLE_FN S& shared() const {
    return *static_cast<S*>(shared_);
  }
  HEDDLE_FN void sync() const {}

  /// out(r, c) = f(in(r, c)...).
  template <class Out, class F, class... In>
  HEDDLE_FN void map_to(Out& out, F f, In const&... in) const {
    for (index_t r = 0; r < out.rows; ++r)
      for (index_t c = 0; c < out.columns_of(r); ++c)
        detail::put_element(out, r, c, f(detail::element_of(in, r, c)...));
  }
  template <class T, class F, class... In>
  HEDDLE_FN void map_to(matrix_ref<T> const& out, F f, In const&... in) const {
    map_to<matrix_ref<T> const>(out, f, in...);
  }

  /// c[r] = f(in(r, c)...) over all columns, combined by the monoid.
  template <class T, class F, monoid_on<T> M, class... In>
  HEDDLE_FN void reduce_of(column_of<T>& c, F f, M const& m, In const&... in) const {
    auto const& shape = detail::shape_of(in...);
    for (index_t r = 0; r < shape.rows; ++r)
      c.at[r] = detail::reduce_elements<T>(shape.columns_of(r), m.identity(), heddle::detail::combine_with<M>{m},
                                           [&](index_t e) { return f(detail::element_of(in, r, e)...); });
  }

  /// Both at once: what is reduced is the value before it is rounded to the element of `out`.
  template <class Out, class T, class F, monoid_on<T> M, class... In>
  HEDDLE_FN void map_reduce_to(Out& out, column_of<T>& c, F f, M const& m, In const&... in) const {
    for (index_t r = 0; r < out.rows; ++r)
      c.at[r] = detail::reduce_elements(out.columns_of(r), m.identity(), heddle::detail::combine_with<M>{m},
                                        [&](index_t e) {
                                          T const value = f(detail::element_of(in, r, e)...);
                                          detail::put_element(out, r, e, value);
                                          return value;
                                        });
  }

  template <class T, int Columns, class In>
  HEDDLE_FN void load(tile_of<T, Columns>& s, In const& in) const {
    map(s, pass, in);
  }
  template <class T, int Columns, class F, class... In>
  HEDDLE_FN void map(tile_of<T, Columns>& s, F f, In const&... in) const {
    s.take_shape(detail::shape_of(in...));
    map_to(s, f, in...);
  }
  template <class T, int Columns, class F, monoid_on<T> M, class... In>
  HEDDLE_FN void map_reduce(tile_of<T, Columns>& s, column_of<T>& c, F f, M const& m, In const&... in) const {
    s.take_shape(detail::shape_of(in...));
    map_reduce_to(s, c, f, m, in...);
  }
  template <class T, int Columns, monoid_on<T> M>
  HEDDLE_FN void row_reduce(column_of<T>& c, M const& m, tile_of<T, Columns> const& s) const {
    reduce_of(c, pass, m, s);
  }
  template <matrix_view V, class T, int Columns>
  HEDDLE_FN void store(V const& v, index_t i, index_t j, tile_of<T, Columns> const& s) const {
    map_to(ref(v, i, j, s.columns), pass, s);
  }

  template <class T>
  struct operand_a {
    T at[mt][kt];
    index_t rows;
  };
  template <class T>
  struct operand_b {
    T at[kt][nt];
    index_t columns;
  };
  template <class T>
  struct accumulator {
    using element = T;
    T at[mt][nt];
  };

  /// Rows [i, i + mt) and depth [k, k + kt) of a, cut at its ends.
  template <class T, matrix_view V>
  HEDDLE_FN void copy_async(operand_a<T>& o, V const& a, index_t i, index_t k) const {
    o.rows = detail::smaller(a.extent(0) - i, mt);
    for (index_t r = 0; r < o.rows; ++r)
      for (index_t d = 0; d < kt && k + d < a.extent(1); ++d) o.at[r][d] = widen(a(i + r, k + d));
  }
  /// Depth [k, k + kt) and columns [j, j + nt) of b, cut at its ends.
  template <class T, matrix_view V>
  HEDDLE_FN void copy_async(operand_b<T>& o, V const& b, index_t k, index_t j) const {
    o.columns = detail::smaller(b.extent(1) - j, nt);
    for (index_t d = 0; d < kt && k + d < b.extent(0); ++d)
      for (index_t c = 0; c < o.columns; ++c) o.at[d][c] = widen(b(k + d, j + c));
  }
  HEDDLE_FN void commit() const {}
  template <int N>
  HEDDLE_FN void wait() const {}

  /// Starts sums at +0, in the memory given, and returns a handle on them.
  template <class T>
  HEDDLE_FN accumulator<T>& zero(accumulator<T>& sums) const {
    for (auto& row : sums.at)
      for (T& v : row) v = T(0);
    return sums;
  }
  /// sums(r, c) = fma(a(r, d), b(d, c), sums(r, c)) for d ascending in [0, depth).
  template <class T>
  HEDDLE_FN void mma(accumulator<T>& sums, operand_a<T> const& a, operand_b<T> const& b, index_t depth) const {
    for (index_t r = 0; r < a.rows; ++r)
      for (index_t c = 0; c < b.columns; ++c)
        for (index_t d = 0; d < depth; ++d) sums.at[r][c] = fma(a.at[r][d], b.at[d][c], sums.at[r][c]);
  }
  /// v(i + r, j + c) = f(sums(r, c), in(r, c)...), cut at the ends of v.
  template <matrix_view V, class T, class F, class... In>
  HEDDLE_FN void store(V const& v, index_t i, index_t j, accumulator<T> const& sums, F f, In const&... in) const {
    for (index_t r = 0; r < mt && i + r < v.extent(0); ++r)
      for (index_t c = 0; c < nt && j + c < v.extent(1); ++c)
        v(i + r, j + c) = static_cast<typename V::element_type>(f(sums.at[r][c], detail::element_of(in, r, c)...));
  }

  template <class T>
  HEDDLE_FN void fill(column_of<T>& c, T value) const {
    for (int r = 0; r < rows; ++r) c.at[r] = value;
  }
  /// c[r] = f(columns[r]...), for every row that a tile can have.
  template <class T, class F, class... Column>
  HEDDLE_FN void map(column_of<T>& c, F f, Column const&... columns) const {
    for (int r = 0; r < rows; ++r) c.at[r] = f(columns.at[r]...);
  }
  template <class T, vector_view V>
  HEDDLE_FN void load(column_of<T>& c, V const& v, index_t i) const {
    for (index_t r = 0; r < rows && i + r < v.extent(0); ++r) c.at[r] = widen(v(i + r));
  }
  template <vector_view V, class T>
  HEDDLE_FN void store(V const& v, index_t i, column_of<T> const& c) const {
    for (index_t r = 0; r < rows && i + r < v.extent(0); ++r) v(i + r) = static_cast<typename V::element_type>(c.at[r]);
  }

  /// The first `count` values of a column along T(count). Pre: 1 <= count <= rows.
  template <class T, monoid_on<T> M>
  HEDDLE_FN T column_reduce(column_of<T> const& c, M const& m, index_t count) const {
    T values[rows];
    for (index_t r = 0; r < count; ++r) values[r] = c.at[r];
    return detail::combine_tree(values, count, heddle::detail::combine_with<M>{m});
  }
  /// values[0, n) along T(n); overwrites them. Pre: n >= 1.
  template <class T, monoid_on<T> M>
  HEDDLE_FN T tree_reduce(T* values, index_t n, M const& m) const {
    return detail::combine_tree(values, n, heddle::detail::combine_with<M>{m});
  }
  /// v(j + c) = f(in(r, c)...) over all rows, combined by the monoid in the canonical order of the rows.
  template <vector_view V, class F, monoid M, class... In>
  HEDDLE_FN void reduce_strip(V const& v, index_t j, F f, M const& m, In const&... in) const {
    heddle::detail::combine_with<M> const op{m};
    auto const& shape = detail::shape_of(in...);
    for (index_t c = 0; c < shape.columns; ++c)
      v(j + c) = static_cast<typename V::element_type>(detail::reduce_elements(
          shape.rows, m.identity(), op, [&](index_t r) { return f(detail::element_of(in, r, c)...); }));
  }

  template <class T, class V>
  HEDDLE_FN void store_scalar(T* to, V value) const {
    *to = static_cast<T>(value);
  }
  /// Calls f(i) for every i in [0, n), in any order and perhaps at once.
  template <class F>
  HEDDLE_FN void for_each(index_t n, F f) const {
    for (index_t i = 0; i < n; ++i) f(i);
  }

 private:
  void* shared_;
  index_t tile_;
};

static_assert(tile_context<reference_context>);

namespace detail {
struct reference_body {
  template <class Ctx, class Program>
  static HEDDLE_FN void run(Program const& program, void* shared, index_t first, index_t end) {
    for (index_t tile = first; tile < end; ++tile) {
      Ctx ctx(shared, tile);
      program(ctx);
    }
  }
};
}  // namespace detail
}  // namespace tile

template <>
struct kernel<tile::run_fn, reference_tag> {
  template <class Executor, class Program>
  static HEDDLE_FN void run(Executor& exec, Program const& program) {
    tile::detail::run_on_workers<tile::reference_context, tile::detail::reference_body>(exec, program);
  }
};

}  // namespace heddle
