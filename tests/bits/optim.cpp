// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bits.hpp"

#include <heddle/optim/adam.hpp>
#include <heddle/optim/sgd.hpp>

namespace {

using namespace heddle;
using test::array;

template <class T>
void adam(char const* name) {
  threads_executor exec(test::threads);
  dims<1> const e(1000);
  array<T, 1> p(e, 1), g(e, 2), m(e), v(e);
  index_t applied = 0;
  optim::state_views<T, 2> state{{m.v, v.v}};
  for (int step = 0; step < 3; ++step)
    optim::adamw().step(exec, p.v, view<T const, 1>(g.v), state, view<index_t, 1>(&applied, dims<1>(1)),
                        optim::step_args<T>{.lr = 1e-2, .weight_decay = 0.1});
  exec.synchronize();
  test::print_bits(name, p);
}

test::section const optim_section("optim", [] {
  adam<float>("optim.adamw.f32");
  adam<double>("optim.adamw.f64");
});

}  // namespace
