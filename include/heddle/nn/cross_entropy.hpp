// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/math.hpp>
#include <heddle/core/math_weight.hpp>
#include <heddle/core/overlap.hpp>
#include <heddle/tile/functions.hpp>
#include <heddle/tile/run.hpp>

namespace heddle {
namespace nn {

/// What cross entropy counts, beside its operands.
struct cross_entropy_options {
  std::int32_t ignore_index = -100;  ///< rows with this target have loss 0 and gradient 0
  double smoothing = 0;              ///< share of the target that is spread over all classes
  double z_loss = 0;                 ///< factor of lse^2, finite and not negative
  double soft_cap = 0;               ///< logits become cap tanh(logit / cap); 0: none
  index_t classes = 0;               ///< real columns; later ones are padding. 0: all
};

namespace detail {

/// Refuses targets of the rows [begin, end) that are neither a class nor the ignored value.
template <class Targets>
HEDDLE_TILE void check_targets(Targets const& targets, index_t begin, index_t end, index_t classes,
                               std::int32_t ignored) {
  if (end > targets.extent(0)) end = targets.extent(0);
  for (index_t r = begin; r < end; ++r)
    HEDDLE_EXPECTS(targets(r) == ignored || (targets(r) >= 0 && targets(r) < classes),
                   "cross_entropy: a target must be a class or the ignored value", r, targets(r), classes);
}

/// A power of two of which n add up to at most 1, and to more than a half.
template <class T>
HEDDLE_TILE T share_below(index_t n) {
  T share = 1;
  for (index_t covered = 1; covered < n; covered *= 2) share *= T(0.5);
  return share;
}

template <class V>
HEDDLE_TILE V capped(V const& x, lane_t<V> cap) {
  return cap > 0 ? mul(splat<V>(cap), tanh(x / splat<V>(cap))) : x;
}

template <class X, class S>
struct cross_entropy_program : tile::over_rows {
  using value = S;
  static constexpr value lowest = -static_cast<value>(__builtin_inff());

  view<X const, 2> logits;  // real classes only
  view<std::int32_t const, 1> targets;
  view<S, 1> loss, lse;
  value smoothing, z_loss, cap;
  std::int32_t ignore_index;

  template <class Ctx>
  struct shared {
    typename Ctx::template column_of<value> peak, lse, hit, mean, loss;
  };
  HEDDLE_FN bool unit_columns() const { return tile::has_unit_columns(logits); }
  HEDDLE_FN span work() const {
    index_t const capping = cap > value(0) ? 3 : 0;
    return {.operation = "cross_entropy",
            .shape = {logits.extent(0), logits.extent(1)},
            .bytes = element_bytes(logits, targets, loss, lse),
            .flops = logits.size() * (4 + capping + (smoothing != value(0) ? 1 + capping : 0))};
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    auto& s = ctx.template shared<shared<Ctx>>();
    index_t const row = ctx.tile() * Ctx::rows, classes = logits.extent(1);
    check_targets(targets, row, row + Ctx::rows, classes, ignore_index);
    auto const in = ctx.ref(logits, row, 0, classes);
    value const c = cap, keep = value(1) - smoothing, spread = smoothing, z = z_loss;
    // A power of two on both sides of the quotient changes no bit of it, and a sum of shares can't overflow.
    value const share = share_below<value>(classes), n = mul(static_cast<value>(classes), share);
    // The cap rises with its argument, so that of the largest logit is the peak.
    ctx.reduce_of(s.peak, tile::pass, maximum<value>{}, in);
    ctx.map(
        s.peak, [c](auto const& v) HEDDLE_LAMBDA { return softmax_base(capped(v, c)); }, s.peak);
    ctx.reduce_of(
        s.lse, [c](auto const& v, auto const& m) HEDDLE_LAMBDA { return exp(capped(v, c) - m); }, plus<value>{}, in,
        s.peak);
    ctx.map(
        s.lse, [](auto const& t, auto const& m) HEDDLE_LAMBDA { return m + log(t); }, s.lse, s.peak);
    ctx.store(lse, row, s.lse);
    // Selecting, not multiplying: a logit of another class may be infinite.
    ctx.reduce_of(
        s.hit,
        [](auto const& v, auto const& hot) HEDDLE_LAMBDA {
          using V = std::remove_cvref_t<decltype(v)>;
          return select(hot == splat<V>(value(1)), v, splat<V>(value(0)));
        },
        plus<value>{}, in, ctx.template one_hot<value>(targets, row));
    if (spread != value(0))
      ctx.reduce_of(
          s.mean,
          [c, share](auto const& v)
              HEDDLE_LAMBDA { return mul(capped(v, c), splat<std::remove_cvref_t<decltype(v)>>(share)); },
          plus<value>{}, in);
    else
      ctx.fill(s.mean, value(0));
    ctx.map(
        s.loss,
        [c, keep, spread, z, n](auto const& l, auto const& hit, auto const& sum) HEDDLE_LAMBDA {
          using V = std::remove_cvref_t<decltype(l)>;
          V y = l - capped(hit, c);
          if (spread != value(0)) y = mul(splat<V>(keep), y) + mul(splat<V>(spread), l - sum / splat<V>(n));
          if (z != value(0)) y = y + mul(splat<V>(z), mul(l, l));
          // A row of -inf gives its target probability 0, and -inf - -inf would be NaN.
          return select(l == splat<V>(value(lowest)), splat<V>(-value(lowest)), y);
        },
        s.lse, s.hit, s.mean);
    ctx.store(loss, row, s.loss);
    clear_ignored(ctx, row);
  }

