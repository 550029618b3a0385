// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/arith.hpp>
#include <heddle/core/tensor_view.hpp>
#include <heddle/exec/executor.hpp>
#include <heddle/tile/targets.hpp>
#include <heddle/tile/vec.hpp>

/// @file
/// What every update rule has in common: the arguments of one step, and how a flat span is walked.

namespace heddle::optim {

/// The state arrays of a rule for one span, each as long as the span.
template <class T, int N, class Space = host_space>
struct state_views {
  static constexpr int arrays = N;
  view<T, 1, Space> array[N > 0 ? N : 1];
};

/// What one step is told from outside the rule.
///
/// clip and skip are read when the step runs, on the executor's space, so that a decision made there needs no host.
template <class T>
struct step_args {
  double lr = 1e-3;
  double weight_decay = 0;
  T const* clip = nullptr;             ///< factor on the gradient; null is 1
  std::int32_t const* skip = nullptr;  ///< non-zero: change nothing and count nothing; null never skips
};

/// One optimizer step over a flat span, element by element: any cut of the span gives the same bits.
///
/// Valid expressions: `R::arrays` (state arrays per element), `R::key(i)` (the checkpoint's name of array i),
/// `rule.step(exec, p, g, state, applied, args)` with `state` a `state_views<T, R::arrays>` and `applied` a view of
/// one counter. Meaning: reads g, updates p and state in place, then adds one to the counter, which counts applied
/// steps of the parameter; where args.skip is set nothing changes. State starts at zero, the counter at 0.
/// Models: sgd, adam.
template <class R, class E, class T>
concept update_rule_for = executor<E> && requires(R const& rule, E& exec, view<T, 1> p, view<T const, 1> g,
                                                  state_views<T, R::arrays> s, view<index_t, 1> n, step_args<T> a) {
  { R::key(0) } -> std::convertible_to<char const*>;
  rule.step(exec, p, g, s, n, a);
};

namespace detail {

/// Elements in one tile of a step.
inline constexpr index_t step_tile = 16384;

template <class T, int N>
struct step_pointers {
  using value_type = T;
  static constexpr int arrays = N;

