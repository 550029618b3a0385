// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// @file
/// Attention without running it: its scratch, flops and bytes from shapes alone.

#include "problems.hpp"

#include <heddle/attention/decode.hpp>
#include <heddle/backend/cpu/attention_decode.hpp>
#include <heddle/exec/plan.hpp>

using namespace heddle;
using namespace heddle::test;
namespace at = heddle::attention;

TEMPLATE_LIST_TEST_CASE("attention is planned from shapes and takes what the plan says", "[attention]",
                        executor_cases) {
  TestType setup;
  auto& exec = setup.exec;
  exec.scratch().guard(false);  // plans don't count guards
  shape const s{70, 150, 4, 2, 9, 11};
  view<float, 3> const q(nullptr, dims<3>(70, 4, 9)), k(nullptr, dims<3>(150, 2, 9)), v(nullptr, dims<3>(150, 2, 11)),
      out(nullptr, dims<3>(70, 4, 11));
  view<float, 2> const lse(nullptr, dims<2>(4, 70));
  work_plan const forward = plan(exec, [&] { at::forward(exec, q, k, v, out, lse); });
  work_plan const backward = plan(exec, [&] { at::backward(exec, q, k, v, out, lse, out, q, k, v); });
  REQUIRE(forward.flops == 2 * 4 * (9 + 11) * 70 * 150);
  REQUIRE(backward.flops == 4 * (8 * 9 + 6 * 11) * 70 * 150);
  REQUIRE(forward.bytes_moved == 4 * (70 * 4 + 150 * 2) * (9 + 11));
  REQUIRE(backward.bytes_moved == 2 * forward.bytes_moved);
  std::size_t const most = std::max(forward.scratch_bytes, backward.scratch_bytes);
  exec.scratch().reserve(most);
  std::size_t const reserved = exec.scratch().capacity();
  problem<float> p(s);
  p.forward(exec, at::options<>{});
  REQUIRE(exec.scratch().high_water() == forward.scratch_bytes);
  p.backward(exec, at::options<>{});
  REQUIRE(exec.scratch().high_water() == most);
  REQUIRE(exec.scratch().capacity() == reserved);
}

TEMPLATE_LIST_TEST_CASE("decode is planned from shapes and takes what the plan says", "[attention]", executor_cases) {
  TestType setup;
  auto& exec = setup.exec;
  exec.scratch().guard(false);  // plans don't count guards
  problem<float> p(shape{2, 2100, 4, 2, 9, 11});
  auto const q = p.q.rows(), k = p.k.rows(), v = p.v.rows(), out = p.out.rows();
  work_plan const planned = plan(exec, [&] { at::decode(exec, q, k, v, out, p.lse.numbers()); });
  REQUIRE(planned.flops == 2 * 4 * (9 + 11) * 2 * 2100);
  REQUIRE(planned.bytes_moved == 4 * (2 * 4 + 2100 * 2) * (9 + 11));
  at::decode(exec, q, k, v, out, p.lse.numbers());
  exec.synchronize();
  REQUIRE(exec.scratch().high_water() == planned.scratch_bytes);
}
