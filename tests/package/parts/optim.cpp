// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One update rule over raw arrays, on the user's own executor.
#include <heddle/optim/adam.hpp>

#include "user_executor.hpp"

int main() {
  using heddle::view;
  user_executor exec;
  float p[4] = {1, 2, 3, 4}, m[4] = {}, v[4] = {};
  float const g[4] = {1, -1, 1, -1};
  heddle::index_t applied = 0;
  heddle::dims<1> const four(4);
  heddle::optim::state_views<float, 2> state{{view<float, 1>(m, four), view<float, 1>(v, four)}};
  heddle::optim::adamw().step(exec, view<float, 1>(p, four), view<float const, 1>(g, four), state,
                              view<heddle::index_t, 1>(&applied, heddle::dims<1>(1)),
                              heddle::optim::step_args<float>{.lr = 0.5});
  return applied == 1 && p[0] < 1 && p[1] > 2 ? 0 : 1;
}
