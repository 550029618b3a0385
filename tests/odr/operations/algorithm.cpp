// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/algorithm/balanced_for.hpp>
#include <heddle/algorithm/compact.hpp>
#include <heddle/algorithm/coo.hpp>
#include <heddle/algorithm/copy.hpp>
#include <heddle/algorithm/for_each.hpp>
#include <heddle/algorithm/histogram.hpp>
#include <heddle/algorithm/partition_by_key.hpp>
#include <heddle/algorithm/reduce.hpp>
#include <heddle/algorithm/rfft.hpp>
#include <heddle/algorithm/scan.hpp>
#include <heddle/algorithm/scatter.hpp>
#include <heddle/algorithm/search.hpp>
#include <heddle/algorithm/segmented.hpp>
#include <heddle/algorithm/segmented_sort.hpp>
#include <heddle/algorithm/sort_by.hpp>
#include <heddle/algorithm/sparse.hpp>
#include <heddle/algorithm/stencil.hpp>
#include <heddle/algorithm/top_k.hpp>
#include <heddle/algorithm/transform.hpp>
#include <heddle/algorithm/views.hpp>
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
struct listed {
  int row, column;
  float value;
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
  transform(
      exec, y, [](auto const& a, auto const& b) HEDDLE_LAMBDA { return heddle::exp(a + b); }, x, h);
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
  listed const list[] = {{1, 0, 2.0f}, {0, 1, 3.0f}};
  std::int64_t list_offsets[3], list_columns[2];
  coo_to_csr(exec, view<listed const, 1>(list, dims<1>(2)), view<std::int64_t, 1>(list_offsets, dims<1>(3)),
             view<std::int64_t, 1>(list_columns, dims<1>(2)), slice(y, 0, 0, 2));
  stencil(exec, x, y, 1, [](auto const& n) HEDDLE_LAMBDA { return n(-1) + n(1); }, periodic_edge{});
  stencil(exec, m, m, 0, [](neighbourhood<float> const& n) { return n(0, 0); }, constant_edge<float>{0});
  fft_plan<float> const plan(4);
  view<complex<float>, 1> const z(reinterpret_cast<complex<float>*>(memory), dims<1>(4));
  fft(exec, plan, z, z);
  ifft(exec, fft_plan<float>(4), z, z);
  rfft_plan<float> const real(6);
  rfft(exec, real, slice(y, 0, 0, 6), z);
  irfft(exec, real, z, slice(y, 0, 0, 6));
  copy(exec, views::map([](auto const& a) HEDDLE_LAMBDA { return a + a; }, views::gather(x, views::iota(8))), y);
  transform(exec, y, [](auto const& p) { return p.first; }, views::zip(x, h));
  view<std::int64_t, 1> const places(reinterpret_cast<std::int64_t*>(wide), dims<1>(1));
  view<std::int32_t, 1> const at(reinterpret_cast<std::int32_t*>(memory + 16), dims<1>(8));
  heddle::sort(exec, x, y);
  sort_pairs(exec, h, h, x, y);
  sort_by(exec, x, y, [](float a, float b) { return b < a; });
  argsort(exec, x, at);
  argsort(exec, x, at, [](float a, float b) { return b < a; });
  merge(exec, x, view<float, 1>(memory, dims<1>(0)), y);
  lower_bound(exec, x, y, at);
  find_if(exec, x, places, [](float a) { return a > 1; });
  max_element(exec, x, places);
  top_k(exec, m, m, view<std::int32_t, 2>(at.data(), dims<2>(2, 4)));
  select_kth(exec, x, 3, view<float, 1>(memory, dims<1>(1)));
}

void count_and_select(float* memory, index_t* counts, int* keys) {
  reference_executor exec;
  view<float, 1> const x(memory, dims<1>(8)), y(memory + 8, dims<1>(8));
  view<int, 1> const k(keys, dims<1>(8)), places(keys + 8, dims<1>(8));
  view<index_t, 1> const c(counts, dims<1>(4)), offsets(counts + 4, dims<1>(5)), one(counts + 9, dims<1>(1)),
      three(counts + 10, dims<1>(3)), lengths(counts + 13, dims<1>(8));
  histogram(exec, x, 0.0f, 1.0f, c, three);
  histogram(exec, k, 0, 9, c);
  histogram_by(exec, k, c, one);
  partition_by_key(exec, k, c, offsets, places, one);
  auto const positive = [](float a) { return a > 0; };
  select_if(exec, x, y, one, positive);
  select_flagged(exec, x, k, y, one);
  select_indices(exec, x, places, one, positive);
  partition(exec, x, y, one, positive);
  unique(exec, x, y, one);
  run_length_encode(exec, x, y, lengths, one);
  scatter_elements(exec, x, k, y);
  segmented_reduce(exec, x, offsets, view<float, 1>(memory + 8, dims<1>(4)), plus<float>{});
  segmented_inclusive_scan(exec, x, offsets, y, plus<float>{});
  segmented_exclusive_scan(exec, x, offsets, y, maximum<float>{});
  segmented_sort(exec, x, offsets, y);
  segmented_sort_pairs(exec, x, offsets, y, k, places);
}
