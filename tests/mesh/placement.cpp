// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/mesh/placement.hpp>

#include <support/catch.hpp>

using namespace heddle;

namespace {
template <class A, class B>
constexpr bool same = std::is_same_v<A, B>;
template <class P>
constexpr bool involutive = same<dual<dual<P>>, P>;

template <class S>
constexpr bool dual_is_involution = same<dual_spec<dual_spec<S>>, detail::map_spec<S, std::type_identity_t>>;
}  // namespace

TEST_CASE("the dual is an involution on the whole alphabet that has one", "[mesh]") {
  STATIC_REQUIRE(involutive<replicated>);
  STATIC_REQUIRE(involutive<varying>);
  STATIC_REQUIRE(involutive<partial<red::sum>>);
  STATIC_REQUIRE(involutive<resident>);
  STATIC_REQUIRE(involutive<shard<0>>);
  STATIC_REQUIRE(involutive<shard<3, layout::ceil>>);
  STATIC_REQUIRE(same<dual<partial<red::sum>>, varying>);
  STATIC_REQUIRE_FALSE(same<dual<partial<red::sum>>, replicated>);
  STATIC_REQUIRE_FALSE(has_dual<partial<red::max>>);
  STATIC_REQUIRE_FALSE(has_dual<partial<red::lse>>);
  STATIC_REQUIRE(dual_is_involution<spec<resident, varying, shard<0>, partial<red::sum>>>);
}

TEST_CASE("only replicated, shard and resident are legal at rest", "[mesh]") {
  STATIC_REQUIRE(at_rest_placement<replicated>);
  STATIC_REQUIRE(at_rest_placement<resident>);
  STATIC_REQUIRE(at_rest_placement<shard<1>>);
  STATIC_REQUIRE_FALSE(at_rest_placement<varying>);
  STATIC_REQUIRE_FALSE(at_rest_placement<partial<red::sum>>);
  STATIC_REQUIRE_FALSE(placement<int>);
  STATIC_REQUIRE(at_rest_spec<spec<resident>>);
  STATIC_REQUIRE(at_rest_spec<spec<resident, replicated, replicated, shard<0>>>);
  STATIC_REQUIRE_FALSE(at_rest_spec<spec<replicated>>);
  STATIC_REQUIRE_FALSE(at_rest_spec<spec<resident, resident>>);
  STATIC_REQUIRE_FALSE(at_rest_spec<spec<resident, varying>>);
  STATIC_REQUIRE_FALSE(same<shard<0>, shard<0, layout::ceil>>);
}

TEST_CASE("a leaf is varying in use and its gradient partial on the axes that cut tokens", "[mesh]") {
  using leaf = spec<resident, replicated, replicated, shard<1>>;
  STATIC_REQUIRE(same<placement_on<leaf, axis::tp>, shard<1>>);
  STATIC_REQUIRE(same<placement_on<leaf, axis::ep>, replicated>);
  STATIC_REQUIRE(same<in_use<leaf>, spec<resident, varying, varying, shard<1>, replicated>>);
  STATIC_REQUIRE(same<gradient<leaf>, spec<resident, partial<red::sum>, partial<red::sum>, shard<1>, replicated>>);
  STATIC_REQUIRE(same<in_use<spec<resident, shard<0>>>, spec<resident, shard<0>, varying, replicated, replicated>>);
}
