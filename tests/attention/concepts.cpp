// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/attention/backward.hpp>
#include <heddle/attention/forward.hpp>
#include <heddle/exec/reference_executor.hpp>

#include <support/catch.hpp>

using namespace heddle;

namespace {

/// The members of a mask and nothing else: every query sees key 1 alone.
struct second_key {
  bool visible(index_t, index_t j) const { return j == 1; }
  attention::block kv_range(attention::block) const { return {1, 2}; }
  attention::block_kind kind(attention::block, attention::block) const { return attention::block_kind::partial; }
};
struct without_kind {
  bool visible(index_t, index_t) const;
  attention::block kv_range(attention::block) const;
};
struct visible_as_number {
  int visible(index_t, index_t) const;
  attention::block kv_range(attention::block) const;
  attention::block_kind kind(attention::block, attention::block) const;
};
struct owning : second_key {
  ~owning() {}
};

}  // namespace

TEST_CASE("masks are known by their members", "[attention]") {
  STATIC_REQUIRE((attention::mask<attention::full> && attention::mask<attention::causal>));
  STATIC_REQUIRE((attention::mask<attention::window> && attention::mask<second_key>));
  STATIC_REQUIRE(attention::mask<attention::both<attention::causal, second_key>>);
  STATIC_REQUIRE((!attention::mask<without_kind> && !attention::mask<visible_as_number>));
  STATIC_REQUIRE((!attention::mask<owning> && !attention::mask<int>));
}

TEST_CASE("a mask of the minimum members serves both passes", "[attention]") {
  reference_executor exec;
  float const x[3] = {1, 2, 3}, ones[3] = {1, 1, 1};
  float out[3], lse[3], dq[3], dk[3], dv[3];
  dims<3> const tokens(3, 1, 1);
  view<float const, 3> const in(x, tokens), dout(ones, tokens);
  view<float, 3> const y(out, tokens);
  view<float, 2> const sums(lse, dims<2>(1, 3));
  auto const o = attention::with_mask(second_key{});
  attention::forward(exec, in, in, in, y, sums, o);
  attention::backward(exec, in, in, in, y, sums, dout, view<float, 3>(dq, tokens), view<float, 3>(dk, tokens),
                      view<float, 3>(dv, tokens), o);
  for (float v : out) CHECK(v == 2);
  CHECK(dv[0] == 0);
  CHECK(dv[1] == 3);
}
