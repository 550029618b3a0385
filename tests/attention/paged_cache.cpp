// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/attention/paged_cache.hpp>

#include "paged.hpp"

using namespace heddle;
using namespace heddle::test;
namespace at = heddle::attention;

namespace {

std::int32_t const starts[] = {0, 130, 130, 150, 151};

}  // namespace

TEMPLATE_LIST_TEST_CASE("pages don't change a bit", "[attention]", executor_cases) {
  TestType setup;
  auto& exec = setup.exec;
  shape const s{8, 151, 4, 2, 16, 8};
  problem<float> flat(s), paged(s);
  at::integer_list const cu_k = view<std::int32_t const, 1>(starts, dims<1>(5));
  flat.forward(exec, at::options<>{.cu_k = cu_k});
  for (index_t page : {1, 3, 64, 128}) {
    INFO("page " << page);
    paged_rows_case c({130, 0, 20, 1}, page, 2, 16, 8);
    at::append(exec, flat.k.rows(), flat.v.rows(), c.cache(), cu_k);
    at::forward(exec, paged.q.rows(), c.cache(), paged.out.rows(), paged.lse.numbers());
    exec.synchronize();
    REQUIRE(same_bits(flat.out, paged.out));
    REQUIRE(same_bits(flat.lse, paged.lse));
  }
}

TEMPLATE_LIST_TEST_CASE("a prompt in chunks gives the bits of one call", "[attention]", executor_cases) {
  TestType setup;
  auto& exec = setup.exec;
  problem<float> whole(shape{300, 300, 4, 2, 16, 8}), chunks(shape{300, 300, 4, 2, 16, 8});
  whole.forward(exec, at::options<>{});
  paged_rows_case c({300}, 16, 2, 16, 8);
  for (index_t begin = 0, n = 0; begin < 300; begin += n) {
    n = std::min<index_t>(300 - begin, begin == 0 ? 37 : 100);
    c.lengths[0] = static_cast<std::int32_t>(begin + n);
    at::append(exec, slice(whole.k.rows(), 0, begin, begin + n), slice(whole.v.rows(), 0, begin, begin + n), c.cache());
    at::forward(exec, slice(whole.q.rows(), 0, begin, begin + n), c.cache(),
                slice(chunks.out.rows(), 0, begin, begin + n), slice(chunks.lse.numbers(), 1, begin, begin + n));
    exec.synchronize();  // the length is read by the work
  }
  // Blocks of keys are counted from the start of the sequence, so no cut of the queries changes them.
  REQUIRE(same_bits(whole.out, chunks.out));
  REQUIRE(same_bits(whole.lse, chunks.lse));
}

TEST_CASE("caches that don't fit are refused", "[attention]") {
  serial_executor exec;
  problem<float> p(shape{2, 2, 2, 1, 4, 4});
  paged_rows_case c({5, 3}, 2, 1, 4, 4), three({5, 3, 1}, 2, 1, 4, 4), narrow({5, 3}, 2, 1, 3, 4);
  auto const call = [&](at::paged_cache<float> const& cache, at::options<> const& o = {}) {
    at::forward(exec, p.q.rows(), cache, p.out.rows(), p.lse.numbers(), o);
  };
  REQUIRE_NOTHROW(call(c.cache()));
  REQUIRE_THROWS_AS(call(three.cache()), contract_error);
  REQUIRE_THROWS_AS(call(narrow.cache()), contract_error);
  std::int32_t const cu[] = {0, 1, 2};
  REQUIRE_THROWS_AS(call(c.cache(), {.cu_k = view<std::int32_t const, 1>(cu, dims<1>(3))}), contract_error);
  at::paged_cache<float> uneven = c.cache();
  uneven.v = slice(uneven.v, 1, 0, 1);
  REQUIRE_THROWS_AS(call(uneven), contract_error);
  c.lengths[1] = 100;
  REQUIRE_THROWS_AS(call(c.cache()), contract_error);
  c.lengths[1] = 3;
  c.table[0] = -1;
  REQUIRE_THROWS_AS(call(c.cache()), contract_error);
}
