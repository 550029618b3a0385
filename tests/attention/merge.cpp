// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/attention/merge.hpp>

#include "problems.hpp"

using namespace heddle;
using namespace heddle::test;
namespace at = heddle::attention;

TEMPLATE_LIST_TEST_CASE("merged parts equal the whole", "[attention]", executor_cases) {
  TestType setup;
  auto& exec = setup.exec;
  shape const s{9, 40, 4, 2, 16, 5};
  problem<float> whole(s), left(s), right(s);
  index_t const cut = 33, offset = 31;
  at::options<> o{.query_offset = offset};
  whole.forward(exec, o);
  auto const k = whole.k.rows(), v = whole.v.rows();
  at::forward(exec, whole.q.rows(), slice(k, 0, 0, cut), slice(v, 0, 0, cut), left.out.rows(), left.lse.numbers(), o);
  at::options<> rest{.query_offset = offset - cut};
  at::forward(exec, whole.q.rows(), slice(k, 0, cut, 40), slice(v, 0, cut, 40), right.out.rows(), right.lse.numbers(),
              rest);
  problem<float> swapped(s);
  at::merge(exec, right.out.rows(), right.lse.numbers(), left.out.rows(), left.lse.numbers(), swapped.out.rows(),
            swapped.lse.numbers());
  at::merge(exec, left.out.rows(), left.lse.numbers(), right.out.rows(), right.lse.numbers(), left.out.rows(),
            left.lse.numbers());
  exec.synchronize();
  REQUIRE(same_bits(left.out, swapped.out));
  REQUIRE(same_bits(left.lse, swapped.lse));
  double worst = 0, worst_lse = 0;
  for (std::size_t i = 0; i < whole.out.data.size(); ++i)
    worst = std::max(worst, std::fabs(double(whole.out.data[i]) - double(left.out.data[i])));
  for (std::size_t i = 0; i < whole.lse.data.size(); ++i)
    worst_lse = std::max(worst_lse, std::fabs(double(whole.lse.data[i]) - double(left.lse.data[i])));
  REQUIRE(worst <= 1e-6 * 2);
  REQUIRE(worst_lse <= 4e-6);
}

TEMPLATE_LIST_TEST_CASE("a side without keys is not read", "[attention]", executor_cases) {
  TestType setup;
  auto& exec = setup.exec;
  array<float> a(2, 1, 3), b(2, 1, 3), out(2, 1, 3), lse_a(1, 2), lse_b(1, 2), lse(1, 2);
  b.fill(1);
  lse_a(0, 0) = lse_a(0, 1) = lse_b(0, 1) = static_cast<float>(-inf);
  lse_b(0, 0) = 0.75f;
  at::merge(exec, a.rows(), lse_a.numbers(), b.rows(), lse_b.numbers(), out.rows(), lse.numbers());
  exec.synchronize();
  for (index_t d = 0; d < 3; ++d) {
    REQUIRE(out(0, 0, d) == b(0, 0, d));
    REQUIRE(out(1, 0, d) == 0);
  }
  REQUIRE(lse(0, 0) == 0.75f);
  REQUIRE(lse(0, 1) == static_cast<float>(-inf));
  array<float> wrong(2, 2, 3);
  REQUIRE_THROWS_AS(
      at::merge(exec, a.rows(), lse_a.numbers(), wrong.rows(), lse_b.numbers(), out.rows(), lse.numbers()),
      contract_error);
}
