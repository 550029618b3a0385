// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/attention/block_sparse.hpp>

#include "rules.hpp"

using namespace heddle;
using namespace heddle::test;
namespace at = heddle::attention;

namespace {

/// Lists for `lists` masks over `rows` blocks of queries and `columns` blocks of keys; every third row is empty.
struct block_lists {
  std::vector<std::int32_t> row_ptr, col_idx;
  index_t lists, rows;
  block_lists(index_t lists_, index_t rows_, index_t columns) : row_ptr(), col_idx(), lists(lists_), rows(rows_) {
    for (index_t l = 0; l < lists; ++l) {
      row_ptr.push_back(static_cast<std::int32_t>(col_idx.size()));
      for (index_t r = 0; r < rows; ++r) {
        for (index_t c = 0; c < columns && (r + l) % 3 != 2; ++c)
          if ((r * 5 + c * 3 + l) % 4 != 0) col_idx.push_back(static_cast<std::int32_t>(c));
        row_ptr.push_back(static_cast<std::int32_t>(col_idx.size()));
      }
    }
  }
  at::block_sparse mask(index_t q_block, index_t k_block) const {
    return {view<std::int32_t const, 2>(row_ptr.data(), dims<2>(lists, rows + 1)),
            view<std::int32_t const, 1>(col_idx.data(), dims<1>(static_cast<index_t>(col_idx.size()))), q_block,
            k_block};
  }
};

using masked = at::both<at::causal, at::block_sparse>;

at::options<masked> under(block_lists const& b, index_t q_block, index_t k_block, index_t sequences = 1) {
  at::options<masked> o = at::with_mask(at::causal{} & b.mask(q_block, k_block));
  o.sequences = sequences;
  return o;
}

}  // namespace

TEST_CASE("a key is visible where its block is listed", "[attention]") {
  std::int32_t const row_ptr[] = {0, 2, 2, 3}, col_idx[] = {0, 2, 1};
  at::block_sparse const m(view<std::int32_t const, 2>(row_ptr, dims<2>(1, 4)),
                           view<std::int32_t const, 1>(col_idx, dims<1>(3)), 2, 3);
  STATIC_REQUIRE((at::placed_mask<at::block_sparse> && at::mask<masked> && at::placed_mask<masked>));
  auto const seen = m.at({0, 1, 0, 1, 4, 6, 9});  // query 0 stands at position 4
  bool const listed[6][9] = {{1, 1, 1, 0, 0, 0, 1, 1, 1}, {1, 1, 1, 0, 0, 0, 1, 1, 1}, {}, {},
                             {0, 0, 0, 1, 1, 1, 0, 0, 0}, {0, 0, 0, 1, 1, 1, 0, 0, 0}};
  for (index_t i = 0; i < 6; ++i)
    for (index_t j = 0; j < 9; ++j) REQUIRE(seen.visible(4 + i, j) == listed[i][j]);
  REQUIRE_FALSE((seen.visible(3, 0) || seen.visible(10, 0)));
  for (index_t qb = 2; qb < 12; ++qb)
    for (index_t qe = qb + 1; qe <= 12; ++qe)
      for (index_t kb = 0; kb < 9; ++kb)
        for (index_t ke = kb + 1; ke <= 9; ++ke) {
          bool all = true, any = false;
          for (index_t i = qb; i < qe; ++i)
            for (index_t j = kb; j < ke; ++j) {
              all = all && seen.visible(i, j);
              any = any || seen.visible(i, j);
              at::block const range = seen.kv_range({qb, qe});
              if (seen.visible(i, j) && (j < range.begin || j >= range.end)) FAIL("kv_range misses a key");
            }
          at::block_kind const kind = seen.kind({qb, qe}, {kb, ke});
          if (kind != (all ? at::block_kind::full : any ? at::block_kind::partial : at::block_kind::skip))
            FAIL("kind differs " << qb << ' ' << qe << ' ' << kb << ' ' << ke);
        }
}

