// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/simt/block_mma.hpp>
#include <heddle/simt/block_reduce.hpp>
#include <heddle/tile/context.hpp>

namespace heddle {
namespace simt {

/// The tile operations by one thread block: a warp for each row, adjacent columns in adjacent threads.
///
/// One definition for the simulator and for CUDA. An operation on rows ends with a barrier of its warp, one on the
/// whole tile with a barrier of the block, so that the next operation sees its values.
template <class Block>
class block_tile_context : public tile::operand_makers<8, 64>, public block_mma<Block> {
  using makers = tile::operand_makers<8, 64>;
  using block_mma<Block>::block;

 public:
  using block_mma<Block>::store;
  using makers::rows;
  using makers::strip;
  static constexpr int threads = rows * warp_size;
  /// What the context itself needs of the shared memory, behind that of the program.
  static constexpr int context_bytes = threads * 8;

  template <class T>
  using column_of = tile::column<T, rows>;
  template <class T, int Columns>
  using tile_of = tile::storage<T, rows, Columns>;

  HEDDLE_DEVICE_PASS_QUIET
  HEDDLE_HD_FN block_tile_context(Block const& b, index_t program_bytes)
      : block_mma<Block>(b), program_bytes_(program_bytes) {}

  HEDDLE_DEVICE_PASS_QUIET
  HEDDLE_HD_FN index_t tile() const { return block.block(); }
  HEDDLE_DEVICE_PASS_QUIET
  template <class S>
  HEDDLE_HD_FN S& shared() const {
    return *reinterpret_cast<S*>(block.shared());
  }
  HEDDLE_DEVICE_PASS_QUIET
  HEDDLE_HD_FN void sync() { block.sync(); }