 private:
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void clear_ignored(Ctx& ctx, index_t row) const {
    auto const self = *this;
    index_t const left = targets.extent(0) - row;
    ctx.sync();
    ctx.for_each(left < Ctx::rows ? left : index_t{Ctx::rows}, [self, row](index_t r) HEDDLE_LAMBDA {
      if (self.targets(row + r) == self.ignore_index) self.loss(row + r) = value(0);
    });
  }
};

/// p (1 + 2 z lse) - keep hot - spread, times the slope of the cap and the factor; 0 where no bit of `live` is set,
/// whatever the logit is. Bits, since g++ 12 compares lane by lane what it can't merge with a selection.
template <class S, bool Capped>
struct cross_entropy_gradient {
  S cap, keep, spread, z2, factor;

  HEDDLE_DEVICE_PASS_QUIET
  template <class V, class Hot, class L, class Live>
  HEDDLE_TILE V operator()(V const& v, Hot const& hot, L const& l, Live const& live) const {
    V const t = Capped ? capped(v, cap) : v;
    V g = mul(exp(t - l), splat<V>(S(1)) + mul(splat<V>(z2), l)) - mul(splat<V>(keep), hot) - splat<V>(spread);
    if constexpr (Capped) g = mul(g, splat<V>(S(1)) - mul(t / splat<V>(cap), t / splat<V>(cap)));
    using bits = uint_bits_t<S>;
    return bit_cast<S>(bit_cast<bits>(mul(splat<V>(factor), g)) & bit_cast<bits>(live));
  }
};

template <class X, class S, class D>
struct cross_entropy_backward_program : tile::over_rows {
  using value = S;

  view<X const, 2> logits;
  view<std::int32_t const, 1> targets;
  view<S const, 1> lse;
  S const* scale;
  view<D, 2> dlogits;  // real classes, then padding
  value smoothing, z_loss, cap;
  std::int32_t ignore_index;

  template <class Ctx>
  struct shared {
    typename Ctx::template column_of<value> live;
  };
  HEDDLE_FN bool unit_columns() const { return tile::has_unit_columns(logits, dlogits); }
  HEDDLE_FN span work() const {
    return {.operation = "cross_entropy_backward",
            .shape = {logits.extent(0), logits.extent(1)},
            .bytes = element_bytes(logits, targets, lse, dlogits),
            .flops = logits.size() * (cap > value(0) ? 13 : 6)};
  }
  // dlogit = scale (p (1 + 2 z lse) - (1 - smoothing) hot - smoothing / classes), times the slope of the cap.
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    auto& s = ctx.template shared<shared<Ctx>>();
    index_t const row = ctx.tile() * Ctx::rows, classes = logits.extent(1);
    auto const self = *this;
    check_targets(targets, row, row + Ctx::rows, classes, ignore_index);
    index_t const left = targets.extent(0) - row;
    ctx.for_each(left < Ctx::rows ? left : index_t{Ctx::rows}, [self, row, &s](index_t r) HEDDLE_LAMBDA {
      bool const live = self.targets(row + r) != self.ignore_index && self.lse(row + r) != -value(__builtin_inff());
      s.live.at[r] = bit_cast<value>(live ? ~uint_bits_t<value>{0} : uint_bits_t<value>{0});
    });
    ctx.sync();
    value const keep = value(1) - smoothing, z2 = value(2) * z_loss, spread = smoothing / static_cast<value>(classes);
    // Two loops, since the one without a cap has a third of the work.
    auto const write = [&](auto const& gradient) HEDDLE_LAMBDA {
      ctx.map_to(ctx.ref(dlogits, row, 0, classes), gradient, ctx.ref(logits, row, 0, classes),
                 ctx.template one_hot<value>(targets, row), ctx.ref_column(lse, row), s.live);
    };
    if (cap > value(0))
      write(cross_entropy_gradient<S, true>{cap, keep, spread, z2, *scale});
    else
      write(cross_entropy_gradient<S, false>{cap, keep, spread, z2, *scale});
    index_t const padding = dlogits.extent(1) - classes;
    if (padding > 0)
      ctx.map_to(
          ctx.ref(dlogits, row, classes, padding),
          [](auto const& v) HEDDLE_LAMBDA { return splat<std::remove_cvref_t<decltype(v)>>(value(0)); }, s.live);
  }
};

template <class S>
struct cross_entropy_total_program {
  view<S const, 1> loss;
  view<std::int32_t const, 1> targets;
  std::int32_t ignore_index;
  view<S, 1> sum;
  view<std::int64_t, 1> count;

