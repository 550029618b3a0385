// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/backend/reference/matmul.hpp>
#include <heddle/backend/reference/tile_context.hpp>
#include <heddle/nn/activation.hpp>
#include <heddle/nn/add_norm.hpp>
#include <heddle/nn/column_sum.hpp>
#include <heddle/nn/cross_entropy.hpp>
#include <heddle/nn/elementwise.hpp>
#include <heddle/nn/embedding.hpp>
#include <heddle/nn/linear_cross_entropy.hpp>
#include <heddle/nn/quantise.hpp>
#include <heddle/nn/rope.hpp>
#include <heddle/nn/softmax.hpp>

#include <nn/results.hpp>

namespace heddle {

using test::column;
using test::matrix;

namespace {

constexpr char const* twice = "stand twice";
constexpr char const* apart = "overlap no input";
constexpr char const* in_place = "(in place) or overlap none";

#define REFUSES(text, ...) CHECK_THROWS_WITH(__VA_ARGS__, test::has_text(text))

struct memory {
  reference_executor exec;
  float x[64] = {};
  std::int32_t ids[4] = {};
  std::int64_t count = 0;
  view<float, 2> a = matrix(x, 2, 4), next = matrix(x + 1, 2, 4), b = matrix(x + 8, 2, 4), c = matrix(x + 16, 2, 4);
  view<float, 2> same{x + 24, dims<2>(2, 4), 0, 1};
  view<float, 1> w = column(x + 32, 4), v = column(x + 36, 4), s = column(x + 40, 2), r = column(x + 42, 2);
  view<float, 1> one = column(x + 44, 1);
  view<std::int32_t const, 1> targets = column<std::int32_t const>(ids, 2);
};

}  // namespace

TEST_CASE("norms keep their outputs apart", "[nn]") {
  memory m;
  REFUSES(in_place, nn::layer_norm(m.exec, m.a, m.w, m.v, m.next, m.s, m.r));
  REFUSES(twice, nn::layer_norm(m.exec, m.a, m.w, m.v, m.same, m.s, m.r));
  REFUSES(apart, nn::layer_norm(m.exec, m.a, m.w, m.v, m.b, m.s, m.s));
  REFUSES(in_place, nn::layer_norm_backward_input(m.exec, m.a, m.w, m.s, m.r, m.b, m.next));
  REFUSES(in_place, nn::layer_norm_backward_input(m.exec, m.a, m.w, m.s, m.r, m.b, matrix(m.x + 9, 2, 4)));
  REFUSES(apart, nn::layer_norm_backward_weight(m.exec, m.a, m.s, m.r, m.b, m.w, m.w));
  REFUSES(in_place, nn::rms_norm(m.exec, m.a, m.w, m.next, m.s));
  REFUSES(apart, nn::rms_norm(m.exec, m.a, m.w, m.b, column(m.x + 7, 2)));
  REFUSES(in_place, nn::rms_norm_backward_input(m.exec, m.a, m.w, m.s, m.b, m.next));
  REFUSES(apart, nn::rms_norm_backward_input(m.exec, m.a, m.w, m.s, m.b, matrix(m.x + 36, 2, 4)));
  REFUSES(twice, nn::rms_norm_backward_weight(m.exec, m.a, m.s, m.b, view<float, 1>(m.x + 48, dims<1>(4), 0)));
  REFUSES(in_place, nn::add_rms_norm(m.exec, m.a, m.b, m.w, m.next, m.c, m.s));
  REFUSES(in_place, nn::add_layer_norm(m.exec, m.a, m.b, m.w, m.v, m.c, m.next, m.s, m.r));
  REFUSES(apart, nn::add_rms_norm_backward_input(m.exec, m.a, m.w, m.s, m.b, m.c, m.c));
  REFUSES(apart, nn::add_layer_norm_backward_input(m.exec, m.a, m.w, m.s, m.r, m.b, m.c, m.c));
  std::int8_t q[8] = {};
  REFUSES(apart, nn::rms_norm_quantise(m.exec, m.a, m.w, matrix(q, 2, 4), m.s, m.s));
  REFUSES(apart, nn::quantise_rows(m.exec, m.a, matrix(reinterpret_cast<std::int8_t*>(m.x), 2, 4), m.s));
  REFUSES(apart, nn::dequantise_rows(m.exec, matrix(reinterpret_cast<std::int8_t const*>(m.x), 2, 4), m.s, m.a));
}

TEST_CASE("operations by element and by row keep their outputs apart", "[nn]") {
  memory m;
  REFUSES(in_place, nn::softmax(m.exec, m.a, m.next));
  REFUSES(twice, nn::softmax(m.exec, m.a, m.same));
  REFUSES(apart, nn::softmax_backward(m.exec, m.a, m.b, m.a));
  REFUSES(in_place, nn::softmax_backward(m.exec, m.a, m.b, matrix(m.x + 9, 2, 4)));
  REFUSES(apart, nn::rope(m.exec, m.a, m.a, {.heads = 1, .head_size = 4, .tokens = 2}));
  REFUSES(in_place, nn::gelu(m.exec, m.a, m.next));
  REFUSES(in_place, nn::add(m.exec, m.a, m.b, m.next));
  REFUSES(apart, nn::swiglu(m.exec, m.a, slice(m.a, 1, 0, 2)));
  REFUSES(apart, nn::swiglu_backward(m.exec, m.a, matrix(m.x + 16, 2, 2), m.a));
  REFUSES(apart, nn::column_sum(m.exec, m.a, column(m.x + 4, 4)));
  REFUSES(twice, nn::column_sum(m.exec, m.a, view<float, 1>(m.x + 48, dims<1>(4), 0)));
  view<float const, 2> const none;
  REFUSES(apart, nn::embedding(m.exec, m.a, none, m.targets, 0, m.a));
  REFUSES(apart, nn::embedding_backward(m.exec, m.targets, m.a, m.a));
  REFUSES(apart, nn::position_backward(m.exec, 2, m.a, m.next));
}

TEST_CASE("losses keep their outputs apart", "[nn]") {
  memory m;
  REFUSES(apart, nn::cross_entropy(m.exec, m.a, m.targets, m.s, m.s));
  REFUSES(apart, nn::cross_entropy(m.exec, m.a, m.targets, m.s, column(m.x, 2)));
  REFUSES(in_place, nn::cross_entropy_backward(m.exec, m.a, m.targets, m.s, m.one, m.next));
  REFUSES(apart, nn::cross_entropy_backward(m.exec, m.a, m.targets, m.s, column(m.x + 8, 1), m.b));
  REFUSES(apart, nn::cross_entropy_total(m.exec, m.s, m.targets, column(m.x + 41, 1), column(&m.count, 1)));
  REFUSES(apart, nn::linear_cross_entropy(m.exec, m.a, m.b, m.targets, m.s, m.s));
  REFUSES(apart, nn::linear_cross_entropy_backward(m.exec, m.a, m.b, m.targets, m.s, m.one, m.c, m.c));
  REFUSES(apart, nn::linear_cross_entropy_backward.input(m.exec, m.a, m.b, m.targets, m.s, m.one, m.a));
  REFUSES(apart, nn::linear_cross_entropy_backward.weight(m.exec, m.a, m.b, m.targets, m.s, m.one, m.a));
  REFUSES(apart, nn::linear_cross_entropy_with_gradient(m.exec, m.a, m.b, m.targets, m.one, m.s, m.r, m.a, m.c));
  REFUSES(apart, nn::linear_cross_entropy_with_gradient(m.exec, m.a, m.b, m.targets, m.one, m.s, m.s, m.c,
                                                        matrix(m.x + 48, 2, 4)));
}

TEST_CASE("norms read no operand past its end", "[nn]") {
  memory m;
  auto const few = column(m.x + 50, 3), row = column(m.x + 54, 1);
  CHECK_THROWS_AS(nn::layer_norm_backward_input(m.exec, m.a, few, m.s, m.r, m.b, m.c), contract_error);
  CHECK_THROWS_AS(nn::layer_norm_backward_input(m.exec, m.a, m.w, row, m.r, m.b, m.c), contract_error);
  CHECK_THROWS_AS(nn::layer_norm_backward_input(m.exec, m.a, m.w, m.s, row, m.b, m.c), contract_error);
  CHECK_THROWS_AS(nn::layer_norm_backward_weight(m.exec, m.a, row, m.r, m.b, m.w, m.v), contract_error);
  CHECK_THROWS_AS(nn::layer_norm_backward_weight(m.exec, m.a, m.s, row, m.b, m.w, m.v), contract_error);
  CHECK_THROWS_AS(nn::layer_norm_backward_weight(m.exec, m.a, m.s, m.r, m.b, m.w, few), contract_error);
  CHECK_THROWS_AS(nn::rms_norm_backward_input(m.exec, m.a, few, m.s, m.b, m.c), contract_error);
  CHECK_THROWS_AS(nn::rms_norm_backward_input(m.exec, m.a, m.w, row, m.b, m.c), contract_error);
  CHECK_THROWS_AS(nn::rms_norm_backward_weight(m.exec, m.a, row, m.b, m.w), contract_error);
  CHECK_THROWS_AS(nn::add_rms_norm_backward_input(m.exec, m.a, m.w, row, m.b, m.c, matrix(m.x + 48, 2, 4)),
                  contract_error);
}

TEST_CASE("norms, rope and losses refuse numbers that are none", "[nn]") {
  memory m;
  std::int8_t q[8] = {};
  for (double const wrong : {-2.0, static_cast<double>(test::qnan), 1e300}) {
    REFUSES("epsilon", nn::layer_norm(m.exec, m.a, m.w, m.v, m.b, m.s, m.r, wrong));
    REFUSES("epsilon", nn::rms_norm(m.exec, m.a, m.w, m.b, m.s, wrong));
    REFUSES("epsilon", nn::add_rms_norm(m.exec, m.a, m.b, m.w, m.c, m.c, m.s, wrong));
    REFUSES("epsilon", nn::add_layer_norm(m.exec, m.a, m.b, m.w, m.v, m.c, m.c, m.s, m.r, wrong));
    REFUSES("epsilon", nn::rms_norm_quantise(m.exec, m.a, m.w, matrix(q, 2, 4), m.s, m.r, wrong));
  }
  for (double const wrong : {-3.0, 0.0, static_cast<double>(test::qnan), static_cast<double>(test::inf)})
    REFUSES("base", nn::rope(m.exec, m.a, m.b, {.heads = 1, .head_size = 4, .tokens = 2, .base = wrong}));
  nn::cross_entropy_options o;
  o.smoothing = 1 - 1e-11;  // 1 as a float
  REFUSES("smoothing", nn::cross_entropy(m.exec, m.a, m.targets, m.s, m.r, o));
  REFUSES("smoothing", nn::cross_entropy(m.exec, matrix(m.x, 0, 4), column<std::int32_t const>(m.ids, 0),
                                         column(m.x, 0), column(m.x, 0), o));
}

}  // namespace heddle
