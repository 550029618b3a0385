// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/backend/cpu/tile_context.hpp>
#include <heddle/exec/serial_executor.hpp>
#include <heddle/optim/adam.hpp>
#include <heddle/optim/sgd.hpp>
#include <heddle/optim/shard.hpp>

#include <support/catch.hpp>

using namespace heddle;

namespace {

/// A user's rule of the minimum members, without state: p <- p - lr g.
struct descent {
  static constexpr int arrays = 0;
  static char const* key(int) { return ""; }
  template <executor E, class T>
  void step(E& exec, view<T, 1> p, view<T const, 1> g, optim::state_views<T, 0> const&, view<index_t, 1> applied,
            optim::step_args<T> const& args) const {
    T const lr = static_cast<T>(args.lr);
    exec.for_each_tile(p.size(), [=](index_t i, int) { p(i) = p(i) - mul(lr, g(i)); });
    exec.for_each_tile(1, [=](index_t, int) { ++applied(0); });
  }
};
struct without_key {
  static constexpr int arrays = 0;
  template <class... A>
  void step(A const&...) const;
};
struct without_step {
  static constexpr int arrays = 1;
  static char const* key(int);
};
struct without_arrays {
  static char const* key(int);
  template <class... A>
  void step(A const&...) const;
};

template <class R>
constexpr bool is_rule = optim::update_rule_for<R, serial_executor, float>;

}  // namespace

TEST_CASE("update rules are known by their members", "[optim]") {
  STATIC_REQUIRE((is_rule<optim::adam> && is_rule<optim::sgd> && is_rule<descent>));
  STATIC_REQUIRE((optim::update_rule_for<optim::adam, serial_executor, double>));
  STATIC_REQUIRE((!is_rule<without_key> && !is_rule<without_step> && !is_rule<without_arrays> && !is_rule<int>));
  STATIC_REQUIRE((!optim::update_rule_for<optim::adam, int, float>));
}

TEST_CASE("a rule of the minimum members steps a shard", "[optim]") {
  serial_executor exec;
  host_space space;
  {
    optim::flat_layout const layout({{3, 0}}, 1);
    optim::optimizer_shard<descent, float, serial_executor> shard(exec, space, descent{}, layout, 0, {{}});
    float p[3] = {1, 2, 3};
    float const g[3] = {2, 4, 6};
    optim::step_args<float> args{};
    args.lr = 0.5;
    shard.step(p, g, args);
    exec.synchronize();
    for (float v : p) CHECK(v == 0);
    CHECK(shard.applied()(0) == 1);
  }
  CHECK(space.counts().live == 0);
}
