// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "products.hpp"

#include <heddle/backend/cpu/grouped_matmul.hpp>
#include <heddle/exec/plan.hpp>
#include <heddle/linalg/grouped_matmul.hpp>

using namespace heddle;

namespace {

using offsets_t = std::vector<index_t>;

/// Groups of rows, the strides and factors of their products.
struct grouped_case {
  offsets_t offsets;  ///< with the last one
  index_t slack = 0;  ///< rows behind it
  index_t n = 1, k = 1;
  test::matrix_layout a = {}, b = {}, c = {};
  matmul_options options = {};

  index_t groups() const { return static_cast<index_t>(offsets.size()) - 1; }
  index_t rows() const { return offsets.back() + slack; }
  view<index_t const, 1> view_of_offsets() const { return {offsets.data(), dims<1>(groups() + 1)}; }
};

template <class T>
view<T, 2> matrix(test::matrices<T>& m) {
  return select(m.view(), 0, 0);
}
template <class V>
auto rows_of(V const& v, index_t from, index_t to) {
  return slice(v, 0, from, to);
}

/// c of the grouped product, and c of one product for each group with zeros behind.
template <class T, class C, class Executor, class Epilogue = no_epilogue>
void require_forward(Executor& exec, grouped_case const& p, Epilogue const& epilogue = {}) {
  test::matrices<T> a(1, p.rows(), p.k, p.a), b(p.groups(), p.k, p.n, p.b);
  test::matrices<C> c(1, p.rows(), p.n, p.c), want(1, p.rows(), p.n, p.c);
  a.random(1), b.random(2);
  if (p.options.beta != 0) c.random(3), want.random(3);
  grouped_matmul(exec, canonical_input(matrix(a)), b.input(), p.view_of_offsets(), matrix(c), p.options, epilogue);
  exec.synchronize();
  reference_executor oracle;
  for (index_t e = 0; e < p.groups(); ++e) {
    index_t const from = p.offsets[static_cast<std::size_t>(e)], to = p.offsets[static_cast<std::size_t>(e + 1)];
    auto const moved = [=](auto const& v, index_t row, index_t col, index_t n)
                           HEDDLE_LAMBDA { return epilogue(v, row + from, col, n); };
    matmul(oracle, rows_of(canonical_input(matrix(a)), from, to), select(b.input(), 0, e),
           rows_of(matrix(want), from, to), p.options, moved);
  }
  for (index_t r = p.offsets.back(); r < p.rows(); ++r)
    for (index_t j = 0; j < p.n; ++j) matrix(want)(r, j) = C(0.0f);
  REQUIRE(test::same_bits(c.values(), want.values()));
  CHECK(a.intact());
  CHECK(b.intact());
  CHECK(c.intact());
}

template <class T, class C, class Executor>
void require_weight(Executor& exec, grouped_case const& p) {
  test::matrices<T> a(1, p.rows(), p.k, p.a), d(1, p.rows(), p.n, p.b);
  test::matrices<C> c(p.groups(), p.k, p.n, p.c), want(p.groups(), p.k, p.n, p.c);
  a.random(1), d.random(2);
  if (p.options.beta != 0) c.random(3), want.random(3);
  grouped_matmul_weight(exec, canonical_input(matrix(a)), canonical_input(matrix(d)), p.view_of_offsets(), c.view(),
                        p.options);
  exec.synchronize();
  reference_executor oracle;
  for (index_t e = 0; e < p.groups(); ++e) {
    index_t const from = p.offsets[static_cast<std::size_t>(e)], to = p.offsets[static_cast<std::size_t>(e + 1)];
    matmul(oracle, transpose(rows_of(canonical_input(matrix(a)), from, to)),
           rows_of(canonical_input(matrix(d)), from, to), select(want.view(), 0, e), p.options);
  }
  REQUIRE(test::same_bits(c.values(), want.values()));
  CHECK(a.intact());
  CHECK(d.intact());
  CHECK(c.intact());
}

grouped_case const cases[] = {
    {{0, 0, 8, 8, 8, 32}, 0, 33, 17},  // empty groups before, between and behind
    {{0, 0, 0, 0}, 0, 5, 7},           // nothing but empty groups
    {{0, 0, 0}, 3, 5, 7},              // and slack
    {{0}, 4, 3, 2},                    // no group at all
    {{0, 1, 2, 5, 19, 33}, 2, 65, 9},
    {{0, 300}, 0, 40, 11},
    {{0, 13, 27, 29}, 5, 300, 70},
    {{0, 1}, 0, 1, 1},
    {{0, 3, 40}, 1, 7, 0},
};

}  // namespace

TEMPLATE_LIST_TEST_CASE("grouped_matmul: the bits of one product for each group", "[linalg]", test::tile_cases) {
  TestType setup;
  for (grouped_case p : cases)
    for (int which = 0; which < 8; which += test::stride) {
      p.a.transposed = which & 1, p.b.transposed = which & 2, p.c.transposed = which & 4;
      CAPTURE(p.rows(), p.groups(), p.n, p.k, which);
      p.options = {};
      require_forward<float, float>(setup.exec, p);
      p.options = {0.5, which & 1 ? 1.0 : 2.0};
      require_forward<float, float>(setup.exec, p);
    }
}

TEST_CASE("groups of other types have the bits of strict products", "[linalg]") {
  threads_executor exec(2);
  for (grouped_case p : cases) {
    CAPTURE(p.rows(), p.groups(), p.n, p.k);
    p.options.strict = true;
    require_forward<bf16, float>(exec, p);
    require_forward<bf16, bf16>(exec, p);
    require_forward<fp16, float>(exec, p);
    require_weight<bf16, float>(exec, p);
    p.options.strict = false;
    require_forward<double, double>(exec, p);
    require_weight<double, double>(exec, p);
  }
}

TEMPLATE_LIST_TEST_CASE("grouped_matmul_weight: the bits of one product for each group", "[linalg]", test::tile_cases) {
  TestType setup;
  for (grouped_case p : cases)
    for (int which = 0; which < 8; which += test::stride) {
      p.a.transposed = which & 1, p.b.transposed = which & 2, p.c.transposed = which & 4;
      CAPTURE(p.rows(), p.groups(), p.n, p.k, which);
      p.options = {};
      require_weight<float, float>(setup.exec, p);
      p.options = {0.5, which & 1 ? 1.0 : 2.0};
      require_weight<float, float>(setup.exec, p);
    }
}
