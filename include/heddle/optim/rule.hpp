// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/tensor_view.hpp>
#include <heddle/exec/executor.hpp>
#include <heddle/optim/detail/product.hpp>

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
  T const* clip = nullptr;            ///< factor on the gradient; null is 1
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
  HEDDLE_EXPECTS(a.lr >= 0 && a.weight_decay >= 0, "learning rate and weight decay are not negative", a.lr,
                 a.weight_decay);
  step_pointers<T, N> out{p.data(), g.data(), {}, applied.data(), a.clip, a.skip, p.size()};
  for (int i = 0; i < N; ++i) {
    HEDDLE_EXPECTS(s.array[i].size() == p.size() && s.array[i].is_contiguous(),
                   "each state array must be as long as the parameter", i, s.array[i].size(), p.size());
    out.state[i] = s.array[i].data();
  }
  return out;
}

/// The element work of one tile. A formula has `prepare(t)`, which derives the scalars of applied step t in fp64 and
/// rounds each once, and `operator()(i, gradient)`.
template <class Formula>
struct step_task {
  Formula formula;

  HEDDLE_HD_FN void operator()(index_t tile, int) const {
    auto const& at = formula.at;
    if (at.skip != nullptr && *at.skip != 0) return;
    Formula f = formula;
    f.prepare(*at.applied + 1);
    index_t const lo = tile * step_tile;
    index_t const hi = lo + step_tile < at.n ? lo + step_tile : at.n;
    for (index_t i = lo; i < hi; ++i) f(i, at.clip != nullptr ? product(at.g[i], *at.clip) : at.g[i]);
  }
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
  static_assert(queueable_task<step_task<Formula>>);
  exec.for_each_tile((formula.at.n + step_tile - 1) / step_tile, step_task<Formula>{formula});
  exec.for_each_tile(1, count_task{formula.at.applied, formula.at.skip});
}

}  // namespace detail
}  // namespace heddle::optim
