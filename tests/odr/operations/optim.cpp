// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/backend/cpu/tile_context.hpp>
#include <heddle/exec/serial_executor.hpp>
#include <heddle/optim/adam.hpp>
#include <heddle/optim/clip.hpp>
#include <heddle/optim/sgd.hpp>
#include <heddle/optim/shard.hpp>

using namespace heddle;

template class heddle::optim::optimizer_shard<optim::adam, bf16, serial_executor>;
template class heddle::optim::optimizer_shard<optim::sgd, float, serial_executor>;

void use_optim(double const* norm, float* coefficient, std::int32_t* skip) {
  serial_executor exec;
  dims<1> const one(1);
  optim::clip_from_norm(exec, view<double const, 1>(norm, one), 1.0, view<float, 1>(coefficient, one),
                        view<std::int32_t, 1>(skip, one));
  optim::flat_layout layout({{4, 0}, {5, 1}}, 2);
  optim::flat_layout other = layout;
  other = layout.recut(3);
  optim::optimizer_shard<optim::adam, float, serial_executor> shard(exec, default_host_space, optim::adamw(), other, 0,
                                                                    {{}, {}});
  shard.step(coefficient, coefficient, {});
}
