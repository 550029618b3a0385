// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "products.hpp"

#include <heddle/backend/cpu/grouped_matmul.hpp>
#include <heddle/linalg/grouped_matmul.hpp>

using namespace heddle;

namespace {

// Every regime of the cpu form, and k that the leaves do not divide, or that is less than they are.
constexpr index_t sizes[][3] = {{1, 70, 100}, {3, 40, 5},   {4, 17, 4100}, {15, 40, 123},
                                {30, 2, 259}, {31, 33, 64}, {3, 5, 12289}, {5, 7, 0}};

template <class Executor>
std::vector<float> whole(Executor& exec, index_t m, index_t n, index_t k, matmul_options const& options, int which) {
  test::product_problem p = test::transposed({1, m, n, k}, which);
  p.options = options;
  return test::product_of<float, float>(exec, p);
}

/// The same with k shared by `ranks`, each with its share of the leaves, added along T(ranks).
template <class Executor>
std::vector<float> shared(Executor& exec, index_t m, index_t n, index_t k, index_t leaves, index_t ranks, int which) {
  test::product_problem const p = test::transposed({1, m, n, k}, which);
  test::matrices<float> a(1, m, k, p.a), b(1, k, n, p.b);
  a.random(1), b.random(2);
  std::vector<std::vector<float>> parts;
  for (index_t r = 0; r < ranks; ++r) {
    // The leaves of this rank, which begin where those of the ranks before end.
    index_t const lo = balanced_part(k, leaves, r * leaves / ranks).offset;
    index_t const hi = balanced_part(k, leaves, (r + 1) * leaves / ranks - 1).end();
    test::matrices<float> c(1, m, n);
    matmul(exec, slice(a.input(), 2, lo, hi), slice(b.input(), 1, lo, hi), c.view(),
           {.order = order_policy::elastic, .leaves = leaves / ranks});
    exec.synchronize();
    parts.push_back(c.values());
  }
  std::vector<float> out;
  for (std::size_t i = 0; i < parts[0].size(); ++i)
    out.push_back(tree_reduce(
        ranks, [&](index_t r) { return parts[static_cast<std::size_t>(r)][i]; },
        [](float x, float y) { return x + y; }));
  return out;
}

/// One chain, or one for each of the leaves, by loops of its own.
std::vector<float> defined(index_t m, index_t n, index_t k, index_t leaves, int which) {
  test::product_problem const p = test::transposed({1, m, n, k}, which);
  test::matrices<float> a(1, m, k, p.a), b(1, k, n, p.b);
  a.random(1), b.random(2);
  std::vector<float> out;
  for (index_t i = 0; i < m * n; ++i)
    out.push_back(tree_reduce(
        leaves,
        [&](index_t leaf) {
          float sum = 0;
          part const at = balanced_part(k, leaves, leaf);
          for (index_t d = at.offset; d < at.end(); ++d)
            sum = std::fma(a.view()(0, i / n, d), b.view()(0, d, i % n), sum);
          return sum;
        },
        [](float x, float y) { return x + y; }));
  return out;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("matmul: elastic sums are one chain for each leaf, relaxed ones a single chain", "[linalg]",
                        test::executor_cases) {
  TestType setup;
  for (auto const& s : sizes)
    for (int which = 0; which < 4; ++which) {
      CAPTURE(s[0], s[1], s[2], which);
      for (index_t leaves : {1, 2, 8, 64})
        REQUIRE(test::same_bits(
            whole(setup.exec, s[0], s[1], s[2], {.order = order_policy::elastic, .leaves = leaves}, which),
            defined(s[0], s[1], s[2], leaves, which)));
      REQUIRE(test::same_bits(whole(setup.exec, s[0], s[1], s[2], {.order = order_policy::relaxed}, which),
                              defined(s[0], s[1], s[2], 1, which)));
    }
}

TEMPLATE_LIST_TEST_CASE("matmul: elastic bits do not depend on how many ranks share k", "[linalg]",
                        test::executor_cases) {
  TestType setup;
  for (auto const& s : sizes) {
    std::vector<float> const one = whole(setup.exec, s[0], s[1], s[2], {.order = order_policy::elastic}, 0);
    for (index_t ranks : {1, 2, 4, 8}) {
      CAPTURE(s[0], s[1], s[2], ranks);
      REQUIRE(test::same_bits(shared(setup.exec, s[0], s[1], s[2], 8, ranks, 0), one));
    }
  }
}

TEMPLATE_LIST_TEST_CASE("grouped products: the order of matmul", "[linalg]", test::tile_cases) {
  TestType setup;
  std::vector<index_t> const offsets{0, 3, 3, 77, 83};
  test::matrices<float> a(1, 85, 50), b(4, 50, 37), d(1, 85, 37), c(1, 85, 37), w(4, 50, 37), want(1, 85, 37),
      want_w(4, 50, 37);
  a.random(1), b.random(2), d.random(3);
  for (auto const& options :
       {matmul_options{.order = order_policy::elastic}, matmul_options{.order = order_policy::elastic, .leaves = 64},
        matmul_options{.order = order_policy::relaxed}}) {
    view<index_t const, 1> const cuts(offsets.data(), dims<1>(5));
    grouped_matmul(setup.exec, select(a.input(), 0, 0), b.input(), cuts, select(c.view(), 0, 0), options);
    grouped_matmul_weight(setup.exec, select(a.input(), 0, 0), select(d.input(), 0, 0), cuts, w.view(), options);
    setup.exec.synchronize();
    reference_executor oracle;
    for (index_t e = 0; e < 4; ++e) {
      index_t const lo = offsets[static_cast<std::size_t>(e)], hi = offsets[static_cast<std::size_t>(e + 1)];
      auto const rows = slice(select(a.input(), 0, 0), 0, lo, hi);
      matmul(oracle, rows, select(b.input(), 0, e), slice(select(want.view(), 0, 0), 0, lo, hi), options);
      matmul(oracle, transpose(rows), slice(select(d.input(), 0, 0), 0, lo, hi), select(want_w.view(), 0, e), options);
    }
    for (index_t r = 83; r < 85; ++r)
      for (index_t j = 0; j < 37; ++j) want.view()(0, r, j) = 0;
    REQUIRE(test::same_bits(c.values(), want.values()));
    REQUIRE(test::same_bits(w.values(), want_w.values()));
  }
}

TEST_CASE("matmul: leaves are a power of two up to 64", "[linalg]") {
  serial_executor exec;
  for (index_t leaves : {-1, 0, 3, 128}) {
    matmul_options const options{.order = order_policy::elastic, .leaves = leaves};
    CHECK_THROWS_AS(whole(exec, 2, 2, 2, options, 0), contract_error);
  }
}

TEST_CASE("matmul: orders where b is read once", "[linalg]") {
  threads_executor exec(2);
  REQUIRE(
      test::same_bits(whole(exec, 31, 280, 1000, {.order = order_policy::elastic}, 0), defined(31, 280, 1000, 8, 0)));
  REQUIRE(
      test::same_bits(whole(exec, 31, 280, 1000, {.order = order_policy::relaxed}, 0), defined(31, 280, 1000, 1, 0)));
}

TEMPLATE_LIST_TEST_CASE("matmul: orders of bf16 are those of the reference", "[linalg]", test::executor_cases) {
  TestType setup;
  reference_executor oracle;
  for (auto const& s : sizes) {
    if (s[2] > 300) continue;
    for (int which = 0; which < 4; ++which)
      for (bool const strict : {false, true})
        for (auto const& order : {matmul_options{.order = order_policy::elastic},
                                  matmul_options{.order = order_policy::elastic, .leaves = 2},
                                  matmul_options{.order = order_policy::relaxed}}) {
          test::product_problem p = test::transposed({1, s[0], s[1], s[2]}, which);
          p.c.transposed = which == 3;
          p.options = order;
          p.options.alpha = 0.5, p.options.beta = 2, p.options.strict = strict;
          CAPTURE(s[0], s[1], s[2], which, strict, order.leaves);
          REQUIRE(
              test::same_bits(test::product_of<bf16, float>(setup.exec, p), test::product_of<bf16, float>(oracle, p)));
        }
  }
}

TEST_CASE("elastic products of bf16: leaves beyond 4096 steps", "[linalg]") {
  for (index_t const k : {8191, 16500})
    for (index_t const leaves : {1, 2}) {
      CAPTURE(k, leaves);
      matmul_options const options{.order = order_policy::elastic, .leaves = leaves};
      for (index_t const m : {1, 5}) {
        test::product_problem p{1, m, 19, k};
        p.options = options;
        reference_executor oracle;
        threads_executor exec(2);
        REQUIRE(test::same_bits(test::product_of<bf16, float>(exec, p), test::product_of<bf16, float>(oracle, p)));
        p.options.strict = true;
        REQUIRE(test::same_bits(test::product_of<bf16, float>(exec, p), test::product_of<bf16, float>(oracle, p)));
      }
    }
}
