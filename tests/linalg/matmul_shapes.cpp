// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "products.hpp"

using namespace heddle;

namespace {

// Around the edges of register tiles (4, 6 and 14 rows; 8, 16 and 32 columns), of the few-row form and of vectors.
constexpr index_t sizes[][3] = {{1, 1, 1},   {1, 33, 5},  {2, 31, 9},   {3, 65, 4},  {4, 32, 17},  {5, 5, 5},
                                {5, 33, 8},  {6, 16, 15}, {7, 17, 16},  {13, 8, 33}, {14, 32, 31}, {15, 33, 32},
                                {28, 63, 1}, {29, 64, 3}, {33, 1, 20},  {40, 2, 21}, {37, 3, 40},  {31, 4, 64},
                                {17, 5, 47}, {43, 97, 2}, {57, 129, 65}};

/// Lets a worker run a whole tile in the middle of another worker's tile, as threads may, on one thread.
struct interruption {
  void (*run)(void*) = nullptr;
  void* task = nullptr;
  index_t calls = 0;

  void pass() {
    if (run == nullptr || ++calls != 2) return;
    auto const other = run;
    run = nullptr;
    other(task);
  }
};

/// Two workers: the last tile is worker 1's, and worker 0 does the first one while worker 1 is busy with it.
class crossing_executor : public serial_executor {
 public:
  explicit crossing_executor(interruption& at) : at_(&at) {}
  int concurrency() const noexcept { return 2; }

  template <class F>
  void for_each_tile(index_t n, F const& f) {
    if (this->scratch().planning()) return;
    for (index_t tile = 0; tile + 1 < n; ++tile) f(tile, 0);
    if (n == 0) return;
    F first = f;
    *at_ = {[](void* task) { (*static_cast<F*>(task))(0, 0); }, &first, 0};
    f(n - 1, n > 1 ? 1 : 0);
    at_->run = nullptr;
  }

 private:
  interruption* at_;
};

void check_crossing(index_t m, index_t n, index_t k) {
  CAPTURE(m, n, k);
  std::vector<float> a(static_cast<std::size_t>(m * k)), b(static_cast<std::size_t>(k * n)),
      c(static_cast<std::size_t>(m * n), __builtin_nanf(""));
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(1 + i * 7 % 11);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(1 + i * 5 % 13);
  interruption between;
  crossing_executor exec(between);
  interruption* const at = &between;
  auto const meet = [at](auto value, index_t, index_t, index_t) HEDDLE_LAMBDA {
    at->pass();
    return value;
  };
  matmul(exec, view<float const, 2>(a.data(), dims<2>(m, k)), view<float const, 2>(b.data(), dims<2>(k, n)),
         view<float, 2>(c.data(), dims<2>(m, n)), {}, meet);
  int wrong = 0;
  for (index_t i = 0; i < m; ++i)
    for (index_t j = 0; j < n; ++j) {
      float right = 0;  // exact: small integers
      for (index_t l = 0; l < k; ++l)
        right += a[static_cast<std::size_t>(i * k + l)] * b[static_cast<std::size_t>(l * n + j)];
      if (c[static_cast<std::size_t>(i * n + j)] != right) ++wrong;
    }
  CHECK(wrong == 0);
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("matmul: sizes around every tile edge, four transpositions", "[linalg]", test::executor_cases) {
  TestType setup;
  for (auto const& size : sizes)
    for (int which = 0; which < 4; which += test::stride)
      test::require_defined_bits<float, float>(setup.exec, test::transposed({1, size[0], size[1], size[2]}, which));
}

TEMPLATE_LIST_TEST_CASE("matmul: lines with gaps, transposed c", "[linalg]", test::executor_cases) {
  TestType setup;
  for (auto const& size : {dims<3>(3, 35, 21), dims<3>(15, 33, 18), dims<3>(30, 2, 19), dims<3>(16, 64, 64)})
    for (int which = 0; which < 8; which += test::stride) {
      test::product_problem p = test::transposed({1, size[0], size[1], size[2]}, which);
      p.c.transposed = which & 4;
      p.a.gap = 3, p.b.gap = 5, p.c.gap = 7;
      test::require_defined_bits<float, float>(setup.exec, p);
      p.options = {0.5, 2};
      test::require_defined_bits<float, float>(setup.exec, p);
    }
}

TEMPLATE_LIST_TEST_CASE("matmul: operands that end where memory ends", "[linalg]", test::executor_cases) {
  TestType setup;
  for (auto const& size : {dims<3>(1, 33, 5), dims<3>(2, 1, 19), dims<3>(4, 47, 33), dims<3>(15, 31, 17),
                           dims<3>(29, 3, 65), dims<3>(13, 65, 16)})
    for (int which = 0; which < 8; which += test::stride) {
      test::product_problem p = test::transposed({1, size[0], size[1], size[2]}, which);
      p.c.transposed = which & 4;
      p.a.end = p.b.end = p.c.end = test::guard::page;
      test::require_defined_bits<float, float>(setup.exec, p);
    }
}

TEMPLATE_LIST_TEST_CASE("matmul: chains are cut at multiples of 4096", "[linalg]", test::executor_cases) {
  TestType setup;
  for (index_t const k : {4095, 4096, 4097, 8193, 12288, 20481})
    for (int which = 0; which < 4; which += test::stride) {
      test::require_defined_bits<float, float>(setup.exec, test::transposed({1, 1, 3, k}, which));
      test::require_defined_bits<float, float>(setup.exec, test::transposed({1, 7, 5, k}, which));
      test::require_defined_bits<float, float>(setup.exec, test::transposed({1, 3, 34, k}, which));
    }
}

TEMPLATE_LIST_TEST_CASE("matmul: batches, and one matrix for all of them", "[linalg]", test::executor_cases) {
  TestType setup;
  for (index_t const m : {2, 9})
    for (index_t const batch : {0, 1, 2, 5}) {
      test::product_problem p{batch, m, 33, 12};
      p.a.gap = 2;
      test::require_defined_bits<float, float>(setup.exec, p);
      test::matrices<float> a(batch, m, 12), b(1, 12, 33), many(batch, 12, 33), c(batch, m, 33), d(batch, m, 33);
      a.random(1), b.random(2);
      for (index_t i = 0; i < batch; ++i)
        for (index_t j = 0; j < 12 * 33; ++j) many.view()(i, j / 33, j % 33) = b.view()(0, j / 33, j % 33);
      view<float const, 3> const repeated(b.view().data(), dims<3>(batch, 12, 33), index_t{0}, index_t{33}, index_t{1});
      matmul(setup.exec, a.input(), repeated, c.view());
      matmul(setup.exec, a.input(), many.input(), d.view());
      setup.exec.synchronize();
      REQUIRE(test::same_bits(c.values(), d.values()));
    }
}

TEST_CASE("matmul: a worker that packs does not touch what another one has packed", "[linalg]") {
  for (index_t const k : {1, 3, 8, 15, 33})
    for (index_t const m : {57, 225}) check_crossing(m, 100, k);
}