  HEDDLE_DEVICE_PASS_QUIET
  template <class Out, class F, class... In>
  HEDDLE_HD_FN void map_to(Out& out, F f, In const&... in) {
    index_t const r = block.warp();
    if (r < out.rows)
      for (index_t c = block.lane(), n = out.columns_of(r); c < n; c += warp_size)
        tile::detail::put_element(out, r, c, f(tile::detail::element_of(in, r, c)...));
    block.sync_warp();
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class T, class F, class... In>
  HEDDLE_HD_FN void map_to(tile::matrix_ref<T> const& out, F f, In const&... in) {
    map_to<tile::matrix_ref<T> const>(out, f, in...);
  }

  HEDDLE_DEVICE_PASS_QUIET
  template <class T, class F, monoid_on<T> M, class... In>
  HEDDLE_HD_FN void reduce_of(column_of<T>& c, F f, M const& m, In const&... in) {
    auto const& shape = tile::detail::shape_of(in...);
    index_t const r = block.warp();
    if (r < shape.rows)
      put(c, detail::reduce_row_warp(block, shape.columns_of(r), m.identity(), heddle::detail::combine_with<M>{m},
                                     [&](index_t e) { return f(tile::detail::element_of(in, r, e)...); }));
    block.sync_warp();
  }

  HEDDLE_DEVICE_PASS_QUIET
  template <class Out, class T, class F, monoid_on<T> M, class... In>
  HEDDLE_HD_FN void map_reduce_to(Out& out, column_of<T>& c, F f, M const& m, In const&... in) {
    index_t const r = block.warp();
    if (r < out.rows)
      put(c, detail::reduce_row_warp(block, out.columns_of(r), m.identity(), heddle::detail::combine_with<M>{m},
                                     [&](index_t e) {
                                       T const value = f(tile::detail::element_of(in, r, e)...);
                                       tile::detail::put_element(out, r, e, value);
                                       return value;
                                     }));
    block.sync_warp();
  }

  HEDDLE_DEVICE_PASS_QUIET
  template <class T, int Columns, class In>
  HEDDLE_HD_FN void load(tile_of<T, Columns>& s, In const& in) {
    map(s, tile::pass_fn{}, in);
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class T, int Columns, class F, class... In>
  HEDDLE_HD_FN void map(tile_of<T, Columns>& s, F f, In const&... in) {
    take_shape(s, tile::detail::shape_of(in...));
    map_to(s, f, in...);
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class T, int Columns, class F, monoid_on<T> M, class... In>
  HEDDLE_HD_FN void map_reduce(tile_of<T, Columns>& s, column_of<T>& c, F f, M const& m, In const&... in) {
    take_shape(s, tile::detail::shape_of(in...));
    map_reduce_to(s, c, f, m, in...);
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class T, int Columns, monoid_on<T> M>
  HEDDLE_HD_FN void row_reduce(column_of<T>& c, M const& m, tile_of<T, Columns> const& s) {
    reduce_of(c, tile::pass_fn{}, m, s);
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <matrix_view V, class T, int Columns>
  HEDDLE_HD_FN void store(V const& v, index_t i, index_t j, tile_of<T, Columns> const& s) {
    map_to(makers::ref(v, i, j, s.columns), tile::pass_fn{}, s);
  }

  HEDDLE_DEVICE_PASS_QUIET
  template <class T>
  HEDDLE_HD_FN void fill(column_of<T>& c, T value) {
    put(c, value);
    block.sync_warp();
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class T, class F, class... Column>
  HEDDLE_HD_FN void map(column_of<T>& c, F f, Column const&... columns) {
    if (block.lane() == 0) c.at[block.warp()] = f(columns.at[block.warp()]...);
    block.sync_warp();
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class T, vector_view V>
  HEDDLE_HD_FN void load(column_of<T>& c, V const& v, index_t i) {
    index_t const r = i + block.warp();
    if (r < v.extent(0)) put(c, tile::widen(v.data()[r * v.stride(0)]));
    block.sync_warp();
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <vector_view V, class T>
  HEDDLE_HD_FN void store(V const& v, index_t i, column_of<T> const& c) {
    index_t const r = i + block.warp();
    if (block.lane() == 0 && r < v.extent(0))
      v.data()[r * v.stride(0)] = static_cast<typename V::element_type>(c.at[block.warp()]);
    block.sync_warp();
  }

  HEDDLE_DEVICE_PASS_QUIET
  template <class T, monoid_on<T> M>
  HEDDLE_HD_FN T column_reduce(column_of<T> const& c, M const& m, index_t count) {
    block.sync();
    T values[rows];
    for (index_t r = 0; r < count; ++r) values[r] = c.at[r];
    T const result = tile::detail::combine_tree(values, count, heddle::detail::combine_with<M>{m});
    block.sync();
    return result;
  }
  /// Every thread gets the result.
  HEDDLE_DEVICE_PASS_QUIET
  template <class T, monoid_on<T> M>
  HEDDLE_HD_FN T tree_reduce(T* values, index_t n, M const& m) {
    index_t q = 1;
    while (2 * q <= n) q *= 2;
    index_t const folded = n - q;
    block.sync();
    // A pass of the block reads ahead of what it writes, and a barrier parts the two.
    for (index_t base = 0; folded > 0 && base < q; base += threads) {
      index_t const i = base + block.thread();
      T v{};
      if (i < folded)
        v = m.combine(values[2 * i], values[2 * i + 1]);
      else if (i < q)
        v = values[i + folded];
      block.sync();
      if (i < q) values[i] = v;
      block.sync();
    }
    for (q /= 2; q > 0; q /= 2)
      for (index_t base = 0; base < q; base += threads) {
        index_t const i = base + block.thread();
        T v{};
        if (i < q) v = m.combine(values[2 * i], values[2 * i + 1]);
        block.sync();
        if (i < q) values[i] = v;
        block.sync();
      }
    return values[0];
  }

  /// Four threads for each column, each with 16 of the 64 lanes.
  HEDDLE_DEVICE_PASS_QUIET
  template <vector_view V, class F, monoid M, class... In>
  HEDDLE_HD_FN void reduce_strip(V const& v, index_t j, F f, M const& m, In const&... in) {
    using T = typename M::value_type;
    heddle::detail::combine_with<M> const op{m};
    auto const& shape = tile::detail::shape_of(in...);
    index_t const c = block.thread() % strip, quarter = block.thread() / strip;
    index_t const blocks = shape.rows <= tile::block_elements ? 1 : tile::ceil_div(shape.rows, tile::block_elements);
    T* const parts = reinterpret_cast<T*>(block.shared() + program_bytes_);
    T const sum = tile::detail::stream_tree<T>(blocks, op, [&](index_t b) {
      index_t const left = shape.rows - b * tile::block_elements;
      index_t const end = left < tile::block_elements ? left : index_t{tile::block_elements};
      T lanes[16];
      for (T& lane : lanes) lane = m.identity();
      if (c < shape.columns)
        for (index_t r0 = quarter * 16; r0 < end; r0 += tile::lane_count)
          for (index_t k = 0; k < 16 && r0 + k < end; ++k)
            lanes[k] = op(lanes[k], f(tile::detail::element_of(in, b * tile::block_elements + r0 + k, c)...));
      block.sync();
      parts[block.thread()] = tile::detail::combine_tree(lanes, 16, op);
      block.sync();
      return op(op(parts[c], parts[c + strip]), op(parts[c + 2 * strip], parts[c + 3 * strip]));
    });
    if (quarter == 0 && c < shape.columns) v.data()[(j + c) * v.stride(0)] = static_cast<typename V::element_type>(sum);
    block.sync();
  }

  HEDDLE_DEVICE_PASS_QUIET
  template <class T, class V>
  HEDDLE_HD_FN void store_scalar(T* to, V value) {
    if (block.thread() == 0) *to = static_cast<T>(value);
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class F>
  HEDDLE_HD_FN void for_each(index_t n, F f) {
    for (index_t i = block.thread(); i < n; i += threads) f(i);
    block.sync();
  }

 private:
  HEDDLE_DEVICE_PASS_QUIET
  template <class T>
  HEDDLE_HD_FN void put(column_of<T>& c, T value) const {
    if (block.lane() == 0) c.at[block.warp()] = value;
  }
  // The block barriers keep the shape of an operation in progress, and show the new one to every warp.
  HEDDLE_DEVICE_PASS_QUIET
  template <class Tile, class Shape>
  HEDDLE_HD_FN void take_shape(Tile& s, Shape const& shape) {
    tile::row_shape const now{shape.rows, shape.columns, shape.last_columns};
    block.sync();
    if (block.thread() == 0) s.take_shape(now);
    block.sync();
  }
  index_t program_bytes_;
};

}  // namespace simt
}  // namespace heddle
