// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "products.hpp"

#include <heddle/linalg/packed_operand.hpp>

using namespace heddle;

namespace {

/// Memory for packed operands: aligned, poisoned, watched behind the last byte that is asked for.
template <class T, class Executor>
test::buffer<unsigned char> memory_for(Executor& exec, index_t k, index_t n) {
  return test::buffer<unsigned char>(packed_operand_bytes<T>(exec, k, n));
}

template <class A, class T, class C, class Executor>
void require_bits_of_the_view(Executor& exec, index_t m, index_t n, index_t k, bool transposed) {
  CAPTURE(m, n, k, transposed);
  test::matrix_layout layout;
  layout.transposed = transposed;
  test::matrices<A> a(1, m, k);
  test::matrices<T> b(1, k, n, layout);
  test::matrices<C> c(1, m, n), d(1, m, n);
  a.levels(1), b.levels(2);
  auto const whole = [](auto const& v) { return select(v, 0, 0); };
  auto memory = memory_for<T>(exec, k, n);
  packed_operand<T> const packed = pack(exec, whole(b.input()), memory.view());
  matmul(exec, whole(a.input()), packed, whole(c.view()));
  matmul(exec, whole(a.input()), whole(b.input()), whole(d.view()));
  exec.synchronize();
  REQUIRE(test::same_bits(c.values(), d.values()));
  matmul(exec, whole(a.input()), packed, whole(c.view()), {3, -2});
  matmul(exec, whole(a.input()), whole(b.input()), whole(d.view()), {3, -2});
  exec.synchronize();
  REQUIRE(test::same_bits(c.values(), d.values()));
  test::matrices<A> unread(1, m, k);
  matmul(exec, whole(unread.input()), packed, whole(c.view()), {0, 0});
  exec.synchronize();
  for (C const x : c.values()) REQUIRE(static_cast<float>(x) == 0);
  REQUIRE(memory.intact());
}

template <class F>
std::string refusal(F f) {
  try {
    f();
  } catch (contract_error const& e) {
    return e.what();
  }
  return "accepted";
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("packed operands give the bits of what was packed", "[linalg]", test::executor_cases) {
  TestType setup;
  for (auto const& s : {dims<3>(1, 1, 1), dims<3>(1, 33, 7), dims<3>(4, 70, 19), dims<3>(15, 31, 64),
                        dims<3>(31, 97, 33), dims<3>(3, 40, 4100), dims<3>(2, 5, 0), dims<3>(0, 5, 3)})
    for (bool const transposed : {false, true}) {
      require_bits_of_the_view<float, float, float>(setup.exec, s[0], s[1], s[2], transposed);
      require_bits_of_the_view<bf16, bf16, bf16>(setup.exec, s[0], s[1], s[2], transposed);
      require_bits_of_the_view<std::int8_t, std::int8_t, std::int32_t>(setup.exec, s[0], s[1], s[2], transposed);
    }
}

TEST_CASE("packed operands: every instruction set, bytes of either sign", "[linalg]") {
  test::for_each_isa([&](isa set) {
    INFO(name(set));
    serial_executor exec;
    for (index_t const m : {1, 2, 3, 7, 9, 14, 20}) {
      require_bits_of_the_view<float, float, float>(exec, m, 67, 30, false);
      require_bits_of_the_view<bf16, bf16, float>(exec, m, 67, 31, false);
      require_bits_of_the_view<std::uint8_t, std::int8_t, float>(exec, m, 67, 30, true);
      require_bits_of_the_view<std::int8_t, std::int8_t, float>(exec, m, 67, 29, false);
    }
  });
}

TEST_CASE("an operand that is packed for one instruction set is refused by another", "[linalg]") {
  if (machine_isa() < isa::avx2 || !HEDDLE_MULTI_TARGET) SUCCEED("this machine or build has one set");
  serial_executor exec;
  reference_executor oracle;
  test::matrices<bf16> a(1, 2, 3), b(1, 3, 4);
  test::matrices<float> c(1, 2, 4);
  a.random(1), b.random(2);
  auto const x = select(a.input(), 0, 0), y = select(b.input(), 0, 0);
  auto const z = select(c.view(), 0, 0);
  auto memory = memory_for<bf16>(exec, 3, 4);
  packed_operand<bf16> const packed = pack(exec, y, memory.view());
  std::string const plain = refusal([&] { matmul(oracle, x, packed, z); });
  REQUIRE(plain.find("pack it again") != std::string::npos);
  REQUIRE(plain.find(packed.form()) != std::string::npos);
  REQUIRE(plain.find("plain") != std::string::npos);
  if (machine_isa() >= isa::avx2 && HEDDLE_MULTI_TARGET) {
    isa const before = best_isa();
    force_isa(before == isa::baseline ? isa::avx2 : isa::baseline);
    std::string const other = refusal([&] { matmul(exec, x, packed, z); });
    std::string const wanted = name(best_isa());
    force_isa(before);
    REQUIRE(other.find(packed.form()) != std::string::npos);
    REQUIRE(other.find(wanted) != std::string::npos);
  }
  REQUIRE(refusal([&] { matmul(exec, x, packed_operand<bf16>(nullptr, 3, 4, nullptr), z); }).find("nothing") !=
          std::string::npos);
}

TEST_CASE("packed operands refuse extents, memory and options that do not fit", "[linalg]") {
  serial_executor exec;
  test::matrices<bf16> a(1, 2, 3), b(1, 3, 4);
  test::matrices<float> c(1, 2, 4);
  a.random(1), b.random(2);
  auto const x = select(a.input(), 0, 0), y = select(b.input(), 0, 0);
  auto const z = select(c.view(), 0, 0);
  auto memory = memory_for<bf16>(exec, 3, 4);
  auto const all = memory.view();
  REQUIRE_THROWS_AS(pack(exec, y, slice(all, 0, 0, all.extent(0) - 1)), contract_error);
  test::buffer<unsigned char> odd(packed_operand_bytes<bf16>(exec, 3, 4) + 1);
  REQUIRE_THROWS_AS(pack(exec, y, slice(odd.view(), 0, 1, odd.size())), contract_error);
  packed_operand<bf16> const packed = pack(exec, y, all);
  REQUIRE_NOTHROW(matmul(exec, x, packed, z));
  REQUIRE_THROWS_AS(matmul(exec, x, packed, z, {.strict = true}), contract_error);
  REQUIRE_THROWS_AS(matmul(exec, slice(x, 1, 0, 2), packed, z), contract_error);
  REQUIRE_THROWS_AS(matmul(exec, x, packed, slice(z, 1, 0, 3)), contract_error);
  view<float, 2> const over(reinterpret_cast<float*>(all.data()), dims<2>(2, 4));
  REQUIRE_THROWS_AS(matmul(exec, x, packed, over), contract_error);
}
