// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/tensor.hpp>
#include <heddle/exec/wait.hpp>
#include <heddle/linalg/matmul.hpp>
#include <heddle/model/decoder.hpp>

#include <algorithm>
#include <vector>

/// @file
/// How fast a step is, beside what the machine can do: flops that the model asks for, and the rate of a large product.

namespace train_gpt {

/// Flops of one token's forward and backward pass: six for every weight of a matrix product, and attention over half
/// of a sequence on average. What is recomputed, norms and activations count nothing.
inline double model_flops_per_token(heddle::model::decoder_sizes const& s, bool llama, heddle::index_t sequence) {
  double const width = static_cast<double>(s.width), keys = static_cast<double>(s.key_heads * s.head_size());
  double const project = llama ? width * (2 * width + 2 * keys) : 4 * width * width;
  double const think = (llama ? 3 : 2) * width * static_cast<double>(s.hidden);
  double const attend = 2 * width * static_cast<double>(sequence + 1) / 2;
  return 6 * (static_cast<double>(s.layers) * (project + think + attend) + width * static_cast<double>(s.tokens()));
}

/// What a run found: medians over its steps. Units: seconds, flops per second.
struct measured_speed {
  double step_seconds = 0, peak = 0;
};

/// Times of steps and, between them, of a matrix product at 1024 cubed on the same executor, in the same type.
template <class T, class Executor>
class speed_meter {
 public:
  explicit speed_meter(Executor& exec) : exec_(&exec), a_(made(exec)), b_(made(exec)), c_(made(exec)) {
    for (heddle::index_t i = 0; i < n * n; ++i)
      a_.data()[i] = b_.data()[i] = static_cast<T>(static_cast<float>(i % 17) * 0.125f - 1.0f);
    product();
  }
  void add_step(std::int64_t ns) {
    steps_.push_back(static_cast<double>(ns) * 1e-9);
    for (int i = 0; i < 3; ++i) products_.push_back(product());
  }
  /// Pre: at least one step.
  measured_speed medians() const { return {median(steps_), 2.0 * n * n * n / median(products_)}; }

 private:
  static constexpr heddle::index_t n = 1024;

  static double median(std::vector<double> x) {
    std::sort(x.begin(), x.end());
    return x[x.size() / 2];
  }
  static heddle::tensor<T, 2> made(Executor& exec) {
    return heddle::tensor<T, 2>(exec, heddle::default_host_space, heddle::dims<2>(n, n));
  }
  double product() {
    std::int64_t const begin = heddle::deadline::now_ns();
    heddle::matmul(*exec_, a_.view(), b_.view(), c_.view());
    exec_->synchronize();
    return static_cast<double>(heddle::deadline::now_ns() - begin) * 1e-9;
  }

  Executor* exec_;
  heddle::tensor<T, 2> a_, b_, c_;
  std::vector<double> steps_, products_;
};

}  // namespace train_gpt
