// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/attention/options.hpp>

#include "support/catch.hpp"

using namespace heddle;
namespace at = heddle::attention;

TEST_CASE("options with a mask keep the defaults", "[attention]") {
  auto const o = at::with_mask(at::causal{} & at::window(3, 0));
  REQUIRE(o.mask.visible(5, 2));
  REQUIRE_FALSE(o.mask.visible(5, 1));
  REQUIRE(o.sequences == 1);
  REQUIRE_FALSE(o.softcap.given());
  static_assert(std::is_trivially_copyable_v<at::options<>>);
}

TEST_CASE("options with a bias keep the defaults", "[attention]") {
  auto const o = at::with_bias(at::alibi(4), at::window(3, 0));
  REQUIRE(o.bias.slope(3) == 0x1p-8);
  REQUIRE_FALSE(o.mask.visible(5, 1));
  REQUIRE(o.sinks_in_lse);
  REQUIRE(o.drop.probability == 0);
  static_assert(std::is_trivially_copyable_v<decltype(o)>);
}