  template <class Ctx>
  struct shared {
    char none;
  };
  HEDDLE_FN bool unit_columns() const { return true; }
  HEDDLE_FN span work() const {
    return {.operation = "cross_entropy_total",
            .shape = {loss.extent(0)},
            .bytes = element_bytes(loss, targets, sum, count),
            .flops = loss.size()};
  }
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return 1;
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    view<S const, 2> const rows(loss.data(), dims<2>(loss.extent(0), 1), loss.stride(0), 1);
    ctx.reduce_strip(sum, 0, tile::pass, plus<S>{}, ctx.ref_strip(rows, 0));
    std::int64_t n = 0;
    for (index_t r = 0; r < targets.extent(0); ++r) n += targets(r) != ignore_index;
    ctx.store_scalar(count.data(), n);
  }
};

}  // namespace detail

/// Cross entropy of every row against a target class, with the log-sum-exp that the backward pass needs.
///
/// loss = (1 - smoothing) (lse - logit[target]) + smoothing (lse - mean logit) + z_loss lse^2; 0 for ignored rows.
/// Shapes: logits [rows, columns], targets, loss, lse [rows]. Types: any float storage; targets int32; loss and lse
/// fp32 (fp64). Pre: a target is a class or ignore_index; options lie in their ranges; outputs overlap nothing. Errors:
/// contract_error naming the row, when the work runs. Sync: submits. Determinism: the same bits everywhere. Numerics:
/// the maximum is removed before exp; finite logits give a finite loss where it and each of its three terms fit the
/// type: z_loss lse^2 is infinite above |lse| = 1.8e19 in fp32, and so is a distance of two logits beyond the largest
/// number. Padding columns take no part. A target whose logit is -inf has loss inf; so has a row that is all -inf, with
/// lse -inf and gradient 0.
struct cross_entropy_fn {
  template <executor E, matrix_view X, vector_view S>
  requires writable_view<S> HEDDLE_FN void operator()(E& exec, X const& logits,
                                                      view<std::int32_t const, 1> const& targets, S const& loss,
                                                      S const& lse, cross_entropy_options const& o = {}) const {
    using value = typename S::value_type;
    HEDDLE_EXPECTS(targets.extent(0) == logits.extent(0) && loss.extent(0) == logits.extent(0) &&
                       lse.extent(0) == logits.extent(0),
                   "cross_entropy: one target, loss and lse per row", logits.extent(0), targets.extent(0),
                   loss.extent(0), lse.extent(0));
    expect_apart("cross_entropy", loss, logits, targets, lse);
    expect_apart("cross_entropy", lse, logits, targets);
    index_t const real = classes<value>(logits, o);
    if (logits.extent(0) == 0) return;
    tile::run(exec,
              detail::cross_entropy_program<typename X::value_type, value>{{logits.extent(0)},
                                                                           canonical_input(slice(logits, 1, 0, real)),
                                                                           targets,
                                                                           canonical(loss),
                                                                           canonical(lse),
                                                                           static_cast<value>(o.smoothing),
                                                                           static_cast<value>(o.z_loss),
                                                                           static_cast<value>(o.soft_cap),
                                                                           o.ignore_index});
  }

