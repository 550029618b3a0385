// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/algorithm/copy.hpp>
#include <heddle/backend/reference/matmul.hpp>
#include <heddle/backend/reference/tile_context.hpp>
#include <heddle/exec/reference_executor.hpp>
#include <heddle/nn/activation.hpp>
#include <heddle/nn/add_norm.hpp>
#include <heddle/nn/column_sum.hpp>
#include <heddle/nn/cross_entropy.hpp>
#include <heddle/nn/elementwise.hpp>
#include <heddle/nn/embedding.hpp>
#include <heddle/nn/from_statistics.hpp>
#include <heddle/nn/layer_norm.hpp>
#include <heddle/nn/linear_cross_entropy.hpp>
#include <heddle/nn/quantise.hpp>
#include <heddle/nn/rms_norm.hpp>
#include <heddle/nn/rope.hpp>
#include <heddle/nn/softmax.hpp>

using namespace heddle;

void use_nn(float* memory, std::int32_t const* numbers, std::int64_t* count) {
  reference_executor exec;
  view<float, 2> const x(memory, dims<2>(4, 4)), y(memory + 16, dims<2>(4, 4));
  view<float, 1> const v(memory, dims<1>(4)), w(memory + 4, dims<1>(4)), one(memory, dims<1>(1));
  view<std::int32_t const, 1> const tokens(numbers, dims<1>(4));
  nn::add(exec, x, x, y);
  heddle::copy(exec, x, y);
  nn::gelu(exec, x, y);
  nn::gelu_backward(exec, x, x, y);
  nn::silu(exec, x, y);
  nn::silu_backward(exec, x, x, y);
  view<float, 2> const gated(memory, dims<2>(4, 8));
  nn::swiglu(exec, gated, y);
  nn::swiglu_backward(exec, gated, y, gated);
  nn::column_sum(exec, x, v);
  nn::cross_entropy(exec, x, tokens, v, w);
  nn::cross_entropy_backward(exec, x, tokens, v, one, y);
  nn::cross_entropy_total(exec, v, tokens, one, view<std::int64_t, 1>(count, dims<1>(1)));
  nn::embedding(exec, x, x, tokens, 4, y);
  nn::embedding_backward(exec, tokens, x, y);
  nn::position_backward(exec, 4, x, y);
  nn::layer_norm(exec, x, v, v, y, w, w);
  nn::layer_norm_backward_input(exec, x, v, v, v, x, y);
  nn::layer_norm_backward_weight(exec, x, v, v, x, w, w);
  nn::rms_norm(exec, x, v, y, w);
  nn::rms_norm_backward_input(exec, x, v, v, x, y);
  nn::rms_norm_backward_weight(exec, x, v, x, w);
  view<float, 2> const sum(memory + 32, dims<2>(4, 4));
  nn::add_layer_norm(exec, x, x, v, v, sum, y, w, w);
  nn::add_layer_norm_backward_input(exec, sum, v, v, v, x, x, y);
  nn::add_rms_norm(exec, x, x, v, sum, y, w);
  nn::add_rms_norm_backward_input(exec, sum, v, v, x, x, y);
  nn::linear_cross_entropy(exec, x, x, tokens, v, w);
  nn::linear_cross_entropy_with_gradient(exec, x, x, tokens, one, v, w, y, sum);
  view<std::int8_t, 2> const small(reinterpret_cast<std::int8_t*>(memory + 32), dims<2>(4, 4));
  nn::quantise_rows(exec, x, small, w);
  nn::dequantise_rows(exec, small, w, y);
  nn::rms_norm_quantise(exec, x, v, small, w, w);
  nn::layer_norm_quantise(exec, x, v, v, small, w, w, w);
  nn::rms_norm_from_sums(exec, x, v, w, y, w);
  nn::layer_norm_from_sums(exec, x, v, v, w, w, y, w, w);
  nn::quantise_rows_from_peaks(exec, x, w, small, w);
  nn::rope(exec, x, y, {.heads = 1, .head_size = 4, .tokens = 4});
  nn::softmax(exec, x, y);
  nn::softmax_backward(exec, y, x, y);
}
