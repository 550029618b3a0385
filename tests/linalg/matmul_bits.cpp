// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "products.hpp"

#include <heddle/backend/cpu/matmul_kernel.hpp>
#include <heddle/backend/cpu/matmul_pack.hpp>
#include <heddle/backend/cpu/matmul_rows.hpp>
#include <heddle/tile/targets.hpp>

using namespace heddle;

namespace {

// Large enough that every way to cut and pack a product is taken on this or that executor.
constexpr index_t sizes[][3] = {{1, 1500, 40}, {3, 1100, 4100}, {40, 3, 700}, {61, 130, 300},
                                {200, 65, 70}, {45, 530, 520},  {15, 40, 9000}};

template <class T, class C>
void require_same_everywhere(index_t m, index_t n, index_t k) {
  for (int which = 0; which < 4; which += test::stride) {
    test::product_problem const p = test::transposed({1, m, n, k}, which);
    INFO(test::text_of(p));
    reference_executor oracle;
    std::vector<C> const right = test::product_of<T, C>(oracle, p);
    test::for_each_isa([&](isa set) {
      for (int threads : test::sampled<int>({1, 2, 3, 5})) {
        INFO(name(set) << ", " << threads << " threads");
        threads_executor exec(threads);
        exec.scratch().poison(true);
        REQUIRE(test::same_bits(test::product_of<T, C>(exec, p), right));
      }
    });
  }
}

}  // namespace

TEST_CASE("matmul: the same bits for every instruction set and number of threads", "[linalg]") {
  for (auto const& s : sizes) require_same_everywhere<float, float>(s[0], s[1], s[2]);
}

TEST_CASE("matmul in double: the same bits for every instruction set and number of threads", "[linalg]") {
  for (auto const& s : {dims<3>(3, 300, 70), dims<3>(33, 65, 129), dims<3>(30, 2, 4100)})
    require_same_everywhere<double, double>(s[0], s[1], s[2]);
}

TEST_CASE("matmul of narrow floats: the same bits for every instruction set and number of threads", "[linalg]") {
  for (auto const& s : {dims<3>(3, 300, 70), dims<3>(33, 65, 129), dims<3>(30, 2, 4100)}) {
    require_same_everywhere<bf16, bf16>(s[0], s[1], s[2]);
    require_same_everywhere<bf16, float>(s[0], s[1], s[2]);
  }
}
