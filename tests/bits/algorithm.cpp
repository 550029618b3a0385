// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bits.hpp"

#include <heddle/algorithm/reduce.hpp>
#include <heddle/algorithm/scan.hpp>
#include <heddle/backend/cpu/tile_context.hpp>

namespace {

using namespace heddle;
using test::array;

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
