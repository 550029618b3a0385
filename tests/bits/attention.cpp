// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bits.hpp"

#include <heddle/attention/backward.hpp>
#include <heddle/attention/forward.hpp>
#include <heddle/attention/merge.hpp>
#include <heddle/backend/cpu/attention_backward.hpp>
#include <heddle/backend/cpu/attention_forward.hpp>
#include <heddle/core/bf16.hpp>

#include <string>

namespace {

using namespace heddle;
using test::array;

template <class T, class Mask = attention::causal>
void attend(std::string const& name, attention::options<Mask> const& o = {}) {
  using number = accumulator_t<T>;
  threads_executor exec(test::threads);
  dims<3> const queries(70, 4, 24), keys(150, 2, 24), values(150, 2, 9), outputs(70, 4, 9);
  dims<2> const rows(4, 70);
  array<T, 3> q(queries, 1), k(keys, 2), v(values, 3), dout(outputs, 4);
  array<T, 3> out(outputs), dq(queries), dk(keys), dv(values);
  array<number, 2> lse(rows), merged_lse(rows);
  attention::forward(exec, q.v, k.v, v.v, out.v, lse.v, o);
  attention::backward(exec, q.v, k.v, v.v, out.v, lse.v, dout.v, dq.v, dk.v, dv.v, o);
  if constexpr (std::is_same_v<T, number>) {
    array<T, 3> merged(outputs);
    attention::merge(exec, out.v, lse.v, dout.v, lse.v, merged.v, merged_lse.v);
    test::print_bits((name + ".merge").c_str(), merged);
  }
  test::print_bits((name + ".out").c_str(), out);
  test::print_bits((name + ".lse").c_str(), lse);
  test::print_bits((name + ".dq").c_str(), dq);
  test::print_bits((name + ".dk").c_str(), dk);
  test::print_bits((name + ".dv").c_str(), dv);
}

test::section const attention_section("attention", [] {
  attend<float>("attention.f32.causal");
  attend<float>("attention.f32.window", attention::with_mask(attention::causal{} & attention::window(30, 0)));
  attend<float>("attention.f32.cap", attention::options<>{.softcap = 2});
  attend<double>("attention.f64.cap", attention::options<>{.softcap = 2});
  attend<bf16>("attention.bf16.causal");
});

}  // namespace
