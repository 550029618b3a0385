// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/tensor_view.hpp>
#include <heddle/exec/executor.hpp>

namespace heddle::optim {

/// What the global gradient norm says about a step.
struct clip_decision {
  double coefficient = 1;  ///< factor on every gradient; exactly 1 leaves them bit-identical
  bool skip = false;       ///< the norm is infinite or NaN: apply nothing, count nothing
};

/// The decision for a norm and a limit: min(1, limit/(norm + 1e-6)), exactly 1 for a norm below the limit.
/// Pre: limit > 0, norm not negative.
HEDDLE_HD_FN clip_decision decide_clip(double norm, double limit) {
  HEDDLE_EXPECTS(limit > 0, "a clip limit is positive", limit);
  if (!(norm - norm == 0)) return {1, true};
  if (norm < limit) return {};
  double const c = limit / (norm + 1e-6);
  return {c < 1 ? c : 1, false};
}

namespace detail {
template <class T>
struct clip_task {
  double const* norm;
  double limit;
  T* coefficient;
  std::int32_t* skip;

  HEDDLE_HD_FN void operator()(index_t, int) const {
    clip_decision const d = decide_clip(*norm, limit);
    *coefficient = static_cast<T>(d.coefficient);
    *skip = d.skip ? 1 : 0;
  }
};
}  // namespace detail

/// Writes the decision where the update rules read it, without the host seeing the norm.
///
/// Shapes: norm, coefficient, skip [1]. Pre: limit > 0. Sync: submits one task.
struct clip_from_norm_fn {
  template <executor E, std::floating_point T, class Space>
  HEDDLE_FN void operator()(E& exec, view<double const, 1, Space> norm, double limit, view<T, 1, Space> coefficient,
                            view<std::int32_t, 1, Space> skip) const {
    HEDDLE_EXPECTS(norm.size() == 1 && coefficient.size() == 1 && skip.size() == 1, "each view holds one element",
                   norm.size(), coefficient.size(), skip.size());
    HEDDLE_EXPECTS(limit > 0, "a clip limit is positive", limit);
    observed_span<E> const scope(
        exec, [&] { return span{.operation = "clip_from_norm", .bytes = element_bytes(norm, coefficient, skip)}; });
    exec.for_each_tile(1, detail::clip_task<T>{norm.data(), limit, coefficient.data(), skip.data()});
  }
};
inline constexpr clip_from_norm_fn clip_from_norm{};

}  // namespace heddle::optim
