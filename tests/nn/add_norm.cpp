// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/core/bf16.hpp>
#include <heddle/nn/add_norm.hpp>
#include <heddle/nn/elementwise.hpp>

#include "results.hpp"

namespace heddle {
namespace {

using test::column;
using test::input;
using test::matrix;

/// sum and y side by side in y, statistics in s: by one operation, or by the two that it stands for.
template <class T, class E, bool Fused>
void forward(E& exec, bool layer, index_t rows, index_t width, T const* a, T const* b, float const* w, T* y, float* s) {
  auto const left = matrix<T const>(a, rows, width), right = matrix<T const>(b, rows, width);
  auto const sum = matrix(y, rows, width), out = matrix(y + rows * width, rows, width);
  auto const weight = column<float const>(w, width), bias = column<float const>(w + width, width);
  auto const mean = column(s, rows), rstd = column(s + rows, rows);
  if constexpr (Fused) {
    if (layer)
      nn::add_layer_norm(exec, left, right, weight, bias, sum, out, mean, rstd);
    else
      nn::add_rms_norm(exec, left, right, weight, sum, out, rstd);
  } else {
    nn::add(exec, left, right, sum);
    if (layer)
      nn::layer_norm(exec, sum, weight, bias, out, mean, rstd);
    else
      nn::rms_norm(exec, sum, weight, out, rstd);
  }
  if (!layer)
    exec.for_each_tile(1, [=](index_t, int) {
      for (index_t r = 0; r < rows; ++r) mean(r) = 0;
    });
}

template <class T, class E>
void check_forward(E& exec, index_t rows, index_t width, bool layer) {
  CAPTURE(rows, width, layer);
  input<T> const a(rows * width, 1, -3, 3), b(rows * width, 2, -3, 3);
  input<float> const w(2 * width, 3);
  reference_executor oracle;
  auto const want = test::results_of<T, float>(oracle, 2 * rows * width, 2 * rows, [&](auto& e, T* y, float* s) {
    forward<T, reference_executor, false>(e, layer, rows, width, a.data(), b.data(), w.data(), y, s);
  });
  auto const got = test::results_of<T, float>(exec, 2 * rows * width, 2 * rows, [&](auto& e, T* y, float* s) {
    forward<T, E, true>(e, layer, rows, width, a.data(), b.data(), w.data(), y, s);
  });
  test::require_same_bits(got, want);
}

template <class T, class E>
void check_backward(E& exec, index_t rows, index_t width, bool layer) {
  CAPTURE(rows, width, layer);
  input<T> const x(rows * width, 1, -3, 3), dy(rows * width, 2), dsum(rows * width, 4);
  input<float> const w(width, 3), mean(rows, 5), rstd(rows, 6, 0.5, 2);
  auto const in = matrix<T const>(x.data(), rows, width), g = matrix<T const>(dy.data(), rows, width),
             past = matrix<T const>(dsum.data(), rows, width);
  auto const weight = column<float const>(w.data(), width), m = column<float const>(mean.data(), rows),
             r = column<float const>(rstd.data(), rows);
  reference_executor oracle;
  auto const want = test::results_of<T, T>(oracle, rows * width, 0, [&](auto& e, T* y, T*) {
    auto const dx = matrix(y, rows, width);
    layer ? nn::layer_norm_backward_input(e, in, weight, m, r, g, dx)
          : nn::rms_norm_backward_input(e, in, weight, r, g, dx);
    nn::add(e, past, dx, dx);
  });
  auto const got = test::results_of<T, T>(exec, rows * width, 0, [&](auto& e, T* y, T*) {
    auto const dx = matrix(y, rows, width);
    layer ? nn::add_layer_norm_backward_input(e, in, weight, m, r, g, past, dx)
          : nn::add_rms_norm_backward_input(e, in, weight, r, g, past, dx);
  });
  test::require_same_bits(got, want);
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("a sum and its norm in one pass have the bits of two operations", "[nn]", test::tile_cases) {
  TestType setup;
  for (auto const& shape : test::shapes)
    for (bool const layer : {false, true}) {
      check_forward<float>(setup.exec, shape[0], shape[1], layer);
      check_backward<float>(setup.exec, shape[0], shape[1], layer);
    }
  check_forward<bf16>(setup.exec, 5, 77, true);
  check_forward<bf16>(setup.exec, 5, 77, false);
  check_backward<bf16>(setup.exec, 5, 77, true);
  check_backward<bf16>(setup.exec, 5, 77, false);
}

TEMPLATE_LIST_TEST_CASE("a sum and its norm run in place", "[nn]", test::tile_cases) {
  TestType setup;
  constexpr index_t rows = 7, width = 50;
  input<float> a(rows * width, 1), w(2 * width, 3);
  input<float> const b(rows * width, 2);
  test::buffer<float> sum(rows * width), y(rows * width), mean(rows), rstd(rows);
  auto const weight = column<float const>(w.data(), width), bias = column<float const>(w.data() + width, width);
  auto const run = [&](float* to, float* out) {
    nn::add_layer_norm(setup.exec, matrix<float const>(a.data(), rows, width),
                       matrix<float const>(b.data(), rows, width), weight, bias, matrix(to, rows, width),
                       matrix(out, rows, width), column(mean.data(), rows), column(rstd.data(), rows));
    setup.exec.synchronize();
  };
  run(sum.data(), y.data());
  run(a.data(), a.data());
  for (index_t i = 0; i < rows * width; ++i) CHECK(a[i] == y[i]);
}

TEST_CASE("a sum and its norm refuse what does not fit", "[nn]") {
  reference_executor exec;
  float x[12] = {}, s[3] = {};
  auto const m = matrix(x, 3, 4);
  auto const c = column(s, 3);
  auto const w = column<float const>(x, 4);
  CHECK_THROWS_AS(nn::add_rms_norm(exec, m, matrix(x, 4, 3), w, m, m, c), contract_error);
  CHECK_THROWS_AS(nn::add_rms_norm(exec, m, m, column<float const>(x, 3), m, m, c), contract_error);
  CHECK_THROWS_AS(nn::add_layer_norm(exec, m, m, w, w, m, m, c, column(s, 2)), contract_error);
  CHECK_THROWS_AS(nn::add_rms_norm_backward_input(exec, m, w, c, m, m, m), contract_error);
  CHECK_THROWS_AS(nn::add_layer_norm_backward_input(exec, m, w, c, c, m, matrix(x, 4, 3), m), contract_error);
}

}  // namespace heddle
