// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/attention/append.hpp>
#include <heddle/attention/backward.hpp>
#include <heddle/attention/block_sparse.hpp>
#include <heddle/attention/decode.hpp>
#include <heddle/attention/forward.hpp>
#include <heddle/attention/latent.hpp>
#include <heddle/attention/merge.hpp>
#include <heddle/backend/cpu/attention_backward.hpp>
#include <heddle/backend/cpu/attention_decode.hpp>
#include <heddle/backend/cpu/attention_forward.hpp>
#include <heddle/backend/cpu/matmul.hpp>
#include <heddle/backend/reference/matmul.hpp>
#include <heddle/exec/queued.hpp>
#include <heddle/exec/reference_executor.hpp>
#include <heddle/exec/serial_executor.hpp>

using namespace heddle;

template class heddle::attention::setting<double>;
template struct heddle::attention::softmax_state<float, 4>;
template struct heddle::attention::both<attention::causal, attention::window>;

namespace {
template <class Executor>
void attend(float const* in, float* out) {
  Executor exec;
  view<float const, 3> const x(in, dims<3>(2, 1, 4));
  view<float, 3> const y(out, dims<3>(2, 1, 4));
  view<float, 2> const lse(out + 8, dims<2>(1, 2));
  auto const o = attention::with_mask(attention::causal{} & attention::window(3, 0));
  attention::forward(exec, x, x, x, y, lse, o);
  attention::backward(exec, x, x, x, y, lse, x, y, y, y, o);
  attention::merge(exec, x, lse, x, lse, y, lse);
  std::int32_t const row_ptr[] = {0, 1}, blocks[] = {0}, table[] = {0, 2};
  attention::block_sparse const listed(view<std::int32_t const, 2>(row_ptr, dims<2>(1, 2)),
                                       view<std::int32_t const, 1>(blocks, dims<1>(1)), 2, 2);
  auto biased = attention::with_bias(attention::alibi(1), attention::causal{} & listed);
  biased.sinks = view<float const, 1>(in, dims<1>(1));
  biased.drop.probability = 0.5;
  attention::forward(exec, x, x, x, y, lse, biased);
  view<float, 1> const dsink(out + 10, dims<1>(1));
  attention::backward(exec, x, x, x, y, lse, x, lse, y, y, y, dsink, biased);
  view<float, 4> const pages(out, dims<4>(1, 2, 1, 4));
  attention::paged_cache<float> const cache{pages, pages, view<std::int32_t const, 2>(table, dims<2>(1, 1)),
                                            view<std::int32_t const, 1>(table + 1, dims<1>(1))};
  attention::append(exec, x, x, cache);
  attention::decode(exec, x, cache, y, lse);
  view<float const, 2> const rows(in, dims<2>(2, 4));
  view<float const, 3> const weights(in, dims<3>(1, 2, 2));
  attention::latent(exec, x, weights, weights, rows, slice(y, 2, 0, 2), lse);
  exec.synchronize();
}
}  // namespace

float use_attention(float const* in, float* out) {
  attend<reference_executor>(in, out);
  attend<queued<serial_executor>>(in, out);
  attention::softmax_state<float, 4> s;
  attention::softmax_monoid<float>::identity(s);
  attention::softmax_monoid<float>::push(s, 1.0f, [](index_t) { return 1.0f; });
  attention::softmax_monoid<float>::combine(s, s);
  std::int32_t const starts[] = {0, 2};
  attention::integer_list const list = view<std::int32_t const, 1>(starts, dims<1>(2));
  return attention::softmax_monoid<float>::finish(s) + static_cast<float>(list[1]);
}
