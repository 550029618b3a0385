// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/algorithm/copy.hpp>
#include <heddle/algorithm/for_each.hpp>
#include <heddle/algorithm/reduce.hpp>
#include <heddle/algorithm/scan.hpp>
#include <heddle/algorithm/search.hpp>
#include <heddle/algorithm/sort_by.hpp>
#include <heddle/algorithm/top_k.hpp>
#include <heddle/algorithm/transform.hpp>
#include <heddle/backend/reference/tile_context.hpp>
#include <heddle/core/bf16.hpp>
#include <heddle/core/math.hpp>
#include <heddle/exec/reference_executor.hpp>

using namespace heddle;

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
