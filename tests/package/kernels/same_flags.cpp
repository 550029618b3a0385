// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Uses every kernel that the library holds, and no other.
#include <heddle/algorithm/copy.hpp>
#include <heddle/backend/cpu/attention_backward.hpp>
#include <heddle/backend/cpu/attention_forward.hpp>
#include <heddle/backend/cpu/grouped_matmul.hpp>
#include <heddle/backend/cpu/matmul.hpp>
#include <heddle/backend/cpu/tile_context.hpp>
#include <heddle/core/bf16.hpp>
#include <heddle/core/fp16.hpp>
#include <heddle/exec/serial_executor.hpp>
#include <heddle/linalg/epilogue.hpp>
#include <heddle/linalg/grouped_matmul.hpp>
#include <heddle/nn/activation.hpp>
#include <heddle/nn/column_sum.hpp>
#include <heddle/nn/cross_entropy.hpp>
#include <heddle/nn/elementwise.hpp>
#include <heddle/nn/embedding.hpp>
#include <heddle/nn/layer_norm.hpp>
#include <heddle/nn/rms_norm.hpp>
#include <heddle/nn/rope.hpp>
#include <heddle/nn/softmax.hpp>
#include <heddle/optim/adam.hpp>

using namespace heddle;

namespace {

/// A tensor of zeros that stays.
template <class T, int Number, class... I>
view<T, sizeof...(I)> zeros(I... sizes) {
  static T data[64];
  return {data, dims<sizeof...(I)>(sizes...)};
}

template <class T, class C, class... Epilogue>
float products(serial_executor& exec, Epilogue const&... epilogue) {
  auto const a = zeros<T, 0>(2, 2), b = zeros<T, 1>(2, 2);
  auto const c = zeros<C, 2>(2, 2);
  for (int i = 0; i < 4; ++i) a.data()[i] = b.data()[i] = static_cast<T>(i + 1.0f);
  matmul(exec, a, b, c, {}, epilogue...);
  return static_cast<float>(c(0, 0));
}

template <class T>
void groups(serial_executor& exec) {
  auto const offsets = zeros<std::int64_t, 3>(3);
  offsets.data()[1] = 1, offsets.data()[2] = 2;
  grouped_matmul(exec, zeros<T, 0>(2, 2), zeros<T, 4>(2, 2, 2), view<std::int64_t const, 1>(offsets),
                 zeros<T, 2>(2, 2));
}

template <class T, class Sum>
void attend(serial_executor& exec) {
  auto const q = zeros<T, 0>(4, 2, 2), k = zeros<T, 1>(4, 2, 2), v = zeros<T, 2>(4, 2, 2), out = zeros<T, 3>(4, 2, 2);
  auto const lse = zeros<Sum, 4>(2, 4);
  attention::forward(exec, q, k, v, out, lse);
  attention::backward(exec, q, k, v, out, lse, zeros<T, 5>(4, 2, 2), zeros<T, 6>(4, 2, 2), zeros<T, 7>(4, 2, 2),
                      zeros<T, 8>(4, 2, 2));
}

template <class T>
void layers(serial_executor& exec) {
  auto const x = zeros<T, 0>(4, 4), dy = zeros<T, 1>(4, 4), y = zeros<T, 2>(4, 4), wide = zeros<T, 3>(4, 8),
             dwide = zeros<T, 4>(4, 8);
  auto const w = zeros<T, 5>(4), bias = zeros<T, 6>(4);
  auto const mean = zeros<float, 7>(4), rstd = zeros<float, 8>(4), dw = zeros<float, 9>(4), db = zeros<float, 10>(4);
  auto const table = zeros<float, 11>(4, 4);
  view<std::int32_t const, 1> const tokens = zeros<std::int32_t, 12>(4);
  nn::add(exec, x, dy, y);
  copy(exec, x, y);
  for (auto form : {nn::gelu_form::tanh, nn::gelu_form::erf}) {
    nn::gelu(exec, x, y, form);
    nn::gelu_backward(exec, x, dy, y, form);
  }
  nn::swiglu(exec, wide, y);
  nn::swiglu_backward(exec, wide, dy, dwide);
  nn::softmax(exec, x, y);
  nn::softmax_backward(exec, x, dy, y);
  nn::layer_norm(exec, x, w, bias, y, mean, rstd);
  nn::layer_norm_backward_input(exec, x, w, mean, rstd, dy, y);
  nn::layer_norm_backward_weight(exec, x, mean, rstd, dy, dw, db);
  nn::rms_norm(exec, x, w, y, rstd);
  nn::rms_norm_backward_input(exec, x, w, rstd, dy, y);
  nn::rms_norm_backward_weight(exec, x, rstd, dy, dw);
  nn::embedding(exec, x, zeros<T, 13>(4, 4), tokens, 4, y);
  nn::embedding_backward(exec, tokens, dy, table);
  nn::column_sum(exec, x, dw);
  nn::rope(exec, x, y, {.heads = 1, .head_size = 2, .tokens = 4});
  nn::cross_entropy(exec, x, tokens, mean, rstd);
  nn::cross_entropy_backward(exec, x, tokens, rstd, zeros<float, 14>(1), y);
}

}  // namespace

float with_same_flags() {
  serial_executor exec;
  float const result = products<float, float>(exec);
  products<float, float>(exec, epilogue::add_bias<float>{zeros<float, 20>(4).data()});
  products<bf16, float>(exec);
  products<bf16, bf16>(exec);
  products<bf16, bf16>(exec, epilogue::add_bias<bf16>{zeros<bf16, 20>(4).data()});
  products<fp16, fp16>(exec);
  products<double, double>(exec);
  groups<float>(exec);
  groups<bf16>(exec);
  groups<fp16>(exec);
  groups<double>(exec);
  attend<float, float>(exec);
  attend<bf16, float>(exec);
  attend<double, double>(exec);
  layers<float>(exec);
  layers<bf16>(exec);
  copy(exec, zeros<float, 0>(4, 4), zeros<bf16, 0>(4, 4));
  nn::cross_entropy_total(exec, zeros<float, 15>(4), view<std::int32_t const, 1>(zeros<std::int32_t, 12>(4)),
                          zeros<float, 16>(1), zeros<std::int64_t, 17>(1));
  optim::state_views<float, 2> const state{{zeros<float, 21>(4), zeros<float, 22>(4)}};
  optim::adamw().step(exec, zeros<float, 23>(4), view<float const, 1>(zeros<float, 24>(4)), state,
                      zeros<index_t, 25>(1), optim::step_args<float>{.lr = 1.0});
  return result;
}
