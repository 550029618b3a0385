// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "products.hpp"

#include <heddle/linalg/packed_operand.hpp>

using namespace heddle;

namespace {

// Large enough for panels to be read once: one register tile and several, panels that end early, pieces of a panel that
// end early, one piece of k and two.
constexpr index_t sizes[][3] = {{1, 67, 1001}, {2, 1030, 65},  {4, 33, 4101},  {6, 219, 301},  {7, 101, 700},
                                {9, 129, 511}, {14, 300, 219}, {15, 17, 4165}, {16, 257, 258}, {17, 300, 220}};

/// Products with a packed b against those with b itself.
template <class A, class T, class C, class Executor>
void require_bits_of_the_view(Executor& exec, index_t m, index_t n, index_t k, matmul_options const& options) {
  CAPTURE(m, n, k);
  test::matrices<A> a(1, m, k);
  test::matrices<T> b(1, k, n);
  test::matrices<C> c(1, m, n), d(1, m, n);
  a.levels(1), b.levels(2);
  if (options.beta != 0) c.random(3), d.random(3);
  auto const whole = [](auto const& v) { return select(v, 0, 0); };
  test::buffer<unsigned char> memory(packed_operand_bytes<T>(exec, k, n));
  packed_operand<T> const packed = pack(exec, whole(b.input()), memory.view());
  matmul(exec, whole(a.input()), packed, whole(c.view()), options);
  matmul(exec, whole(a.input()), whole(b.input()), whole(d.view()), options);
  exec.synchronize();
  REQUIRE(test::same_bits(c.values(), d.values()));
  REQUIRE((memory.intact() && c.intact()));
}

using decode_cases = std::tuple<test::serial_case, test::queued_threads_case>;

}  // namespace

TEMPLATE_LIST_TEST_CASE("few rows with packed weights have the bits of the weights", "[linalg]", decode_cases) {
  TestType setup;
  for (auto const& s : sizes) {
    require_bits_of_the_view<bf16, bf16, float>(setup.exec, s[0], s[1], s[2], {});
    require_bits_of_the_view<std::int8_t, std::int8_t, std::int32_t>(setup.exec, s[0], s[1], s[2], {3, -2});
  }
}

TEST_CASE("few rows with packed weights: every instruction set", "[linalg]") {
  test::for_each_isa([&](isa set) {
    INFO(name(set));
    threads_executor exec(2);
    test::watch_scratch(exec);
    for (auto const& s : sizes) {
      require_bits_of_the_view<bf16, bf16, bf16>(exec, s[0], s[1], s[2], {0.5, 2});
      require_bits_of_the_view<std::int8_t, std::int8_t, float>(exec, s[0], s[1], s[2], {});
      require_bits_of_the_view<std::uint8_t, std::int8_t, std::int32_t>(exec, s[0], s[1], s[2], {});
      if (s[0] % 3 == 1) require_bits_of_the_view<float, float, float>(exec, s[0], s[1], s[2], {});
    }
    test::check_scratch(exec);
  });
}
