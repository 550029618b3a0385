// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Every layer against central differences in double: dx, and the gradient of each parameter.

#include <heddle/attention/layer.hpp>
#include <heddle/backend/reference/matmul.hpp>
#include <heddle/backend/reference/tile_context.hpp>
#include <heddle/exec/context.hpp>
#include <heddle/exec/reference_executor.hpp>
#include <heddle/nn/activation_layers.hpp>
#include <heddle/nn/concat.hpp>
#include <heddle/nn/linear.hpp>
#include <heddle/nn/named.hpp>
#include <heddle/nn/norm_layers.hpp>
#include <heddle/nn/recomputed.hpp>
#include <heddle/nn/repeat.hpp>
#include <heddle/nn/residual.hpp>
#include <heddle/nn/sequence.hpp>

#include <support/catch.hpp>

#include <cmath>
#include <vector>

namespace heddle {
namespace {

double wave(index_t i, double step) { return std::sin(0.7 + step * static_cast<double>(i)); }

/// A layer with everything that a pass needs, in double.
template <class Layer>
struct bench {
  using context_type = context<reference_executor>;
  static constexpr index_t sequences = 2, tokens = 3, rows = sequences * tokens;

  Layer layer;
  index_t in, out;
  reference_executor exec;
  context_type ctx{exec};
  nn::planner planned{sizeof(double)};
  typename Layer::plan plan;
  std::vector<std::byte> regions[nn::lives];
  nn::frame frame;
  typename Layer::template parameters<nn::in_use<double>> weights;
  typename Layer::template parameters<nn::gradient<double>> gradients;
  std::vector<double> w, dw, x, y, dy, dx;

  bench(Layer const& l, index_t width) : layer(l), in(width), out(l.out_width(width)) {
    plan = layer.make_plan(planned, {sequences, tokens, in});
    for (int i = 0; i < nn::lives; ++i) {
      regions[i].assign(planned.bytes(static_cast<nn::life>(i)) + 64, std::byte{0xFF});
      frame.base[i] = regions[i].data();
    }
    weights = layer.template tree<nn::in_use<double>>();
    gradients = layer.template tree<nn::gradient<double>>();
    index_t n = 0;
    nn::for_each_leaf(layer, [&](char const*, auto const& e, nn::leaf_options const&) { n += e.size(); });
    w.resize(static_cast<std::size_t>(n));
    dw.assign(w.size(), NAN);
    for (index_t i = 0; i < n; ++i) w[static_cast<std::size_t>(i)] = 0.6 * wave(i, 1.3);
    index_t at = 0;
    nn::for_each_leaf(
        layer,
        [&](char const*, auto const& e, nn::leaf_options const&, auto& leaf, auto& gradient) {
          leaf.local = {w.data() + at, e};
          gradient.local = {dw.data() + at, e};
          at += e.size();
        },
        weights, gradients);
    for (index_t i = 0; i < rows * in; ++i) x.push_back(1.5 * wave(i, 0.9));
    for (index_t i = 0; i < rows * out; ++i) dy.push_back(wave(i, 2.1));
    y.assign(dy.size(), NAN);
    dx.assign(x.size(), NAN);
  }

  view<double const, 2> input() const { return {x.data(), dims<2>(rows, in)}; }
  view<double, 2> output() { return {y.data(), dims<2>(rows, out)}; }

  /// The scalar whose gradient the backward pass gives: the sum of y dy.
  double value() {
    layer.forward(call<context_type>{&ctx}, weights, input(), output(), plan, frame);
    double sum = 0;
    for (std::size_t i = 0; i < y.size(); ++i) sum += y[i] * dy[i];
    return sum;
  }
  void backward() {
    value();
    call<context_type> const c{&ctx};
    view<double const, 2> const g(dy.data(), dims<2>(rows, out));
    layer.backward_input(c, weights, nn::detail::only_if(nn::detail::lasts_to_backward(layer.keep_x()), input()),
                         nn::detail::only_if(nn::detail::lasts_to_backward(layer.keep_y()),
                                             view<double const, 2>(output())),
                         g, view<double, 2>(dx.data(), dims<2>(rows, in)), plan, frame);
    layer.backward_weight(c, nn::detail::only_if(nn::detail::lasts_to_weights(layer.keep_x()), input()),
                          nn::detail::only_if(nn::detail::lasts_to_weights(layer.keep_dy()), g), plan, frame,
                          gradients);
  }

