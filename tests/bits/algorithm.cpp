// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bits.hpp"

#include <heddle/algorithm/reduce.hpp>
#include <heddle/algorithm/rfft.hpp>
#include <heddle/algorithm/scan.hpp>
#include <heddle/algorithm/sparse.hpp>
#include <heddle/algorithm/stencil.hpp>
#include <heddle/backend/cpu/fft.hpp>
#include <heddle/backend/cpu/sparse.hpp>
#include <heddle/backend/cpu/stencil.hpp>
#include <heddle/backend/cpu/tile_context.hpp>

namespace {

using namespace heddle;
using test::array;

test::section const numeric_section("algorithm.numeric", [] {
  threads_executor exec(test::threads);
  index_t const rows = 60, columns = 97, last = 5000;  // lengths 0 to 58, and one row of two blocks
  std::vector<std::int32_t> offsets = {0}, places;
  for (index_t r = 0; r < rows; ++r)
    offsets.push_back(offsets.back() + static_cast<std::int32_t>(r + 1 == rows ? last : r));
  index_t const entries = offsets.back();
  for (index_t e = 0; e < entries; ++e) places.push_back(static_cast<std::int32_t>(test::random_below(5, e, columns)));
  dims<1> const one_column(columns), one_row(rows);
  array<float, 1> values(dims<1>(entries), 1), x(one_column, 2), y(one_row);
  array<double, 1> wide_values(dims<1>(entries), 1), wide_x(one_column, 2), wide_y(one_row);
  array<float, 2> b(dims<2>(columns, 21), 3), c(dims<2>(rows, 21)), heat(dims<2>(columns, 21));
  view<std::int32_t const, 1> const starts(offsets.data(), dims<1>(rows + 1)), at(places.data(), dims<1>(entries));
  csr_view<float, std::int32_t> const a{starts, at, values.v, columns};
  spmv(exec, a, x.v, y.v);
  spmv(exec, csr_view<double, std::int32_t>{starts, at, wide_values.v, columns}, wide_x.v, wide_y.v);
  spmm(exec, a, b.v, c.v);
  stencil(
      exec, b.v, heat.v, 2,
      [](auto const& n) HEDDLE_LAMBDA { return fma(n(-1, 2), n(1, -2), n(0, 0) - n(2, 0)); }, clamp_edge{});
  exec.synchronize();
  test::print_bits("algorithm.spmv.f32", y);
  test::print_bits("algorithm.spmv.f64", wide_y);
  test::print_bits("algorithm.spmm.f32", c);
  test::print_bits("algorithm.stencil.f32", heat);
});

template <class T>
void print_transform(char const* operation, char const* real_operation, index_t n) {
  threads_executor exec(test::threads);
  dims<1> const pair(2 * n), one(n), part(2 * (n / 2 + 1));
  array<T, 1> x(pair, 1), y(pair), real(one), half(part);
  auto const pairs = [](array<T, 1>& of) {
    return view<complex<T>, 1>(reinterpret_cast<complex<T>*>(of.data.data()), dims<1>(of.v.extent(0) / 2));
  };
  fft_plan<T> const plan(n);
  rfft_plan<T> const real_plan(n);
  fft(exec, plan, pairs(x), pairs(y));
  ifft(exec, plan, pairs(y), pairs(y));
  rfft(exec, real_plan, slice(x.v, 0, 0, n), pairs(half));
  irfft(exec, real_plan, pairs(half), real.v);
  exec.synchronize();
  test::print_bits(operation, y);
  test::print_bits(real_operation, real);
}

test::section const transform_section("algorithm.transforms", [] {
  print_transform<float>("algorithm.fft.f32.1024", "algorithm.rfft.f32.1024", 1024);
  print_transform<float>("algorithm.fft.f32.210", "algorithm.rfft.f32.210", 210);
  print_transform<float>("algorithm.fft.f32.74", "algorithm.rfft.f32.74", 74);
  print_transform<double>("algorithm.fft.f64.45", "algorithm.rfft.f64.45", 45);
  print_transform<double>("algorithm.fft.f64.968", "algorithm.rfft.f64.968", 968);
});

test::section const algorithm_section("algorithm", [] {
  threads_executor exec(test::threads);
  dims<1> const n(3 * 4096 + 77), one(1);  // blocks, and an odd rest
  array<float, 1> x(n, 1), running(n), total(one), square(one);
  reduce(exec, x.v, total.v, plus<float>{});
  transform_reduce(
      exec, square.v, plus<float>{}, [](auto const& v) HEDDLE_LAMBDA { return mul(v, v); }, x.v);
  inclusive_scan(exec, x.v, running.v, plus<float>{});
  exec.synchronize();
  test::print_bits("algorithm.reduce.f32", total);
  test::print_bits("algorithm.transform_reduce.f32", square);
  test::print_bits("algorithm.inclusive_scan.f32", running);
});

}  // namespace
