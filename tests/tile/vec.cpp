// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/core/tree.hpp>
#include <heddle/tile/targets.hpp>
#include <heddle/tile/vec.hpp>

#include "support/catch.hpp"
#include "support/numbers.hpp"

#include <sys/mman.h>
#include <unistd.h>
#include <cstring>

// Inside heddle, because at global scope the C library's fma and sqrt would take part.
namespace heddle {

namespace {

#define HEDDLE_TEST_OP(name, ...)                                        \
  struct name {                                                          \
    template <class V>                                                   \
    HEDDLE_TILE V operator()(V const& a, V const& b, V const& c) const { \
      using T [[maybe_unused]] = lane_t<V>;                              \
      static_cast<void>(b), static_cast<void>(c);                        \
      return __VA_ARGS__;                                                \
    }                                                                    \
  }
HEDDLE_TEST_OP(op_fma, fma(a, b, c));
HEDDLE_TEST_OP(op_mul_add, add(mul(a, b), c));
HEDDLE_TEST_OP(op_sum, add(a, V(mul(b, splat<V>(T(3))))));
HEDDLE_TEST_OP(op_max, max(a, b));
HEDDLE_TEST_OP(op_min, min(a, b));
HEDDLE_TEST_OP(op_abs, abs(a));
HEDDLE_TEST_OP(op_select_lt, select(a < b, a, c));
HEDDLE_TEST_OP(op_select_ge, select(a >= b, b, c));
HEDDLE_TEST_OP(op_select_eq, select((a == b) | (b == c), a, b));
HEDDLE_TEST_OP(op_select_ne, select((!(a != a)) & (b <= c), c, b));
HEDDLE_TEST_OP(op_select_gt, select((a > b) ^ (b > c), c, b));
HEDDLE_TEST_OP(op_divide, a / b);
HEDDLE_TEST_OP(op_subtract, a - b);
HEDDLE_TEST_OP(op_sqrt, sqrt(a));
HEDDLE_TEST_OP(op_negate, V(-a));
HEDDLE_TEST_OP(op_logic, V(V(a& b) ^ V(V(~a) | c)));
HEDDLE_TEST_OP(op_shift, V(shift_left<3>(a) ^ shift_right<5>(b)));
HEDDLE_TEST_OP(op_bits, bit_cast<T>(V(bit_cast<T>(bit_cast<int_bits_t<T>>(a)))));

template <class V, class Op, class T>
HEDDLE_TILE void over(Op op, T* o, T const* a, T const* b, T const* c, index_t n) {
  for (index_t i = 0; i < n; i += V::width) op(V::load(a + i), V::load(b + i), V::load(c + i)).store(o + i);
}
template <class Op, bool Wide>
struct lanewise {
  template <class Isa, class T>
  HEDDLE_TILE void operator()(Isa, T* o, T const* a, T const* b, T const* c, index_t n) const {
    constexpr int lanes = Isa::template lanes<T>;
    over<vec<T, (Wide ? 64 : lanes), lanes>>(Op{}, o, a, b, c, n);
  }
};

template <class T, class Op>
void check(char const* what) {
  std::size_t const n = 4096;
  auto const a = test::mixed_numbers<T>(n, 1), b = test::mixed_numbers<T>(n, 2);
  auto c = test::mixed_numbers<T>(n, 3);
  for (std::size_t i = 0; i < n; i += 3) c[i] = b[(i * 7) % n];
  std::vector<T> a2(n);  // every special value meets every other
  for (std::size_t i = 0; i < n; ++i) a2[i] = i < 1024 ? a[(i / 32) % 32] : a[i];
  std::vector<T> b2 = b;
  for (std::size_t i = 0; i < 1024; ++i) b2[i] = b[i % 32];
  std::vector<T> expected(n);
  for (std::size_t i = 0; i < n; ++i) expected[i] = Op{}(a2[i], b2[i], c[i]);
  test::for_each_isa([&](isa set) {
    CAPTURE(what, name(set));
    std::vector<T> got(n, T(77));
    dispatch_isa(lanewise<Op, false>{}, got.data(), a2.data(), b2.data(), c.data(), index_t(n));
    REQUIRE(test::first_difference(got, expected) == -1);
    std::fill(got.begin(), got.end(), T(77));
    dispatch_isa(lanewise<Op, true>{}, got.data(), a2.data(), b2.data(), c.data(), index_t(n));
    REQUIRE(test::first_difference(got, expected) == -1);
  });
}
template <class T>
void check_common() {
  check<T, op_fma>("fma");
  check<T, op_mul_add>("mul and add");
  check<T, op_sum>("sum");
  check<T, op_max>("max");
  check<T, op_min>("min");
  check<T, op_abs>("abs");
  check<T, op_select_lt>("<");
  check<T, op_select_ge>(">=");
  check<T, op_select_eq>("==");
  check<T, op_select_ne>("!=");
  check<T, op_select_gt>(">");
  check<T, op_bits>("bit_cast");
}

}  // namespace

TEMPLATE_TEST_CASE("every lane has the bits of the scalar operation", "[tile]", float, double) {
  check_common<TestType>();
  check<TestType, op_divide>("/");
  check<TestType, op_subtract>("-");
  check<TestType, op_sqrt>("sqrt");
  check<TestType, op_negate>("negation");
}

TEMPLATE_TEST_CASE("every lane has the bits of the scalar operation on integers", "[tile]", std::int32_t, std::uint32_t,
                   std::int64_t) {
  check_common<TestType>();
  check<TestType, op_logic>("logic");
  check<TestType, op_shift>("shifts");
}

namespace {
template <class V>
void check_basics() {
  using T = typename V::value_type;
  T numbers[V::width];
  for (int i = 0; i < V::width; ++i) numbers[i] = T(i + 1);
  V const v = V::load(numbers);
  for (int i = 0; i < V::width; ++i) {
    REQUIRE(v[i] == T(i + 1));
    REQUIRE((v + T(2))[i] == T(i + 3));
    REQUIRE((T(3) * v)[i] == T(3 * (i + 1)));
    REQUIRE(V::iota()[i] == T(i));
    REQUIRE(V::splat(T(5))[i] == T(5));
    REQUIRE(V::zero()[i] == T(0));
    REQUIRE(fma(v, T(2), T(1))[i] == T(2 * i + 3));
    REQUIRE(select(v > T(2), T(9), v)[i] == (i + 1 > 2 ? T(9) : T(i + 1)));
  }
  REQUIRE(all(v > T(0)));
  REQUIRE(any(v == T(V::width)));
  REQUIRE_FALSE(any(v == T(0)));
  REQUIRE(all(v > T(1)) == false);
  REQUIRE(alignof(V) == sizeof(T) * V::register_lanes);
  STATIC_REQUIRE(std::is_trivially_copyable_v<V>);
}
}  // namespace

TEST_CASE("widths from one to 64 in baseline registers", "[tile]") {
  check_basics<vec<float, 1>>();
  check_basics<vec<float, 2>>();
  check_basics<vec<float, 4>>();
  check_basics<vec<float, 16, 4>>();
  check_basics<vec<float, 64, 4>>();
  check_basics<vec<double, 1>>();
  check_basics<vec<double, 2>>();
  check_basics<vec<double, 64, 2>>();
  check_basics<vec<std::int32_t, 8, 4>>();
  check_basics<vec<std::uint32_t, 4>>();
  check_basics<vec<std::uint16_t, 8>>();
  check_basics<vec<std::uint8_t, 16>>();
}

namespace {
// Memory that ends at a page which can't be touched.
class fenced {
 public:
  fenced() : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
    base_ = static_cast<char*>(mmap(nullptr, 2 * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(base_ + page_, page_, PROT_NONE);
  }
  fenced(fenced const&) = delete;
  fenced& operator=(fenced const&) = delete;
  ~fenced() { munmap(base_, 2 * page_); }
  template <class T>
  T* last(std::ptrdiff_t n) const {
    return reinterpret_cast<T*>(base_ + page_) - n;
  }

 private:
  std::size_t page_;
  char* base_;
};

template <bool Wide>
struct copy_part {
  template <class Isa, class T>
  HEDDLE_TILE void operator()(Isa, T* o, T const* a, std::ptrdiff_t n, T* all_lanes, T* filled) const {
    constexpr int lanes = Isa::template lanes<T> < 16 ? Isa::template lanes<T> : 16;
    using V = vec<T, (Wide ? 64 : lanes), lanes>;
    V const v = V::load(a, n);
    v.store(o, n);
    v.store(all_lanes);
    V::load(a, n, T(7)).store(filled);
    for (int i = V::width; i < 64; ++i) all_lanes[i] = T(0), filled[i] = T(7);
  }
};

template <class T, bool Wide>
void check_parts() {
  fenced const from, to;
  for (std::ptrdiff_t n = -1; n <= 65; ++n) {
    std::ptrdiff_t const have = n < 0 ? 0 : n;
    T* const a = from.last<T>(have);
    T* const o = to.last<T>(have);
    for (std::ptrdiff_t i = 0; i < have; ++i) a[i] = T(i + 1), o[i] = T(0);
    T* const before = o - 1;
    *before = T(99);
    T lanes[64], filled[64];
    dispatch_isa(copy_part<Wide>{}, o, static_cast<T const*>(a), n, static_cast<T*>(lanes), static_cast<T*>(filled));
    REQUIRE(*before == T(99));
    std::ptrdiff_t copied = 0;
    while (copied < have && o[copied] == T(copied + 1)) ++copied;
    for (std::ptrdiff_t i = 0; i < 64; ++i) {
      bool const present = i < copied;
      if (lanes[i] != (present ? T(i + 1) : T(0))) FAIL("lane " << i << " of " << n);
      if (filled[i] != (present ? T(i + 1) : T(7))) FAIL("filled lane " << i << " of " << n);
    }
    if (Wide && copied != (have < 64 ? have : 64)) FAIL("copied " << copied << " of " << n);
    if (!Wide && copied < (have < 2 ? have : 2)) FAIL("copied " << copied << " of " << n);
  }
}
}  // namespace

TEMPLATE_TEST_CASE("a part is loaded and stored without touching what lies behind", "[tile]", float, double,
                   std::int32_t, std::uint16_t, std::uint8_t) {
  test::for_each_isa([&](isa set) {
    CAPTURE(name(set));
    check_parts<TestType, false>();
    check_parts<TestType, true>();
  });
  SUCCEED();
}

}  // namespace heddle
