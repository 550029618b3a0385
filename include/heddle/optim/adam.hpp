// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/optim/rule.hpp>

namespace heddle::optim {

/// Where weight decay enters Adam.
enum class decay_mode {
  decoupled,  ///< AdamW: p <- p·(1 - lr·decay) before the step
  l2,         ///< g <- g + decay·p
};

namespace detail {
template <class T>
struct adam_formula {
  step_pointers<T, 2> at;
  double beta1, beta2;
  T eps, lr, keep, ridge;  // keep multiplies the parameter (decoupled decay), ridge adds it to the gradient (L2)
  T beta_m, beta_v, new_m, new_v, fix_m, fix_v;

  static constexpr char const* operation = "adam";
  HEDDLE_FN index_t flops() const noexcept { return ridge != T(0) ? 17 : 15; }
  HEDDLE_HD_FN void prepare(index_t t) noexcept {
    beta_m = static_cast<T>(beta1);
    beta_v = static_cast<T>(beta2);
    new_m = static_cast<T>(1 - beta1);
    new_v = static_cast<T>(1 - beta2);
    fix_m = static_cast<T>(1 - power(beta1, t));
    fix_v = static_cast<T>(1 - power(beta2, t));
  }
  template <class V>
  HEDDLE_TILE void operator()(V& p, V const& gradient, V* state) const {
    V const g = ridge != T(0) ? V(gradient + mul(p, splat<V>(ridge))) : gradient;
    V const m = V(mul(state[0], splat<V>(beta_m)) + mul(g, splat<V>(new_m)));
    V const v = V(mul(state[1], splat<V>(beta_v)) + mul(mul(g, g), splat<V>(new_v)));
    state[0] = m;
    state[1] = v;
    V const slope = V(sqrt(V(v / splat<V>(fix_v))) + splat<V>(eps));
    V const move = V(mul(V(m / splat<V>(fix_m)), splat<V>(lr)) / slope);
    p = V(mul(p, splat<V>(keep)) - move);
  }
};
}  // namespace detail

/// Adam and AdamW.
///
/// m <- b1·m + (1-b1)·g; v <- b2·v + (1-b2)·g²; p <- p - lr·m̂/(sqrt(v̂) + eps) with m̂ = m/(1-b1^t), v̂ = v/(1-b2^t);
/// t counts the applied steps of this parameter, from 1.
/// Types: float or double. Determinism: bits do not depend on the cut of the span. Memory: two arrays per element.
/// Numerics: lr, 1-lr·decay, 1-b^t are computed in fp64 and rounded once; element formulas in the order written, every
/// product rounded. Source: Kingma & Ba 2015, algorithm 1; Loshchilov & Hutter 2019, algorithm 2.
struct adam {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  decay_mode mode = decay_mode::decoupled;

  static constexpr int arrays = 2;
  static HEDDLE_FN constexpr char const* key(int i) noexcept { return i == 0 ? "exp_avg" : "exp_avg_sq"; }

  /// Pre: betas in [0, 1), eps >= 0; spans contiguous and of one length; `applied` one element. In place: p and state.
  template <executor E, std::floating_point T, class Space>
  HEDDLE_FN void step(E& exec, view<T, 1, Space> p, std::type_identity_t<view<T const, 1, Space>> g,
                      state_views<T, 2, Space> const& state, view<index_t, 1, Space> applied,
                      step_args<T> const& args) const {
    HEDDLE_EXPECTS(beta1 >= 0 && beta1 < 1 && beta2 >= 0 && beta2 < 1, "the betas lie in [0, 1)", beta1, beta2);
    HEDDLE_EXPECTS(eps >= 0, "eps is not negative", eps);
    bool const decoupled = mode == decay_mode::decoupled;
    detail::adam_formula<T> f{};
    f.at = detail::checked(p, g, state, applied, args);
    f.beta1 = beta1;
    f.beta2 = beta2;
    f.eps = static_cast<T>(eps);
    f.lr = static_cast<T>(args.lr);
    f.keep = static_cast<T>(decoupled ? 1 - mul(args.lr, args.weight_decay) : 1.0);
    f.ridge = static_cast<T>(decoupled ? 0.0 : args.weight_decay);
    detail::submit_step(exec, f);
  }
};

/// AdamW: decoupled decay.
HEDDLE_FN constexpr adam adamw(double beta1 = 0.9, double beta2 = 0.999, double eps = 1e-8) noexcept {
  return {beta1, beta2, eps, decay_mode::decoupled};
}

}  // namespace heddle::optim