TEMPLATE_LIST_TEST_CASE("block-sparse attention against naive attention", "[attention]", executor_cases) {
  TestType setup;
  auto& exec = setup.exec;
  block_lists const fine(1, 9, 19), heads(2, 4, 5), single(1, 3, 10);
  check_rules<float>(exec, {70, 150, 4, 2, 9, 11}, under(fine, 8, 8));
  check_rules<float>(exec, {70, 150, 4, 2, 9, 11}, under(heads, 20, 33));
  check_rules<float>(exec, {3, 300, 4, 2, 9, 11}, under(single, 1, 32));
}

TEMPLATE_LIST_TEST_CASE("gradients of block-sparse attention", "[attention]", executor_cases) {
  TestType setup;
  block_lists const heads(2, 3, 4);
  check_rule_gradients(setup.exec, {5, 7, 4, 2, 3, 2}, under(heads, 2, 2));
}

TEMPLATE_LIST_TEST_CASE("lists per sequence and head, garbage in blocks not listed", "[attention]", executor_cases) {
  TestType setup;
  auto& exec = setup.exec;
  shape const s{80, 80, 2, 2, 8, 8};
  block_lists const both(4, 3, 3);
  problem<float> p(s), single(s);
  for (problem<float>* x : {&p, &single})
    for (index_t d = 0; d < 8; ++d) x->k(16, 0, d) = x->v(16, 0, d) = std::nanf("");  // listed for no row of (0, 0)
  auto const whole = under(both, 16, 16, 2);
  std::int32_t const* const rows = both.row_ptr.data();
  bool listed = false;
  for (std::int32_t n = rows[0]; n < rows[3]; ++n) listed = listed || both.col_idx[static_cast<std::size_t>(n)] == 1;
  p.forward(exec, whole);
  for (index_t n = 0; n < 2; ++n)
    for (index_t h = 0; h < 2; ++h) {
      block_lists one(both);
      std::size_t const first = static_cast<std::size_t>((n * 2 + h) * 4);
      one.row_ptr.assign(both.row_ptr.begin() + std::ptrdiff_t(first),
                         both.row_ptr.begin() + std::ptrdiff_t(first + 4));
      one.lists = 1;
      auto const cut = [&](auto const& v) { return slice(slice(v, 0, n * 40, n * 40 + 40), 1, h, h + 1); };
      at::forward(exec, cut(single.q.rows()), cut(single.k.rows()), cut(single.v.rows()), cut(single.out.rows()),
                  slice(slice(single.lse.numbers(), 0, h, h + 1), 1, n * 40, n * 40 + 40), under(one, 16, 16));
      exec.synchronize();
    }
  REQUIRE(same_bits(p.out, single.out));
  REQUIRE(same_bits(p.lse, single.lse));
  if (!listed)
    for (index_t t = 0; t < 40; ++t) REQUIRE_FALSE(std::isnan(p.out(t, 0, 0)));
}

TEST_CASE("bad block lists are refused", "[attention]") {
  serial_executor exec;
  problem<float> p(shape{4, 6, 2, 2});
  std::int32_t const good[] = {0, 1, 3}, falling[] = {0, 2, 1}, long_[] = {0, 1, 4}, col[] = {0, 0, 2},
                     same[] = {0, 1, 1}, far[] = {0, 1, 3}, minus[] = {-1, 0, 2};
  auto const call = [&](std::int32_t const* row_ptr, std::int32_t const* cols, index_t q_block) {
    p.forward(exec, at::with_mask(at::block_sparse(view<std::int32_t const, 2>(row_ptr, dims<2>(1, 3)),
                                                   view<std::int32_t const, 1>(cols, dims<1>(3)), q_block, 2)));
  };
  REQUIRE_NOTHROW(call(good, col, 2));
  REQUIRE_THROWS_AS(call(falling, col, 2), contract_error);
  REQUIRE_THROWS_AS(call(long_, col, 2), contract_error);
  REQUIRE_THROWS_AS(call(good, same, 2), contract_error);
  REQUIRE_THROWS_AS(call(good, far, 2), contract_error);
  REQUIRE_THROWS_AS(call(good, minus, 2), contract_error);
  REQUIRE_THROWS_AS(call(good, col, 1), contract_error);
  REQUIRE_THROWS_AS(call(good, col, 0), contract_error);
  block_lists const three(3, 2, 3);
  REQUIRE_THROWS_AS(p.forward(exec, under(three, 2, 2)), contract_error);
}