  T* p;
  T const* g;
  T* state[N > 0 ? N : 1];
  index_t* applied;
  T const* clip;
  std::int32_t const* skip;
  index_t n;
};

template <class T, int N, class Space>
HEDDLE_FN step_pointers<T, N> checked(view<T, 1, Space> p, view<T const, 1, Space> g, state_views<T, N, Space> const& s,
                                      view<index_t, 1, Space> applied, step_args<T> const& a) {
  HEDDLE_EXPECTS(g.size() == p.size(), "the gradient must be as long as the parameter", g.size(), p.size());
  HEDDLE_EXPECTS(p.is_contiguous() && g.is_contiguous(), "a flat span has stride one", p.size());
  HEDDLE_EXPECTS(applied.size() == 1, "one counter of applied steps per parameter", applied.size());
  HEDDLE_EXPECTS(a.lr >= 0 && a.weight_decay >= 0 && is_finite(static_cast<T>(a.lr)) &&
                     is_finite(static_cast<T>(a.weight_decay)),
                 "learning rate and weight decay are finite and not negative", a.lr, a.weight_decay);
  step_pointers<T, N> out{p.data(), g.data(), {}, applied.data(), a.clip, a.skip, p.size()};
  for (int i = 0; i < N; ++i) {
    HEDDLE_EXPECTS(s.array[i].size() == p.size() && s.array[i].is_contiguous(),
                   "each state array must be as long as the parameter", i, s.array[i].size(), p.size());
    out.state[i] = s.array[i].data();
  }
  return out;
}

/// base^n by squaring, in a fixed order. Pre: n >= 0.
HEDDLE_HD_FN double power(double base, index_t n) noexcept {
  double result = 1;
  for (; n > 0; n /= 2) {
    if (n % 2 != 0) result = mul(result, base);
    base = mul(base, base);
  }
  return result;
}

/// The elements [lo, hi) in the vectors of one instruction set.
struct step_in_vectors {
  template <class Isa, class Formula>
  HEDDLE_TILE void operator()(Isa, Formula const& f, index_t const& lo, index_t const& hi) const {
    using pointers = std::remove_cvref_t<decltype(f.at)>;
    using T = typename pointers::value_type;
    constexpr int lanes = Isa::template lanes<T>, arrays = pointers::arrays;
    using V = vec<T, lanes, lanes>;
    for (index_t i = lo; i < hi; i += lanes) {
      index_t const n = hi - i;
      bool const full = n >= lanes;
      auto load = [&](T const* from) HEDDLE_LAMBDA { return full ? V::load(from + i) : V::load(from + i, n); };
      auto store = [&](T* to, V const& v) HEDDLE_LAMBDA {
        if (full)
          v.store(to + i);
        else
          v.store(to + i, n);
      };
      V p = load(f.at.p), g = load(f.at.g), state[arrays > 0 ? arrays : 1];
      if (f.at.clip != nullptr) g = mul(g, V::splat(*f.at.clip));
      for (int k = 0; k < arrays; ++k) state[k] = load(f.at.state[k]);
      f(p, g, state);
      store(f.at.p, p);
      for (int k = 0; k < arrays; ++k) store(f.at.state[k], state[k]);
    }
  }
};

/// The same elements one by one: the oracle, and the form of a device thread.
struct step_one_by_one {
  template <class Formula>
  HEDDLE_HD_FN void operator()(Formula const& f, index_t lo, index_t hi) const {
    using pointers = std::remove_cvref_t<decltype(f.at)>;
    using T = typename pointers::value_type;
    constexpr int arrays = pointers::arrays;
    for (index_t i = lo; i < hi; ++i) {
      T p = f.at.p[i], g = f.at.g[i], state[arrays > 0 ? arrays : 1];
      if (f.at.clip != nullptr) g = mul(g, *f.at.clip);
      for (int k = 0; k < arrays; ++k) state[k] = f.at.state[k][i];
      f(p, g, state);
      f.at.p[i] = p;
      for (int k = 0; k < arrays; ++k) f.at.state[k][i] = state[k];
    }
  }
};

/// Calls run(formula, lo, hi) for the elements of one tile, unless the step is skipped.
///
/// A formula has `at`; `operation`, its name; `flops()`, what it does per element; `prepare(t)`, which derives the
/// scalars of applied step t in fp64 and rounds each once; and `operator()(p, g, state)` for numbers and vectors.
HEDDLE_DEVICE_PASS_QUIET
template <class Formula, class Run>
HEDDLE_HD_FN void run_step_tile(Formula f, index_t tile, Run const& run) {
  if (f.at.skip != nullptr && *f.at.skip != 0) return;
  f.prepare(*f.at.applied + 1);
  index_t const lo = tile * step_tile;
  run(f, lo, lo + step_tile < f.at.n ? lo + step_tile : f.at.n);
}

template <class Formula>
struct step_task {
  Formula formula;
  HEDDLE_HD_FN void operator()(index_t tile, int) const { run_step_tile(formula, tile, step_one_by_one{}); }
};

struct dispatch_step {
  template <class Formula>
  HEDDLE_FN void operator()(Formula const& f, index_t lo, index_t hi) const {
    dispatch_isa(step_in_vectors{}, f, lo, hi);
  }
};
template <class Formula>
struct vector_step_task {
  Formula formula;
  HEDDLE_FN void operator()(index_t tile, int) const { run_step_tile(formula, tile, dispatch_step{}); }
};

struct count_task {
  index_t* applied;
  std::int32_t const* skip;

  HEDDLE_HD_FN void operator()(index_t, int) const {
    if (skip == nullptr || *skip == 0) ++*applied;
  }
};

/// Submits the element work in tiles and then the count.
template <class E, class Formula>
HEDDLE_FN void submit_step(E& exec, Formula const& formula) {
  constexpr bool vectors = std::is_same_v<typename E::backend, cpu_tag>;
  using task = std::conditional_t<vectors, vector_step_task<Formula>, step_task<Formula>>;
  static_assert(queueable_task<task>);
  using pointers = std::remove_cvref_t<decltype(formula.at)>;
  observed_span<E> const scope(exec, [&] {
    constexpr auto bytes = static_cast<index_t>((3 + 2 * pointers::arrays) * sizeof(typename pointers::value_type));
    index_t const n = formula.at.n;
    return span{.operation = Formula::operation,
                .shape = {n},
                .bytes = n * bytes,
                .flops = n * (formula.flops() + (formula.at.clip != nullptr ? 1 : 0))};
  });
  exec.for_each_tile((formula.at.n + step_tile - 1) / step_tile, task{formula});
  exec.for_each_tile(1, count_task{formula.at.applied, formula.at.skip});
}

}  // namespace detail
}  // namespace heddle::optim
