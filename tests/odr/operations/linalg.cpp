// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/backend/cpu/grouped_matmul.hpp>
#include <heddle/backend/cpu/matmul.hpp>
#include <heddle/backend/cpu/matmul_row_statistics.hpp>
#include <heddle/backend/cpu/matmul_swiglu.hpp>
#include <heddle/backend/cpu/tile_context.hpp>
#include <heddle/backend/reference/matmul.hpp>
#include <heddle/core/bf16.hpp>
#include <heddle/exec/reference_executor.hpp>
#include <heddle/exec/serial_executor.hpp>
#include <heddle/linalg/dequantize.hpp>
#include <heddle/linalg/gemv.hpp>
#include <heddle/linalg/packed_operand.hpp>
#include <heddle/linalg/quantise.hpp>
#include <heddle/linalg/tile_matmul.hpp>

using namespace heddle;

template <class Executor, class T>
static void multiply(T const* in, float* out) {
  Executor exec;
  view<T const, 2> const a(in, dims<2>(4, 4));
  view<float, 2> const c(out, dims<2>(4, 4));
  matmul(exec, a, transpose(a), c, {.alpha = 2, .beta = 1});
  matmul(exec, a, a, c, {}, epilogue::then{epilogue::add_bias{out}, epilogue::add_residual{out, 4}});
  gemv(exec, a, select(a, 0, 0), select(c, 0, 0));
  matmul(exec, a, a, c, {.order = order_policy::elastic},
         epilogue::bias(out) | epilogue::scale{2} | epilogue::residual(a) | epilogue::gate(a));
  index_t const offsets[] = {0, 1, 4};
  view<index_t const, 1> const cuts(offsets, dims<1>(3));
  view<T const, 3> const b(in, dims<3>(2, 4, 4), 0, 4, 1);
  view<float, 3> const w(out, dims<3>(2, 4, 4));
  grouped_matmul(exec, a, b, cuts, c);
  grouped_matmul_weight(exec, a, a, cuts, w);
}

template <class Executor, class A, class T, class C>
static void multiply_packed(A const* a, T const* b, C* out) {
  Executor exec;
  alignas(64) static unsigned char memory[1 << 14];
  view<T const, 2> const right(b, dims<2>(4, 4));
  packed_operand<T> const packed = pack(exec, right, view<unsigned char, 1>(memory, dims<1>(sizeof memory)));
  view<C, 2> const c(out, dims<2>(4, 4));
  matmul(exec, view<A const, 2>(a, dims<2>(4, 4)), packed, c);
  matmul(exec, view<A const, 2>(a, dims<2>(4, 4)), right, c);
}

template <class Executor>
static void multiply_codes(bf16 const* half, float* out) {
  Executor exec;
  static std::uint8_t const codes[8] = {};
  static fp8_e4m3 const bytes[16] = {};
  view<bf16 const, 2> const a(half, dims<2>(4, 4));
  view<float, 2> const c(out, dims<2>(4, 4));
  matmul(exec, a, block_int4<float>(codes, out, 4, 4, 32), c, {.strict = true});
  matmul(exec, a, view<fp8_e4m3 const, 2>(bytes, dims<2>(4, 4)), c, {}, epilogue::dequantize{out, out});
}

template <class Executor>
static void multiply_fused(view<float const, 2> const& a, float* out) {
  Executor exec;
  static std::int8_t small[16] = {};
  view<float, 1> const v(out, dims<1>(4));
  row_statistics const to{v, v, v};
  matmul_row_statistics(exec, a, a, view<float, 2>(out, dims<2>(4, 4)), to);
  compute_row_statistics(exec, a, to);
  matmul_swiglu(exec, a, a, view<float, 2>(out, dims<2>(4, 2)));
  interleave_columns(exec, a, a, view<float, 2>(out, dims<2>(4, 8)));
  matmul(exec, a, a, view<std::int8_t, 2>(small, dims<2>(4, 4)), {}, epilogue::quantise_rows{out});
  matmul(exec, a, a, view<std::int8_t, 2>(small, dims<2>(4, 4)), {}, epilogue::quantise{2});
}

void use_linalg(float const* in, bf16 const* half, float* out) {
  static std::int8_t const bytes[16] = {};
  static std::uint8_t const levels[16] = {};
  multiply_packed<reference_executor>(half, half, out);
  multiply_packed<serial_executor>(half, half, out);
  multiply_packed<serial_executor>(in, in, out);
  multiply_packed<serial_executor>(levels, bytes, out);
  multiply_packed<serial_executor>(bytes, bytes, reinterpret_cast<std::int32_t*>(out));
  multiply_codes<serial_executor>(half, out);
  multiply_codes<reference_executor>(half, out);
  multiply<reference_executor>(in, out);
  multiply<reference_executor>(half, out);
  multiply<serial_executor>(in, out);
  reference_executor exec;
  view<float const, 2> const a(in, dims<2>(4, 4));
  linalg::tile_matmul(exec, a, a, view<float, 2>(out, dims<2>(4, 4)));
  multiply_fused<reference_executor>(a, out);
  multiply_fused<serial_executor>(a, out);
}
