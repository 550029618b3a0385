// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/algorithm/balanced_for.hpp>
#include <heddle/algorithm/copy.hpp>
#include <heddle/algorithm/for_each.hpp>
#include <heddle/algorithm/reduce.hpp>
#include <heddle/algorithm/rfft.hpp>
#include <heddle/algorithm/scan.hpp>
#include <heddle/algorithm/sparse.hpp>
#include <heddle/algorithm/stencil.hpp>
#include <heddle/algorithm/transform.hpp>
#include <heddle/backend/reference/tile_context.hpp>
#include <heddle/core/bf16.hpp>
#include <heddle/core/math.hpp>
#include <heddle/exec/reference_executor.hpp>

using namespace heddle;

namespace {
struct counting {
  float* to;
  void begin(index_t segment) { to[segment] = 0; }
  void item(index_t segment, index_t, index_t) { to[segment] += 1; }
  void end(index_t) {}
};
}  // namespace

void use_algorithm(float* memory, bf16* half, double* wide) {
  reference_executor exec;
  view<float, 1> const x(memory, dims<1>(8)), y(memory + 8, dims<1>(8));
  view<bf16, 1> const h(half, dims<1>(8));
  view<double, 1> const sum_of(wide, dims<1>(1));
  view<float, 2> const m(memory, dims<2>(2, 4));
  for_each(exec, 8, [=](index_t i) { x(i) += 1; });
  copy(exec, m, m);
  copy(exec, h, x);
  transform(exec, y, [](auto const& a, auto const& b) HEDDLE_LAMBDA { return heddle::exp(a + b); }, x, h);
  transform(exec, y, [](float a) { return a + heddle::pow(a, 2.0f); }, x);
  reduce(exec, x, sum_of, plus<double>{});
  reduce(exec, x, sum_of, maximum<float>{}, 1.0f);
  transform_reduce(exec, sum_of, minimum<float>{}, [](float a, float b) { return a * b; }, x, y);
  inclusive_scan(exec, x, y, plus<float>{});
  inclusive_scan(exec, x, y, multiplies<float>{}, 1.0f);
  exclusive_scan(exec, x, y, monoid_of{0.0f, [](float a, float b) { return a + b; }});
  exclusive_scan(exec, x, y, maximum<float>{}, 0.0f);
  std::int64_t const offsets[] = {0, 3, 8};
  view<std::int64_t const, 1> const o(offsets, dims<1>(3));
  balanced_for(exec, o, segment_mapped{}, counting{memory});
  balanced_for(exec, o, merge_path{}, counting{memory});
  balanced_for(exec, o, lpt{}, counting{memory});
  std::int32_t const columns[] = {0, 1, 2, 3, 4, 5, 6, 7}, starts[] = {0, 3, 8};
  csr_view<float, std::int32_t> const a{view<std::int32_t const, 1>(starts, dims<1>(3)),
                                        view<std::int32_t const, 1>(columns, dims<1>(8)), x, 8};
  if (check(a)) spmv(exec, a, y, slice(x, 0, 0, 2));
  spmm(exec, a, view<float, 2>(memory, dims<2>(8, 1)), view<float, 2>(memory + 8, dims<2>(2, 1)));
  stencil(exec, x, y, 1, [](auto const& n) HEDDLE_LAMBDA { return n(-1) + n(1); }, periodic_edge{});
  stencil(exec, m, m, 0, [](neighbourhood<float> const& n) { return n(0, 0); }, constant_edge<float>{0});
  fft_plan<float> const plan(4);
  view<complex<float>, 1> const z(reinterpret_cast<complex<float>*>(memory), dims<1>(4));
  fft(exec, plan, z, z);
  ifft(exec, fft_plan<float>(4), z, z);
  rfft_plan<float> const real(6);
  rfft(exec, real, slice(y, 0, 0, 6), z);
  irfft(exec, real, z, slice(y, 0, 0, 6));
}
