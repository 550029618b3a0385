// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/tensor_view.hpp>

namespace heddle::nn {

/// How long a buffer of one microbatch lives. F is its forward, B its backward for inputs, W its backward for weights.
enum class life : int {
  fwd = 0,       ///< a stack that is empty before and after F
  saved = 1,     ///< from F to B
  kept = 2,      ///< from F to W
  bwd = 3,       ///< a stack that is empty before and after B
  deferred = 4,  ///< from B to W
  cache = 5,     ///< from one pass over a sequence to the next: what inference keeps of the tokens before
  nowhere = 6,   ///< planned by a caller that will never touch it
};
inline constexpr int lives = 5;    ///< those of a microbatch in flight
inline constexpr int regions = 6;  ///< and the cache

/// The longer of two lives that begin in F, or of two that begin in B.
HEDDLE_FN constexpr life longer(life a, life b) noexcept { return a < b ? b : a; }

/// A place in the region of one life: an offset, never a pointer, so that one plan serves every microbatch.
struct slot {
  life where = life::fwd;
  std::size_t offset = 0;
  index_t rows = 0;
  index_t columns = 0;
};

/// Where the regions of one microbatch in flight begin, and that of the cache; the last entry stays null.
struct frame {
  std::byte* base[regions + 1] = {};

  template <class T>
  HEDDLE_FN view<T, 2> at(slot const& s) const noexcept {
    std::byte* const data = base[static_cast<int>(s.where)] + s.offset;
    return view<T, 2>(reinterpret_cast<T*>(data), dims<2>(s.rows, s.columns));
  }
  template <class T>
  HEDDLE_FN view<T, 1> vector_at(slot const& s) const noexcept {
    std::byte* const data = base[static_cast<int>(s.where)] + s.offset;
    return view<T, 1>(reinterpret_cast<T*>(data), dims<1>(s.rows * s.columns));
  }
};

/// The input of a layer as its plan sees it. Units: sequences, tokens of each, elements of a token.
struct layer_shape {
  index_t sequences = 0;
  index_t tokens = 0;
  index_t width = 0;

  HEDDLE_FN constexpr index_t rows() const noexcept { return sequences * tokens; }
  HEDDLE_FN constexpr layer_shape with_width(index_t w) const noexcept { return {sequences, tokens, w}; }
};

namespace detail {
/// Where slots of one life go: to the end of a region, or to the next place of a block that was taken beforehand.
struct life_target {
  life region = life::fwd;
  std::size_t* block = nullptr;
};
struct life_map {
  life_target to[regions] = {{life::fwd}, {life::saved}, {life::kept}, {life::bwd}, {life::deferred}, {life::cache}};
};
}  // namespace detail

/// Gives out slots while a plan is made, from shapes alone and before any allocation.
///
/// Memory: fwd and bwd are stacks (a scope gives back what was taken in it), the others only grow. `bytes(l)`
/// is what one microbatch, or one sequence's cache, reserves in a region; every slot begins at a multiple of 64 bytes.
class planner {
 public:
  /// @param activation_bytes size of one activation element
  HEDDLE_FN explicit planner(std::size_t activation_bytes) noexcept : activation_bytes_(activation_bytes) {}

  /// Takes room for rows x columns elements of `element_bytes`.
  HEDDLE_FN slot take(life where, index_t rows, index_t columns, std::size_t element_bytes) {
    detail::life_target const to = map_.to[static_cast<int>(where)];
    index_t const size = checked_product(checked_product(rows, columns), static_cast<index_t>(element_bytes));
    std::size_t const bytes = (static_cast<std::size_t>(size) + 63) / 64 * 64;
    if (to.region == life::nowhere) return {life::nowhere, 0, rows, columns};
    std::size_t* const next = to.block ? to.block : &top_[static_cast<int>(to.region)];
    slot const s{to.region, *next, rows, columns};
    *next += bytes;
    std::size_t& peak = peak_[static_cast<int>(to.region)];
    if (*next > peak) peak = *next;
    return s;
  }
  /// Takes room for activations.
  HEDDLE_FN slot take_activation(life where, index_t rows, index_t columns) {
    return take(where, rows, columns, activation_bytes_);
  }
  /// Takes room for values of a given type.
  template <class T>
  HEDDLE_FN slot take_values(life where, index_t rows, index_t columns = 1) {
    return take(where, rows, columns, sizeof(T));
  }

  /// Takes room for numbers of the accumulator's type: fp64 for fp64 activations, else fp32.
  HEDDLE_FN slot take_statistics(life where, index_t n) {
    return take(where, n, 1, activation_bytes_ == 8 ? 8 : 4);
  }

  HEDDLE_FN std::size_t activation_bytes() const noexcept { return activation_bytes_; }
  HEDDLE_FN std::size_t bytes(life l) const noexcept { return peak_[static_cast<int>(l)]; }

  /// Gives back, at its end, what was taken from the two stacks since its beginning.
  class scope {
   public:
    HEDDLE_FN explicit scope(planner& p) noexcept
        : planner_(&p), fwd_(p.top_[static_cast<int>(life::fwd)]), bwd_(p.top_[static_cast<int>(life::bwd)]) {}
    scope(scope const&) = delete;
    scope& operator=(scope const&) = delete;
    HEDDLE_FN ~scope() {
      planner_->top_[static_cast<int>(life::fwd)] = fwd_;
      planner_->top_[static_cast<int>(life::bwd)] = bwd_;
    }

   private:
    planner* planner_;
    std::size_t fwd_, bwd_;
  };

  /// Until its end, plans a forward whose saved and kept values nobody will read: they go to the stack of F.
  class throwaway {
   public:
    HEDDLE_FN explicit throwaway(planner& p) noexcept : planner_(&p), before_(p.map_) {
      detail::life_target const fwd = before_.to[static_cast<int>(life::fwd)];
      p.map_ = {{fwd, fwd, fwd, {life::nowhere}, {life::nowhere}, before_.to[static_cast<int>(life::cache)]}};
    }
    throwaway(throwaway const&) = delete;
    throwaway& operator=(throwaway const&) = delete;
    HEDDLE_FN ~throwaway() { planner_->map_ = before_; }

   private:
    planner* planner_;
    detail::life_map before_{};
  };

  /// Until its end, plans a forward that is replayed in B, with the backward after it. Saved values go to a block of
  /// `saved_bytes` under the stack of B, where they outlive every scope; kept ones live from B to W.
  class replay {
   public:
    HEDDLE_FN replay(planner& p, std::size_t saved_bytes) noexcept : planner_(&p), before_(p.map_) {
      slot const block = p.take(life::bwd, 1, static_cast<index_t>(saved_bytes), 1);
      next_ = block.offset;
      detail::life_target const bwd = before_.to[static_cast<int>(life::bwd)];
      detail::life_target const deferred = before_.to[static_cast<int>(life::deferred)];
      p.map_ = {{bwd, {block.where, &next_}, deferred, bwd, deferred, {life::nowhere}}};
    }
    replay(replay const&) = delete;
    replay& operator=(replay const&) = delete;
    HEDDLE_FN ~replay() { planner_->map_ = before_; }

   private:
    planner* planner_;
    detail::life_map before_{};
    std::size_t next_;
  };

 private:
  std::size_t activation_bytes_;
  std::size_t top_[regions] = {}, peak_[regions] = {};
  detail::life_map map_{};
};

}  // namespace heddle::nn
