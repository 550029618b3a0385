// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/tile/targets.hpp>
#include <heddle/tile/vec.hpp>

#include "support/catch.hpp"
#include "support/numbers.hpp"

namespace heddle {
namespace {

struct widen_all {
  template <class Isa, class S>
  HEDDLE_TILE void operator()(Isa, float* o, S const* a, index_t n) const {
    using V = vec<float, 64, Isa::template lanes<float>>;
    for (index_t i = 0; i < n; i += V::width) load_as<V>(a + i, n - i).store(o + i, n - i);
  }
};
struct narrow_all {
  template <class Isa, class S>
  HEDDLE_TILE void operator()(Isa, S* o, float const* a, index_t n) const {
    using V = vec<float, Isa::template lanes<float>>;
    index_t i = 0;
    for (; i + V::width <= n; i += V::width) store_as(o + i, V::load(a + i));
    store_as(o + i, V::load(a + i, n - i), n - i);
  }
};

template <class S>
void check_narrow_float() {
  std::vector<S> codes;
  for (std::uint32_t i = 0; i < (1u << (8 * sizeof(S))); ++i)
    codes.push_back(S::from_bits(static_cast<decltype(S::bits)>(i)));
  codes.push_back(S(1.0f));  // an odd number of them
  std::vector<float> const source = test::mixed_numbers<float>(20011, 5);
  test::for_each_isa([&](isa set) {
    CAPTURE(name(set), scalar_name<S>());
    std::vector<float> wide(codes.size(), -1.0f);
    dispatch_isa(widen_all{}, wide.data(), static_cast<S const*>(codes.data()), index_t(codes.size()));
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < codes.size(); ++i)
      wrong += bit_cast<std::uint32_t>(wide[i]) != bit_cast<std::uint32_t>(float(codes[i]));
    REQUIRE(wrong == 0);
    std::vector<S> narrow(source.size(), S(-1.0f));
    dispatch_isa(narrow_all{}, narrow.data(), source.data(), index_t(source.size()));
    for (std::size_t i = 0; i < source.size(); ++i) wrong += narrow[i].bits != S(source[i]).bits;
    REQUIRE(wrong == 0);
  });
}
}  // namespace

TEST_CASE("vectors of narrow floats convert with the bits of the scalar conversion", "[tile]") {
  check_narrow_float<bf16>();
  check_narrow_float<fp16>();
  check_narrow_float<fp8_e4m3>();
  check_narrow_float<fp8_e5m2>();
}

TEST_CASE("loads and stores convert by value between numbers", "[tile]") {
  float const from[4] = {1.5f, -2.0f, 1e30f, 0.1f};
  auto const wide = load_as<vec<double, 4, 2>>(from);
  for (int i = 0; i < 4; ++i) REQUIRE(wide[i] == double(from[i]));
  auto const part = load_as<vec<double, 4, 2>>(from, 3);
  REQUIRE(part[2] == double(1e30f));
  REQUIRE(part[3] == 0.0);
  float back[4] = {7, 7, 7, 7};
  store_as(back, wide, 2);
  REQUIRE(back[1] == -2.0f);
  REQUIRE(back[2] == 7.0f);
  store_as(back, wide);
  REQUIRE(back[3] == 0.1f);
  REQUIRE(load_as<float>(from + 1) == -2.0f);
  bf16 one;
  store_as(&one, 1.00390625f);
  REQUIRE(one.bits == 0x3F80);
}

TEST_CASE("rounding to a narrow float keeps lanes of float", "[tile]") {
  auto const v = vec<float, 4>::load(std::vector<float>{1.001f, 3.0f, 65520.0f, -1e-9f}.data());
  auto const b = rounded_to<bf16>(v);
  auto const h = rounded_to<fp16>(v);
  for (int i = 0; i < 4; ++i) {
    REQUIRE(b[i] == float(bf16(v[i])));
    REQUIRE(h[i] == float(fp16(v[i])));
  }
  REQUIRE(rounded_to<float>(v)[0] == 1.001f);
  REQUIRE(rounded_to<bf16>(1.001f) == float(bf16(1.001f)));
}

}  // namespace heddle
