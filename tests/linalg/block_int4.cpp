// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "products.hpp"

#include <heddle/linalg/block_int4.hpp>

using namespace heddle;

namespace {

/// Random codes, scales and zeros that end where memory ends.
template <class Scale>
struct coded {
  index_t k, n, block;
  test::buffer<std::uint8_t> codes, zeros;
  test::buffer<Scale> scales;

  coded(index_t steps, index_t columns, index_t per_block)
      : k(steps),
        n(columns),
        block(per_block),
        codes(n * ((k + 1) / 2), test::guard::page),
        zeros(n * ((k + block - 1) / block), test::guard::page),
        scales(zeros.size(), test::guard::page) {
    for (index_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::uint8_t>(test::random_bits(1, i));
    for (index_t i = 0; i < zeros.size(); ++i) zeros[i] = static_cast<std::uint8_t>(test::random_bits(2, i) % 16);
    for (index_t i = 0; i < scales.size(); ++i)
      scales[i] = static_cast<Scale>(static_cast<float>(test::random_value(3, i, 0.01, 0.3)));
  }
  block_int4<Scale> view(bool with_zeros) const {
    return {codes.data(), scales.data(), k, n, block, with_zeros ? zeros.data() : nullptr};
  }
};

/// The product with codes against the product with their numbers.
template <class A, class Scale, class Executor>
void require_decoded(Executor& exec, index_t m, index_t n, index_t k, index_t block, bool with_zeros, bool strict) {
  CAPTURE(m, n, k, block, with_zeros, strict);
  coded<Scale> const b(k, n, block);
  block_int4<Scale> const coded_b = b.view(with_zeros);
  test::matrices<A> a(1, m, k), numbers(1, k, n);
  test::matrices<float> c(1, m, n), d(1, m, n);
  a.random(4);
  for (index_t i = 0; i < k * n; ++i) numbers.view()(0, i / n, i % n) = static_cast<A>(coded_b(i / n, i % n));
  matmul_options options;
  options.strict = strict;
  auto const whole = [](auto const& v) { return select(v, 0, 0); };
  matmul(exec, whole(a.input()), coded_b, whole(c.view()), options);
  matmul(exec, whole(a.input()), whole(numbers.input()), whole(d.view()), options);
  exec.synchronize();
  REQUIRE(test::same_bits(c.values(), d.values()));
}

template <class A, class Code, class Executor>
void require_fp8(Executor& exec, index_t m, index_t n, index_t k, bool transposed, bool strict) {
  CAPTURE(m, n, k, transposed, strict);
  test::matrix_layout how;
  how.transposed = transposed;
  how.end = test::guard::page;
  test::matrices<A> a(1, m, k), numbers(1, k, n);
  test::matrices<Code> b(1, k, n, how);
  test::matrices<A> c(1, m, n), d(1, m, n);
  a.random(4);
  for (index_t i = 0; i < k * n; ++i) {
    Code x = Code::from_bits(static_cast<std::uint8_t>(test::random_bits(5, i)));
    if (!(std::fabs(static_cast<float>(x)) <= 448)) x = Code(1.5f);
    b.view()(0, i / n, i % n) = x;
    numbers.view()(0, i / n, i % n) = static_cast<A>(static_cast<float>(x));
  }
  matmul_options options;
  options.strict = strict;
  matmul(exec, a.input(), b.input(), c.view(), options);
  matmul(exec, a.input(), numbers.input(), d.view(), options);
  exec.synchronize();
  REQUIRE(test::same_bits(c.values(), d.values()));
}

}  // namespace

TEST_CASE("codes of four bits: what an element is", "[linalg]") {
  std::uint8_t const codes[] = {0x80, 0x0F, 0x31, 0x0F}, zeros[] = {1, 2};
  float const scales[] = {0.5f, 2};
  block_int4<> const b(codes, scales, 3, 2, 32), z(codes, scales, 3, 2, 32, zeros);
  REQUIRE(b(0, 0) == 0.5f * (0 - 8));
  REQUIRE(b(1, 0) == 0);
  REQUIRE(b(2, 0) == 0.5f * (15 - 8));
  REQUIRE(b(0, 1) == 2.0f * (1 - 8));
  REQUIRE(z(1, 1) == 2.0f * (3 - 2));
  REQUIRE(b.bytes() == 4 + 2 * 4);
  REQUIRE(z.bytes() == 4 + 2 * 5);
  REQUIRE_THROWS_AS(block_int4<>(codes, scales, 3, 2, 16), contract_error);
  REQUIRE_THROWS_AS(block_int4<>(nullptr, scales, 3, 2, 32), contract_error);
  REQUIRE_THROWS_AS(block_int4<>(codes, nullptr, 3, 2, 32), contract_error);
  REQUIRE_THROWS_AS(block_int4<>(codes, scales, index_t{1} << 40, index_t{1} << 40, 32), contract_error);
}

using code_cases = std::tuple<test::reference_case, test::serial_case, test::threads_case<2>, test::queued_serial_case>;

TEMPLATE_LIST_TEST_CASE("products with codes of four bits are those with their numbers", "[linalg]", code_cases) {
  TestType setup;
  for (auto const& s : {dims<3>(1, 1, 1), dims<3>(2, 33, 31), dims<3>(5, 40, 130), dims<3>(17, 31, 64),
                        dims<3>(31, 65, 33), dims<3>(3, 5, 4230)})
    for (index_t const block : {32, 128})
      for (bool const zeros : {false, true}) {
        require_decoded<bf16, float>(setup.exec, s[0], s[1], s[2], block, zeros, false);
        require_decoded<bf16, fp16>(setup.exec, s[0], s[1], s[2], block, zeros, true);
        require_decoded<float, bf16>(setup.exec, s[0], s[1], s[2], block, zeros, false);
      }
}

TEMPLATE_LIST_TEST_CASE("products with fp8 are those with their numbers", "[linalg]", code_cases) {
  TestType setup;
  for (auto const& s : {dims<3>(1, 1, 1), dims<3>(2, 33, 31), dims<3>(17, 31, 65), dims<3>(31, 3, 34)})
    for (bool const transposed : {false, true}) {
      require_fp8<float, fp8_e4m3>(setup.exec, s[0], s[1], s[2], transposed, false);
      require_fp8<bf16, fp8_e4m3>(setup.exec, s[0], s[1], s[2], transposed, true);
      require_fp8<bf16, fp8_e5m2>(setup.exec, s[0], s[1], s[2], transposed, false);
    }
}

TEST_CASE("products with codes have the same bits on every instruction set", "[linalg]") {
  test::for_each_isa([&](isa set) {
    INFO(name(set));
    serial_executor exec;
    for (index_t const k : {1, 30, 32, 97}) {
      require_decoded<bf16, float>(exec, 5, 67, k, 32, true, false);
      require_decoded<float, float>(exec, 15, 35, k, 64, false, false);
      require_fp8<bf16, fp8_e4m3>(exec, 9, 37, k, false, false);
    }
  });
}
