// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "products.hpp"

#include <heddle/linalg/dequantize.hpp>

using namespace heddle;

namespace {

template <class T>
void fill_bytes(view<T, 3> const& v, std::uint64_t seed) {
  index_t i = 0;
  for (index_t z = 0; z < v.extent(0); ++z)
    for (index_t r = 0; r < v.extent(1); ++r)
      for (index_t c = 0; c < v.extent(2); ++c, ++i) {
        std::uint64_t const x = test::random_bits(seed, i);
        // The ends of the range more often than chance has them.
        v(z, r, c) = static_cast<T>(x % 5 == 0 ? 0x80 : x % 5 == 1 ? 0x7F : x % 7 == 0 ? 0xFF : x >> 20 & 0xFF);
      }
}

template <class A, class C>
struct byte_product {
  test::matrices<A> a;
  test::matrices<std::int8_t> b;
  test::matrices<C> c;
  test::product_problem p;

  explicit byte_product(test::product_problem const& q)
      : a(q.batch, q.m, q.k, q.a), b(q.batch, q.k, q.n, q.b), c(q.batch, q.m, q.n, q.c), p(q) {
    fill_bytes(a.view(), 1);
    fill_bytes(b.view(), 2);
  }
  std::int32_t sum(index_t z, index_t i, index_t j) {
    std::int32_t s = 0;
    for (index_t d = 0; d < p.k; ++d) s += std::int32_t{a.view()(z, i, d)} * std::int32_t{b.view()(z, d, j)};
    return s;
  }
  bool intact() const { return a.intact() && b.intact() && c.intact(); }
};

template <class A, class Executor>
void require_exact(Executor& exec, test::product_problem const& p) {
  INFO(test::text_of(p));
  byte_product<A, std::int32_t> x(p);
  if (p.options.beta != 0)
    for (index_t i = 0; i < p.batch * p.m * p.n; ++i)
      x.c.view()(i / (p.m * p.n), i / p.n % p.m, i % p.n) = static_cast<std::int32_t>(i);
  std::vector<std::int32_t> want;
  for (index_t i = 0; i < p.batch * p.m * p.n; ++i)
    want.push_back(static_cast<std::int32_t>(p.options.alpha) * x.sum(i / (p.m * p.n), i / p.n % p.m, i % p.n) +
                   static_cast<std::int32_t>(p.options.beta) * static_cast<std::int32_t>(i));
  matmul(exec, x.a.input(), x.b.input(), x.c.view(), p.options);
  exec.synchronize();
  REQUIRE(x.c.values() == want);
  REQUIRE(x.intact());
}

template <class A, class Executor>
void require_exact_in_all_layouts(Executor& exec) {
  for (auto const& size : {dims<3>(1, 19, 33), dims<3>(4, 33, 7), dims<3>(17, 1, 9), dims<3>(15, 35, 18),
                           dims<3>(30, 3, 31), dims<3>(7, 67, 4)})
    for (int which = 0; which < 8; which += test::stride) {
      test::product_problem p = test::transposed({2, size[0], size[1], size[2]}, which);
      p.c.transposed = which & 4;
      p.a.end = p.b.end = p.c.end = test::guard::page;
      require_exact<A>(exec, p);
      p.options = {3, -2};
      p.a.gap = p.b.gap = p.c.gap = 1;
      require_exact<A>(exec, p);
    }
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("matmul of bytes is exact", "[linalg]", test::executor_cases) {
  TestType setup;
  require_exact_in_all_layouts<std::int8_t>(setup.exec);
  require_exact_in_all_layouts<std::uint8_t>(setup.exec);
  for (index_t const k : {0, 1, 2, 3, 5}) require_exact<std::int8_t>(setup.exec, {1, 3, 5, k});
}

TEST_CASE("matmul of bytes: every instruction set, every number of rows, long k", "[linalg]") {
  test::for_each_isa([&](isa set) {
    INFO(name(set));
    threads_executor exec(2);
    test::watch_scratch(exec);
    for (index_t m = 1; m <= 30; m += test::stride)
      for (index_t const k : {13, 64}) {
        require_exact<std::int8_t>(exec, {1, m, 70, k});
        require_exact<std::uint8_t>(exec, {1, m, 70, k});
      }
    // The largest sums of either sign.
    require_exact<std::int8_t>(exec, {1, 3, 5, 4096});
    require_exact<std::uint8_t>(exec, {1, 17, 33, 8200});
    test::check_scratch(exec);
  });
}

TEMPLATE_LIST_TEST_CASE("matmul of bytes into floats: what the epilogue sees and dequantize", "[linalg]",
                        test::executor_cases) {
  TestType setup;
  std::vector<float> const rows = test::random_floats(40, 5, 0.25f), columns = test::random_floats(70, 6, 0.5f);
  std::vector<float> bias = test::random_floats(70, 7, 4);
  for (index_t const m : {1, 5, 30}) {
    test::product_problem const p{1, m, 67, 45};
    byte_product<std::int8_t, float> x(p);
    byte_product<std::int8_t, bf16> y(p);
    byte_product<std::int8_t, float> plain(p);
    matmul(setup.exec, plain.a.input(), plain.b.input(), plain.c.view());
    matmul(setup.exec, x.a.input(), x.b.input(), x.c.view(), {},
           epilogue::dequantize{rows.data(), columns.data(), bias.data()});
    matmul(setup.exec, y.a.input(), y.b.input(), y.c.view(), {}, epilogue::dequantize{rows.data(), columns.data()});
    setup.exec.synchronize();
    for (index_t i = 0; i < m; ++i)
      for (index_t j = 0; j < p.n; ++j) {
        float const sum = static_cast<float>(x.sum(0, i, j));
        float const scaled = mul(mul(sum, rows[static_cast<std::size_t>(i)]), columns[static_cast<std::size_t>(j)]);
        REQUIRE(plain.c.view()(0, i, j) == sum);
        REQUIRE(x.c.view()(0, i, j) == scaled + bias[static_cast<std::size_t>(j)]);
        REQUIRE(y.c.view()(0, i, j).bits == bf16(scaled).bits);
      }
  }
}

TEST_CASE("matmul of bytes into integers refuses broken factors", "[linalg]") {
  serial_executor exec;
  byte_product<std::int8_t, std::int32_t> x({1, 2, 2, 2});
  REQUIRE_THROWS_AS(matmul(exec, x.a.input(), x.b.input(), x.c.view(), {.alpha = 0.5}), contract_error);
  REQUIRE_THROWS_AS(matmul(exec, x.a.input(), x.b.input(), x.c.view(), {.beta = 0x1p31}), contract_error);
  REQUIRE_NOTHROW(matmul(exec, x.a.input(), x.b.input(), x.c.view(), {.alpha = -2}));
}
