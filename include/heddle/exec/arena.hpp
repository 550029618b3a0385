// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/contracts.hpp>
#include <heddle/exec/memory.hpp>

namespace heddle {

/// What work needs and does, known before it runs. Units: bytes, floating-point operations.
struct work_plan {
  std::size_t scratch_bytes = 0;  ///< the most scratch that is taken at one time
  index_t flops = 0;
  index_t bytes_moved = 0;
};

/// The stack of scratch memory that belongs to one executor.
///
/// A frame is released when the operation has been submitted: later operations of the same queue run later, so they
/// may reuse the bytes. With `poison(true)` every released frame is overwritten by 0xFF bytes, by work that is
/// submitted to the queue, so that a use after release shows as NaN. With `guard(true)` known bytes follow every piece
/// from its last element on, and `overruns()` counts the pieces behind which something was written.
/// Memory: grows when asked for more than it holds; what it held before stays until `trim`. `reserve` to the
/// largest plan, and no operation allocates.
class arena {
 public:
  static constexpr std::size_t alignment = 64;
  static constexpr std::size_t guard_bytes = 64;

  HEDDLE_FN explicit arena(host_space& space = default_host_space) noexcept
      : space_(&space),
        blocks_(nullptr),
        top_(0),
        high_water_(0),
        overruns_(0),
        poison_(false),
        guard_(false),
        plan_(nullptr) {}
  arena(arena const&) = delete;
  arena& operator=(arena const&) = delete;
  HEDDLE_FN ~arena() { release_from(blocks_); }

  /// Makes sure that frames of `bytes` in all need no allocation.
  /// Pre: no frame is open.
  HEDDLE_FN void reserve(std::size_t bytes) {
    HEDDLE_EXPECTS(top_ == 0, "an arena can't be resized under an open frame", top_);
    if (bytes > capacity()) grow(bytes);
  }

  /// Frees blocks that were outgrown. Pre: the queue is synchronised and no frame is open.
  HEDDLE_FN void trim() noexcept {
    if (blocks_ == nullptr) return;
    release_from(blocks_->before);
    blocks_->before = nullptr;
  }

  /// Makes every frame imaginary and records what is asked for, until null: see exec/plan.hpp.
  HEDDLE_FN void record_plan(work_plan* into) noexcept { plan_ = into; }
  HEDDLE_FN bool planning() const noexcept { return plan_ != nullptr; }
  HEDDLE_FN work_plan* recorded_plan() const noexcept { return plan_; }

  HEDDLE_FN void poison(bool on) noexcept { poison_ = on; }
  HEDDLE_FN bool poisons() const noexcept { return poison_; }
  /// Plans don't count the guards. Pre: no frame is open.
  HEDDLE_FN void guard(bool on) noexcept { guard_ = on; }
  HEDDLE_FN bool guards() const noexcept { return guard_; }
  /// Pieces that were written past their end, as far as the queue has passed the release of their frames.
  HEDDLE_FN index_t overruns() const noexcept { return __atomic_load_n(&overruns_, __ATOMIC_RELAXED); }
  HEDDLE_FN std::size_t capacity() const noexcept { return blocks_ ? blocks_->bytes : 0; }
  HEDDLE_FN std::size_t high_water() const noexcept { return high_water_; }
  HEDDLE_FN host_space& space() const noexcept { return *space_; }