  /// The columns that are real classes. Pre: at least one, at most the columns there are; options in their ranges,
  /// also once they are rounded to Value.
  template <class Value, class X>
  static HEDDLE_FN index_t classes(X const& logits, cross_entropy_options const& o) {
    index_t const n = o.classes > 0 ? o.classes : logits.extent(1);
    HEDDLE_EXPECTS(o.classes >= 0 && n >= 1 && n <= logits.extent(1),
                   "cross_entropy: the classes must be columns of the logits, or 0 for all", o.classes,
                   logits.extent(1));
    HEDDLE_EXPECTS(o.smoothing >= 0 && static_cast<Value>(o.smoothing) < Value(1),
                   "cross_entropy: smoothing lies in [0, 1), also in the type of the loss", o.smoothing);
    Value const cap = static_cast<Value>(o.soft_cap);
    HEDDLE_EXPECTS(o.soft_cap == 0 || (cap > 0 && is_finite(cap)),
                   "cross_entropy: a soft cap is positive and finite in the type of the loss, or 0 for none",
                   o.soft_cap);
    HEDDLE_EXPECTS(o.z_loss >= 0 && is_finite(static_cast<Value>(o.z_loss)),
                   "cross_entropy: the factor of lse^2 is finite and not negative", o.z_loss);
    return n;
  }
};
inline constexpr cross_entropy_fn cross_entropy{};

/// dlogits = *scale times the gradient of each row's loss; 0 in ignored rows and padding columns.
///
/// Shapes: as cross_entropy; dlogits as logits; scale [1], read when the work runs. dlogits may be logits (in place).
/// Types, Pre, Errors, Sync, Determinism: as cross_entropy.
struct cross_entropy_backward_fn {
  template <executor E, matrix_view X, vector_view S, vector_view F, matrix_view D>
  requires writable_view<D> HEDDLE_FN void operator()(E& exec, X const& logits,
                                                      view<std::int32_t const, 1> const& targets, S const& lse,
                                                      F const& scale, D const& dlogits,
                                                      cross_entropy_options const& o = {}) const {
    using value = typename S::value_type;
    HEDDLE_EXPECTS(dlogits.extents() == logits.extents() && targets.extent(0) == logits.extent(0) &&
                       lse.extent(0) == logits.extent(0) && scale.extent(0) == 1,
                   "cross_entropy: dlogits as logits, one target and lse per row, one scale", logits.extent(0),
                   dlogits.extent(0), targets.extent(0), lse.extent(0), scale.extent(0));
    expect_apart_or_same("cross_entropy_backward", dlogits, logits);
    expect_apart("cross_entropy_backward", dlogits, targets, lse, scale);
    index_t const real = cross_entropy_fn::classes<value>(logits, o);
    if (logits.extent(0) == 0) return;
    tile::run(exec, detail::cross_entropy_backward_program<typename X::value_type, value, typename D::value_type>{
                        {logits.extent(0)},
                        canonical_input(slice(logits, 1, 0, real)),
                        targets,
                        canonical_input(lse),
                        scale.data(),
                        canonical(dlogits),
                        static_cast<value>(o.smoothing),
                        static_cast<value>(o.z_loss),
                        static_cast<value>(o.soft_cap),
                        o.ignore_index});
  }
};
inline constexpr cross_entropy_backward_fn cross_entropy_backward{};

/// The sum of losses and the number of rows that are not ignored, so that a reduction over ranks can divide.
///
/// Shapes: loss, targets [rows], sum, count [1]. Types: loss and sum fp32 or fp64, targets int32, count int64. Pre: the
/// outputs overlap nothing. Errors: contract_error. Complexity: one pass. Sync: submits. Determinism: the canonical
/// order over rows.
struct cross_entropy_total_fn {
  template <executor E, vector_view L, vector_view S>
  requires writable_view<S> HEDDLE_FN void operator()(E& exec, L const& loss,
                                                      view<std::int32_t const, 1> const& targets, S const& sum,
                                                      view<std::int64_t, 1> const& count,
                                                      cross_entropy_options const& o = {}) const {
    HEDDLE_EXPECTS(loss.extent(0) == targets.extent(0) && sum.extent(0) == 1 && count.extent(0) == 1,
                   "cross_entropy_total: one target per loss, one sum, one count", loss.extent(0), targets.extent(0));
    expect_apart("cross_entropy_total", sum, loss, targets, count);
    expect_apart("cross_entropy_total", count, loss, targets);
    tile::run(exec, detail::cross_entropy_total_program<typename S::value_type>{canonical_input(loss), targets,
                                                                                o.ignore_index, canonical(sum), count});
  }
};
inline constexpr cross_entropy_total_fn cross_entropy_total{};

}  // namespace nn
}  // namespace heddle
