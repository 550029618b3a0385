// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bits.hpp"

#include <heddle/backend/cpu/tile_context.hpp>
#include <heddle/nn/softmax.hpp>

namespace {

using namespace heddle;
using test::array;

template <class T>
void softmax(char const* name) {
  threads_executor exec(test::threads);
  dims<2> const e(5, 4223);  // a block of 4096 and an odd rest
  array<T, 2> x(e, 1, -30, 30), y(e);
  nn::softmax(exec, view<T const, 2>(x.v), y.v);
  exec.synchronize();
  test::print_bits(name, y);
}

test::section const nn_section("nn", [] {
  softmax<float>("nn.softmax.f32");
  softmax<double>("nn.softmax.f64");
});

}  // namespace
