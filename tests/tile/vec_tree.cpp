// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/core/tree.hpp>
#include <heddle/tile/targets.hpp>
#include <heddle/tile/vec.hpp>

#include "support/catch.hpp"
#include "support/numbers.hpp"

// Inside heddle, because at global scope the C library's fma and sqrt would take part.
namespace heddle {

namespace {
// Neither commutative nor associative, so that any other order shows.
struct mixing {
  template <class V>
  HEDDLE_TILE V operator()(V const& a, V const& b) const {
    return fma(a, splat<V>(lane_t<V>(3)), V(mul(b, splat<V>(lane_t<V>(5)))));
  }
};
struct scalar_only {
  template <class T>
  requires arithmetic<T> HEDDLE_TILE T operator()(T a, T b) const { return mixing{}(a, b); }
};

template <int W>
struct reduce_body {
  template <class Isa, class T>
  HEDDLE_TILE void operator()(Isa, T const* in, T* out) const {
    constexpr int most = Isa::template lanes<T>, lanes = W < most ? W : most;
    auto const v = vec<T, W, lanes>::load(in);
    out[0] = tree_sum(v);
    out[1] = heddle::tree_reduce(v, mixing{});
    out[2] = heddle::tree_reduce(v, scalar_only{});
  }
};

template <class T, int W>
void check() {
  T in[W], out[3];
  std::uint64_t state = W;
  for (T& x : in) x = static_cast<T>(static_cast<std::int32_t>(test::next_random(state) >> 32) % 1000) / T(7);
  auto const leaf = [&](index_t i) { return in[i]; };
  T const sum = heddle::tree_reduce(W, leaf, [](T a, T b) { return add(a, b); });
  T const mixed = heddle::tree_reduce(W, leaf, [](T a, T b) { return mixing{}(a, b); });
  test::for_each_isa([&](isa set) {
    CAPTURE(W, name(set));
    dispatch_isa(reduce_body<W>{}, static_cast<T const*>(in), static_cast<T*>(out));
    REQUIRE(out[0] == sum);
    REQUIRE(out[1] == mixed);
    REQUIRE(out[2] == mixed);
  });
}
}  // namespace

TEMPLATE_TEST_CASE("lanes are reduced along the canonical tree", "[tile]", float, double, std::int32_t) {
  check<TestType, 1>();
  check<TestType, 2>();
  check<TestType, 4>();
  check<TestType, 8>();
  check<TestType, 16>();
  check<TestType, 32>();
  check<TestType, 64>();
}

}  // namespace heddle
