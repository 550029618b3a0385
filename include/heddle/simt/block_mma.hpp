// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/simt/block_context.hpp>
#include <heddle/tile/operand.hpp>

namespace heddle {
namespace simt {

/// The matmul operations of block_tile_context: operands in shared memory, sums in the registers of 256 threads, four
/// by four each, one fma chain per sum.
template <class Block>
class block_mma {
 public:
  static constexpr int mt = 64, nt = 64, kt = 16, stages = 2;

  // One more column keeps threads that write down a column in different banks.
  template <class T>
  struct operand_a {
    T at[kt][mt + 1];
  };
  template <class T>
  struct operand_b {
    T at[kt][nt];
  };
  /// Nothing: the sums live in registers.
  template <class T>
  struct accumulator {
    using element = T;
  };
  template <class T>
  struct sums {
    T at[4][4];
  };

  HEDDLE_DEVICE_PASS_QUIET
  HEDDLE_HD_FN explicit block_mma(Block const& b) : block(b) {}

  HEDDLE_DEVICE_PASS_QUIET
  template <class T, matrix_view V>
  HEDDLE_HD_FN void copy_async(operand_a<T>& o, V const& a, index_t i, index_t k) {
    index_t const d = block.thread() % kt;
    for (index_t r = block.thread() / kt; r < mt; r += threads / kt) copy_one(o.at[d][r], a, i + r, k + d);
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class T, matrix_view V>
  HEDDLE_HD_FN void copy_async(operand_b<T>& o, V const& b, index_t k, index_t j) {
    index_t const c = block.thread() % nt;
    for (index_t d = block.thread() / nt; d < kt; d += threads / nt) copy_one(o.at[d][c], b, k + d, j + c);
  }
  HEDDLE_DEVICE_PASS_QUIET
  HEDDLE_HD_FN void commit() { block.commit(); }
  HEDDLE_DEVICE_PASS_QUIET
  template <int N>
  HEDDLE_HD_FN void wait() {
    block.template wait<N>();
  }

  HEDDLE_DEVICE_PASS_QUIET
  template <class T>
  HEDDLE_HD_FN sums<T> zero(accumulator<T>&) const {
    sums<T> s;
    for (auto& row : s.at)
      for (T& v : row) v = T(0);
    return s;
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class T>
  HEDDLE_HD_FN void mma(sums<T>& s, operand_a<T> const& a, operand_b<T> const& b, index_t depth) const {
    int const row = block.thread() / 16 * 4, column = block.thread() % 16;
    for (index_t d = 0; d < depth; ++d) {
      T x[4], y[4];
      for (int p = 0; p < 4; ++p) {
        x[p] = a.at[d][row + p];
        y[p] = b.at[d][column + 16 * p];
      }
      for (int p = 0; p < 4; ++p)
        for (int q = 0; q < 4; ++q) s.at[p][q] = heddle::fma(x[p], y[q], s.at[p][q]);
    }
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <matrix_view V, class T, class F, class... In>
  HEDDLE_HD_FN void store(V const& v, index_t i, index_t j, sums<T> const& s, F f, In const&... in) const {
    int const row = block.thread() / 16 * 4, column = block.thread() % 16;
    for (int p = 0; p < 4; ++p)
      for (int q = 0; q < 4; ++q) {
        index_t const r = row + p, c = column + 16 * q;
        if (i + r < v.extent(0) && j + c < v.extent(1))
          v.data()[(i + r) * v.stride(0) + (j + c) * v.stride(1)] =
              static_cast<typename V::element_type>(f(s.at[p][q], tile::detail::element_of(in, r, c)...));
      }
  }

 protected:
  Block block;

 private:
  static constexpr int threads = 256;

  // Outside the matrix a zero is stored, so that sums nobody keeps stay finite.
  HEDDLE_DEVICE_PASS_QUIET
  template <class T, matrix_view V>
  HEDDLE_HD_FN void copy_one(T& to, V const& v, index_t row, index_t column) {
    if (row >= v.extent(0) || column >= v.extent(1)) {
      to = T(0);
      return;
    }
    auto const* from = v.data() + (row * v.stride(0) + column * v.stride(1));
    if constexpr (std::is_same_v<T, typename V::value_type>)
      block.copy_async(&to, from);
    else
      to = tile::widen(*from);
  }
};

}  // namespace simt
}  // namespace heddle
