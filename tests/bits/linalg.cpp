// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bits.hpp"

#include <heddle/backend/cpu/matmul.hpp>
#include <heddle/linalg/matmul.hpp>

namespace {

using namespace heddle;
using test::array;

template <class T>
void product(char const* name) {
  threads_executor exec(test::threads);
  array<T, 2> a(dims<2>(37, 129), 1), b(dims<2>(129, 71), 2), c(dims<2>(37, 71));
  matmul(exec, view<T const, 2>(a.v), view<T const, 2>(b.v), c.v);
  exec.synchronize();
  test::print_bits(name, c);
}

test::section const linalg_section("linalg", [] {
  product<float>("linalg.matmul.f32");
  product<double>("linalg.matmul.f64");
});

}  // namespace
