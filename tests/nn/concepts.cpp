// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/backend/reference/tile_context.hpp>
#include <heddle/exec/context.hpp>
#include <heddle/exec/reference_executor.hpp>
#include <heddle/nn/activation_layers.hpp>
#include <heddle/nn/ends.hpp>
#include <heddle/nn/repeat.hpp>
#include <heddle/nn/sequence.hpp>

#include <support/catch.hpp>

#include <vector>

using namespace heddle;
using nn::life;

namespace {

template <class E, class X, class Y>
void twice(E& exec, X const& x, Y const& y) {
  exec.for_each_tile(x.extent(0), [=](index_t r, int) {
    for (index_t c = 0; c < x.extent(1); ++c) y(r, c) = 2 * x(r, c);
  });
}

/// A user's layer of the minimum members: y = 2 x.
struct doubling {
  struct plan {};
  template <class F>
  struct parameters {};
  template <class F>
  parameters<F> tree() const {
    return {};
  }
  template <class Visitor, class... Trees>
  void describe(Visitor&, Trees&...) const {}
  index_t out_width(index_t in) const { return in; }
  plan make_plan(nn::planner&, nn::layer_shape const&) const { return {}; }
  life keep_x() const { return life::fwd; }
  life keep_y() const { return life::fwd; }
  life keep_dy() const { return life::bwd; }
  template <class Call, class Weights, class X, class Y>
  void forward(Call const& call, Weights const&, X const& x, Y const& y, plan const&, nn::frame const&) const {
    twice(call.exec(), x, y);
  }
  template <class Call, class Weights, class X, class Y, class DY, class DX>
  void backward_input(Call const& call, Weights const&, X const&, Y const&, DY const& dy, DX const& dx, plan const&,
                      nn::frame const&) const {
    twice(call.exec(), dy, dx);
  }
  template <class Call, class X, class DY, class Gradients>
  void backward_weight(Call const&, X const&, DY const&, plan const&, nn::frame const&, Gradients&) const {}
};
struct without_plan {
  index_t out_width(index_t) const;
  life keep_x() const;
  life keep_y() const;
  life keep_dy() const;
};
struct owning : doubling {
  ~owning() {}
};
struct wide_source {
  index_t width() const { return 8; }
};
struct width_as_text {
  char const* width() const;
};
struct sink_without_keep_x {
  struct plan {};
  plan make_plan(nn::planner&, nn::layer_shape const&) const;
};

}  // namespace

TEST_CASE("layers, sources and sinks are known by their members", "[nn]") {
  STATIC_REQUIRE((nn::layer<nn::gelu_layer> && nn::layer<doubling> && nn::layer<nn::repeat<doubling>>));
  STATIC_REQUIRE((nn::layer<nn::sequence<doubling, nn::gelu_layer>>));
  STATIC_REQUIRE((!nn::layer<without_plan> && !nn::layer<owning> && !nn::layer<int>));
  STATIC_REQUIRE((nn::source_layer<nn::token_source<"a", "b">> && nn::source_layer<wide_source>));
  STATIC_REQUIRE((!nn::source_layer<width_as_text> && !nn::source_layer<doubling>));
  STATIC_REQUIRE((nn::sink_layer<nn::cross_entropy_sink> && !nn::sink_layer<sink_without_keep_x>));
}

TEST_CASE("a layer of the minimum members stands in combinators", "[nn]") {
  reference_executor exec;
  context const run(exec);
  call<context<reference_executor>> const c{&run};
  nn::sequence<doubling, nn::repeat<doubling>> const layer(doubling{}, nn::repeat<doubling>{{}, 0, 2});
  nn::planner planned(sizeof(float));
  auto const plan = layer.make_plan(planned, {1, 2, 3});
  std::vector<float> memory[nn::lives];
  nn::frame frame{};
  for (int l = 0; l < nn::lives; ++l) {
    memory[l].resize(planned.bytes(static_cast<life>(l)) / sizeof(float));
    frame.base[l] = reinterpret_cast<std::byte*>(memory[l].data());
  }
  auto const weights = layer.tree<nn::in_use<float>>();
  float x[6] = {1, 2, 3, 4, 5, 6}, y[6] = {}, dx[6] = {};
  dims<2> const e(2, 3);
  view<float const, 2> const in(x, e);
  layer.forward(c, weights, in, view<float, 2>(y, e), plan, frame);
  layer.backward_input(c, weights, in, in, in, view<float, 2>(dx, e), plan, frame);
  for (int i = 0; i < 6; ++i) {
    CHECK(y[i] == 8 * x[i]);
    CHECK(dx[i] == 8 * x[i]);
  }
}