  // For scratch_frame.
  HEDDLE_FN std::size_t top() const noexcept { return top_; }
  HEDDLE_FN std::byte* push(std::size_t bytes) {
    std::size_t const size = (bytes + alignment - 1) / alignment * alignment;
    if (plan_) {
      top_ += size;
      if (top_ > plan_->scratch_bytes) plan_->scratch_bytes = top_;
      return reinterpret_cast<std::byte*>(alignment + top_ - size);  // not null, never touched
    }
    if (top_ + size > capacity()) grow(top_ + size > 2 * capacity() ? top_ + size : 2 * capacity());
    std::byte* const data = blocks_ ? blocks_->data + top_ : nullptr;
    top_ += size;
    if (top_ > high_water_) high_water_ = top_;
    return data;
  }
  HEDDLE_FN void pop(std::size_t top) noexcept { top_ = top; }
  HEDDLE_FN void check_guard(std::byte const* at) noexcept {
    for (std::size_t i = 0; i < guard_bytes; ++i)
      if (at[i] != guard_value) {
        __atomic_add_fetch(&overruns_, index_t{1}, __ATOMIC_RELAXED);
        return;
      }
  }
  static constexpr std::byte guard_value{0xC5};
  /// Calls f(data, bytes) for the memory above `base`: one part, or more where the arena has grown under open frames.
  template <class F>
  HEDDLE_FN void for_each_part(std::size_t base, F const& f) const {
    for (block const* b = blocks_; b; b = b->before) {
      std::size_t const end = top_ < b->bytes ? top_ : b->bytes;
      if (end > base) f(b->data + base, end - base);
    }
  }

 private:
  struct block {
    block* before;
    std::byte* data;
    std::size_t bytes;
  };

  // Open frames keep pointers into the old block, so it is kept and offsets go on in the new one.
  HEDDLE_FN void grow(std::size_t bytes) {
    std::size_t const size = (bytes + alignment - 1) / alignment * alignment;
    void* memory = space_->allocate_now(size + alignment, alignment);
    blocks_ = ::new (memory) block{blocks_, static_cast<std::byte*>(memory) + alignment, size};
  }
  HEDDLE_FN void release_from(block* b) noexcept {
    while (b) {
      block* const before = b->before;
      space_->deallocate_now(b, b->bytes + alignment, alignment);
      b = before;
    }
  }

  host_space* space_;
  block* blocks_;
  std::size_t top_, high_water_;
  index_t overruns_;
  bool poison_, guard_;
  work_plan* plan_;
};

/// Scratch memory of one operation: taken while it is being submitted, released at the end of the scope.
template <class Executor>
class scratch_frame {
 public:
  HEDDLE_FN explicit scratch_frame(Executor& exec) noexcept : exec_(&exec), base_(exec.scratch().top()), guarded_(0) {}
  scratch_frame(scratch_frame const&) = delete;
  scratch_frame& operator=(scratch_frame const&) = delete;
  HEDDLE_FN ~scratch_frame() {
    arena& a = exec_->scratch();
    for (int i = 0; i < guarded_; ++i)
      detail::submit_cleanup(*exec_, [to = &a, at = guard_[i]] { to->check_guard(at); });
    if (a.poisons() && !a.planning())
      a.for_each_part(base_, [this](std::byte* data, std::size_t bytes) {
        detail::submit_cleanup(*exec_, [data, bytes] { __builtin_memset(data, 0xFF, bytes); });
      });
    a.pop(base_);
  }

  /// Room for n elements, uninitialised, aligned to 64 bytes. Only work submitted to the executor may touch it.
  template <class T>
  HEDDLE_FN T* take(index_t n) {
    std::size_t const bytes = static_cast<std::size_t>(checked_product(n, static_cast<index_t>(sizeof(T))));
    arena& a = exec_->scratch();
    bool const guarded = a.guards() && !a.planning() && guarded_ < most_guards;
    std::byte* const data = a.push(bytes + (guarded ? arena::guard_bytes : 0));
    if (guarded) {
      std::byte* const end = guard_[guarded_++] = data + bytes;
      detail::submit_cleanup(
          *exec_, [end] { __builtin_memset(end, static_cast<int>(arena::guard_value), arena::guard_bytes); });
    }
    return reinterpret_cast<T*>(data);
  }

 private:
  static constexpr int most_guards = 8;

  Executor* exec_;
  std::size_t base_;
  int guarded_;
  std::byte* guard_[most_guards];
};

}  // namespace heddle
