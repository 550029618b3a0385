// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// @file
/// Digests of what every numeric building block gives on fixed inputs. They stand in the source, so that this file,
/// built by any compiler at any level and with any flags, asserts the bits of all the others.

#include <heddle/core/math.hpp>
#include <heddle/core/philox.hpp>
#include <heddle/tile/targets.hpp>
#include <heddle/tile/vec.hpp>

#include "support/catch.hpp"
#include "support/numbers.hpp"

namespace heddle {
namespace {

#define HEDDLE_TEST_FUNCTION(name, ...)          \
  struct name {                                  \
    template <class V>                           \
    HEDDLE_TILE V operator()(V const& x) const { \
      using T [[maybe_unused]] = lane_t<V>;      \
      return __VA_ARGS__;                        \
    }                                            \
  }
HEDDLE_TEST_FUNCTION(f_exp, exp(x));
HEDDLE_TEST_FUNCTION(f_exp2, exp2(x));
HEDDLE_TEST_FUNCTION(f_log, log(x));
HEDDLE_TEST_FUNCTION(f_rsqrt, rsqrt(x));
HEDDLE_TEST_FUNCTION(f_tanh, tanh(x));
HEDDLE_TEST_FUNCTION(f_erf, erf(x));
HEDDLE_TEST_FUNCTION(f_sin, sin(x));
HEDDLE_TEST_FUNCTION(f_cos, cos(x));
HEDDLE_TEST_FUNCTION(f_bf16, rounded_to<bf16>(x));
HEDDLE_TEST_FUNCTION(f_fp16, rounded_to<fp16>(x));
HEDDLE_TEST_FUNCTION(f_e4m3, rounded_to<fp8_e4m3>(x));
HEDDLE_TEST_FUNCTION(f_e5m2, rounded_to<fp8_e5m2>(x));
// A dot-like chain, in which an unwanted or a missing fusion shows.
HEDDLE_TEST_FUNCTION(f_chain,
                     fma(x, splat<V>(T(1.1)), V(V(mul(x, splat<V>(T(0.7))) + x) - V(mul(x, x) / splat<V>(T(3))))));

template <class F>
struct map_body {
  template <class Isa, class T>
  HEDDLE_TILE void operator()(Isa, T* o, T const* a, index_t n) const {
    using V = vec<T, 2 * Isa::template lanes<T>, Isa::template lanes<T>>;
    for (index_t i = 0; i < n; i += V::width) V(F{}(V::load(a + i, n - i))).store(o + i, n - i);
  }
};

template <class T, class F>
void check(char const* what, std::uint64_t right) {
  auto const in = test::mixed_numbers<T>(4001, 42);
  std::vector<T> out(in.size());
  for (std::size_t i = 0; i < in.size(); ++i) out[i] = F{}(in[i]);
  CAPTURE(what, sizeof(T));
  CHECK(test::digest(out) == right);
  test::for_each_isa([&](isa set) {
    CAPTURE(name(set));
    std::fill(out.begin(), out.end(), T(0));
    dispatch_isa(map_body<F>{}, out.data(), in.data(), index_t(in.size()));
    CHECK(test::digest(out) == right);
  });
}

}  // namespace

TEST_CASE("bits of functions of float", "[tile]") {
  check<float, f_exp>("exp", 0x4DECB1DCD2E02F72u);
  check<float, f_exp2>("exp2", 0xE40C34D0F8B07375u);
  check<float, f_log>("log", 0x52FBFCE6EBC13396u);
  check<float, f_rsqrt>("rsqrt", 0x6915B8BC72D1162Du);
  check<float, f_tanh>("tanh", 0x9848A4A6E91812B0u);
  check<float, f_erf>("erf", 0xA914258E69BC056Fu);
  check<float, f_sin>("sin", 0xFB3828CF0735C235u);
  check<float, f_cos>("cos", 0x9BB566DDEA07A6B4u);
  check<float, f_chain>("chain", 0x23EF8FC7920DF535u);
  check<float, f_bf16>("bf16", 0x8EC9B332F210A186u);
  check<float, f_fp16>("fp16", 0x083E22DCFB336186u);
  check<float, f_e4m3>("e4m3", 0x9029B30060C5A186u);
  check<float, f_e5m2>("e5m2", 0x718DC764F775A186u);
}

TEST_CASE("bits of functions of double", "[tile]") {
  check<double, f_exp>("exp", 0x27CED584B76EFA65u);
  check<double, f_exp2>("exp2", 0x89B1D3B312232FF2u);
  check<double, f_log>("log", 0x52CE99D108D95AAAu);
  check<double, f_rsqrt>("rsqrt", 0x0065721D60D085D1u);
  check<double, f_tanh>("tanh", 0xF34AC3E4A4FD64F3u);
  check<double, f_erf>("erf", 0x8CB899067F08FDEEu);
  check<double, f_sin>("sin", 0xB9674AFABED9B02Au);
  check<double, f_cos>("cos", 0x0CF3FBF251913805u);
  check<double, f_chain>("chain", 0xEF094C83878E588Fu);
}

TEST_CASE("bits of powers and random numbers", "[tile]") {
  auto const a = test::mixed_numbers<double>(4001, 5), b = test::mixed_numbers<double>(4001, 6);
  std::vector<double> power(a.size());
  std::vector<float> narrow_power(a.size()), normal(4000);
  for (std::size_t i = 0; i < a.size(); ++i) {
    power[i] = pow(abs(a[i]), b[i]);
    narrow_power[i] = pow(static_cast<float>(i + 1) * 0.01f, static_cast<float>(i % 37) - 18.5f);
  }
  philox const random(77, 5);
  for (std::size_t i = 0; i < normal.size(); ++i) normal[i] = random.normal(i);
  CHECK(test::digest(power) == 0xDE99135F5A2BD4F8u);
  CHECK(test::digest(narrow_power) == 0x23B26030416C2DD1u);
  CHECK(test::digest(normal) == 0x0A779D56D4812B6Fu);
}

}  // namespace heddle
