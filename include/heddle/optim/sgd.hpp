// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/optim/rule.hpp>

namespace heddle::optim {

namespace detail {
template <class T>
struct sgd_formula {
  step_pointers<T, 1> at;
  T mu, lr, decay;
  bool nesterov;

  static constexpr char const* operation = "sgd";
  HEDDLE_FN index_t flops() const noexcept { return 4 + (decay != T(0) ? 2 : 0) + (nesterov ? 2 : 0); }
  HEDDLE_HD_FN void prepare(index_t) noexcept {}
  template <class V>
  HEDDLE_TILE void operator()(V& p, V const& gradient, V* state) const {
    V const g = decay != T(0) ? V(gradient + mul(p, splat<V>(decay))) : gradient;
    V const m = V(mul(state[0], splat<V>(mu)) + g);
    state[0] = m;
    V const direction = nesterov ? V(g + mul(m, splat<V>(mu))) : m;
    p = V(p - mul(direction, splat<V>(lr)));
  }
};
}  // namespace detail

/// Stochastic gradient descent with momentum: m <- mu·m + g; p <- p - lr·m, or p - lr·(g + mu·m) with Nesterov.
///
/// Weight decay is added to the gradient (L2) before the momentum.
/// Types: float or double. Determinism: bits do not depend on the cut of the span. Memory: one array per element.
struct sgd {
  double momentum = 0;
  bool nesterov = false;

  static constexpr int arrays = 1;
  static HEDDLE_FN constexpr char const* key(int) noexcept { return "momentum"; }

  /// Pre: 0 <= momentum < 1; spans contiguous and of one length; `applied` one element. In place: p and state.
  template <executor E, std::floating_point T, class Space>
  HEDDLE_FN void step(E& exec, view<T, 1, Space> p, std::type_identity_t<view<T const, 1, Space>> g,
                      state_views<T, 1, Space> const& state, view<index_t, 1, Space> applied,
                      step_args<T> const& args) const {
    HEDDLE_EXPECTS(momentum >= 0 && momentum < 1, "momentum lies in [0, 1)", momentum);
    detail::submit_step(exec, detail::sgd_formula<T>{detail::checked(p, g, state, applied, args),
                                                     static_cast<T>(momentum), static_cast<T>(args.lr),
                                                     static_cast<T>(args.weight_decay), nesterov});
  }
};

}  // namespace heddle::optim