  /// Central differences have an error of h^2 times the third derivative, and of u |value| / h.
  void compare(std::vector<double>& values, std::vector<double> const& gradient) {
    constexpr double h = 1e-5;
    for (std::size_t i = 0; i < values.size(); ++i) {
      double const before = values[i];
      values[i] = before + h;
      double const above = value();
      values[i] = before - h;
      double const below = value();
      values[i] = before;
      CAPTURE(i);
      REQUIRE(std::abs(gradient[i] - (above - below) / (2 * h)) < 3e-8 * (1 + std::abs(gradient[i])));
    }
  }
  void check() {
    backward();
    compare(x, dx);
    compare(w, dw);
  }
};

template <class Layer>
void check_gradients(Layer const& layer, index_t width) {
  bench<Layer>(layer, width).check();
}

nn::linear linear(index_t in, index_t out, bool bias = true) {
  return {in, out, bias, nn::weight_layout::in_out, 0.02};
}

}  // namespace

TEST_CASE("linear layers in both layouts", "[nn]") {
  check_gradients(linear(5, 4), 5);
  check_gradients(nn::linear{5, 4, false, nn::weight_layout::out_in, 0.02}, 5);
}

TEST_CASE("norms", "[nn]") {
  check_gradients(nn::layer_norm_layer{7, 1e-5}, 7);
  check_gradients(nn::rms_norm_layer{7, 1e-5}, 7);
}

TEST_CASE("activations", "[nn]") {
  check_gradients(nn::gelu_layer(nn::gelu_form::tanh), 5);
  check_gradients(nn::gelu_layer(nn::gelu_form::erf), 5);
  check_gradients(nn::swiglu_layer{}, 6);
}

TEST_CASE("rope turns back", "[nn]") { check_gradients(nn::rope_layer(2, 4, 100.0), 11); }

TEST_CASE("causal attention with grouped heads", "[nn]") {
  check_gradients(attention::causal_layer(4, 2, 3), 24);
}

TEST_CASE("combinators", "[nn]") {
  auto const branch = nn::sequence(nn::name<"a">(nn::layer_norm_layer{4, 1e-5}), nn::name<"b">(linear(4, 6)),
                                   nn::gelu_layer(nn::gelu_form::tanh), nn::name<"c">(linear(6, 4)));
  check_gradients(branch, 4);
  check_gradients(nn::residual{branch}, 4);
  check_gradients(nn::concat{linear(4, 3), nn::concat{linear(4, 2, false), linear(4, 1)}}, 4);
  check_gradients(nn::repeat<nn::residual<decltype(branch)>>{{branch}, 3, 3}, 4);
  check_gradients(nn::repeat<nn::residual<decltype(branch)>>{{branch}, 0, 0}, 4);
  // A residual around a layer that keeps its own output.
  auto const attend = nn::sequence(nn::name<"q">(linear(4, 12)), attention::causal_layer(2, 2, 2));
  check_gradients(nn::residual{attend}, 4);
}

TEST_CASE("recomputation gives the same bits with less between F and B", "[nn]") {
  auto const inner = nn::residual{nn::sequence(
      nn::name<"n">(nn::rms_norm_layer{4, 1e-5}), nn::name<"q">(linear(4, 12)), attention::causal_layer(2, 2, 2),
      nn::name<"p">(linear(4, 4)))};
  bench<std::remove_const_t<decltype(inner)>> plain(inner, 4);
  bench<nn::recomputed<std::remove_const_t<decltype(inner)>>> again({inner, true}, 4);
  bench<nn::recomputed<std::remove_const_t<decltype(inner)>>> off({inner, false}, 4);
  plain.backward();
  again.backward();
  off.backward();
  CHECK(again.dx == plain.dx);
  CHECK(again.dw == plain.dw);
  CHECK(off.dx == plain.dx);
  CHECK(off.dw == plain.dw);
  CHECK(again.planned.bytes(nn::life::saved) == 0);
  CHECK(again.planned.bytes(nn::life::kept) == 0);
  CHECK(plain.planned.bytes(nn::life::kept) > 0);
  // Nested: the outer one replays the inner one's replay.
  bench<nn::recomputed<nn::recomputed<std::remove_const_t<decltype(inner)>>>> nested({{inner, true}, true}, 4);
  nested.backward();
  CHECK(nested.dx == plain.dx);
  CHECK(nested.dw == plain.dw);
}

}  // namespace heddle
