// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/algorithm/copy.hpp>
#include <heddle/core/bf16.hpp>
#include <heddle/core/tensor.hpp>
#include <heddle/optim/flat.hpp>
#include <heddle/optim/rule.hpp>

#include <vector>

namespace heddle::optim {

/// What an optimizer needs to know of a parameter beside its place.
struct shard_parameter {
  bool decay = true;
  index_t stored_at = 0;  ///< of its first element, in the flat buffer of stored parameters
  index_t place = 0;      ///< of its first element, in the flat layout of gradients
  bool stored = true;     ///< false: another use of a tied parameter, which that use updates
};

/// The part of the optimizer that one rank owns: master copies where parameters are narrower, moments, and one counter
/// of applied steps per parameter; and the step over it.
///
/// Types: T is the type of stored parameters; masters, moments and gradients are fp32.
/// Memory: `bytes()` of one space: owned elements times (Rule::arrays, and one more where T is not float) times 4, plus
/// 8 per parameter. Determinism: element-wise, so a cut does not change bits.
template <class Rule, class T, executor Exec>
class optimizer_shard {
 public:
  static constexpr bool has_master = !std::is_same_v<T, float>;
  static constexpr int arrays = Rule::arrays;

  /// @param owner the rank whose part of `layout` this is
  HEDDLE_FN optimizer_shard(Exec& exec, host_space& space, Rule const& rule, flat_layout const& layout, index_t owner,
                            std::vector<shard_parameter> parameters)
      : exec_(&exec), rule_(rule), parameters_(static_cast<std::vector<shard_parameter>&&>(parameters)) {
    layout.for_each_owned(owner, [&](flat_piece const& p) { pieces_.push_back(p); });
    index_t const n = layout.owned_size(owner);
    state_ = tensor<float, 1>(exec, space, dims<1>(n * (arrays + (has_master ? 1 : 0))));
    applied_ = tensor<index_t, 1>(exec, space, dims<1>(layout.parameters()));
    size_ = n;
    clear();
  }
  optimizer_shard(optimizer_shard const&) = delete;
  optimizer_shard& operator=(optimizer_shard const&) = delete;
  HEDDLE_FN ~optimizer_shard() {}

  static HEDDLE_FN std::size_t bytes(flat_layout const& layout, index_t owner) {
    return static_cast<std::size_t>(layout.owned_size(owner)) * (arrays + (has_master ? 1 : 0)) * sizeof(float) +
           static_cast<std::size_t>(layout.parameters()) * sizeof(index_t);
  }

  HEDDLE_FN std::vector<flat_piece> const& pieces() const noexcept { return pieces_; }
  HEDDLE_FN index_t size() const noexcept { return size_; }
  /// A state array of the whole shard; `arrays` is the master copy.
  HEDDLE_FN view<float, 1> array(int i) const {
    return view<float, 1>(state_.data() + i * size_, dims<1>(size_));
  }
  HEDDLE_FN view<index_t, 1> applied() const { return applied_.view(); }
  /// Whether a piece is updated here.
  HEDDLE_FN bool stored(flat_piece const& p) const { return parameters_[static_cast<std::size_t>(p.parameter)].stored; }
  /// Where a piece is stored among the flat parameters.
  HEDDLE_FN index_t stored_at(flat_piece const& p) const {
    return parameters_[static_cast<std::size_t>(p.parameter)].stored_at + p.range.lo;
  }

  /// Where a piece lies among the flat gradients.
  HEDDLE_FN index_t place(flat_piece const& p) const {
    return parameters_[static_cast<std::size_t>(p.parameter)].place + p.range.lo;
  }

  /// Sets the master copies of what this rank owns of a parameter: `value(e)` for its row-major element e. Where T is
  /// float there are none, and nothing is asked. Pre: the queue is synchronised.
  template <class Value>
  HEDDLE_FN void fill_masters(index_t parameter, Value const& value) {
    if constexpr (has_master)
      for (flat_piece const& p : pieces_)
        if (p.parameter == parameter && stored(p))
          for (index_t e = p.range.lo; e < p.range.hi; ++e)
            array(arrays).data()[p.offset + e - p.range.lo] = static_cast<float>(value(e));
  }

  /// One step: clips, decays, updates and stores what this rank owns.
  /// @param gradients the flat buffer of gradients; only what this rank owns is read
  HEDDLE_FN void step(T* parameters, float const* gradients, step_args<float> args) {
    double const decay = args.weight_decay;
    for (flat_piece const& p : pieces_) {
      if (!stored(p)) continue;
      index_t const n = p.range.size();
      float* const master = master_of(parameters, p);
      state_views<float, arrays> state{};
      for (int i = 0; i < arrays; ++i) state.array[i] = view<float, 1>(array(i).data() + p.offset, dims<1>(n));
      args.weight_decay = parameters_[static_cast<std::size_t>(p.parameter)].decay ? decay : 0;
      rule_.step(*exec_, view<float, 1>(master, dims<1>(n)), view<float const, 1>(gradients + place(p), dims<1>(n)),
                 state, slice(applied(), 0, p.parameter, p.parameter + 1), args);
      if constexpr (has_master) convert_piece(master, parameters + stored_at(p), n);
    }
  }

 private:
  HEDDLE_FN float* master_of(T* parameters, flat_piece const& p) const {
    if constexpr (has_master)
      return array(arrays).data() + p.offset;
    else
      return parameters + stored_at(p);
  }
  template <class From, class To>
  HEDDLE_FN void convert_piece(From const* from, To* to, index_t n) {
    copy(*exec_, view<From const, 1>(from, dims<1>(n)), view<To, 1>(to, dims<1>(n)));
  }
  HEDDLE_FN void clear() {
    float* const state = state_.data();
    std::size_t const state_bytes = state_.bytes(), applied_bytes = applied_.bytes();
    index_t* const applied = applied_.data();
    exec_->for_each_tile(1, [=](index_t, int) {
      if (state_bytes > 0) __builtin_memset(state, 0, state_bytes);
      if (applied_bytes > 0) __builtin_memset(applied, 0, applied_bytes);
    });
  }

  Exec* exec_;
  Rule rule_;
  std::vector<shard_parameter> parameters_;
  std::vector<flat_piece> pieces_;
  tensor<float, 1> state_;
  tensor<index_t, 1> applied_;
  index_t size_ = 0;
};

}  // namespace heddle::optim
