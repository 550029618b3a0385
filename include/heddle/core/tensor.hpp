// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/tensor_view.hpp>

#include <type_traits>
#include <utility>

namespace heddle {

/// Owns the memory of a row-major tensor with run-time extents.
///
/// Shapes: any rank. Types: trivially copyable elements. Memory: `size() * sizeof(T)` bytes of one space, aligned to
/// 64. Sync: made and freed in the order of the executor that it was made with, which must outlive it. Elements
/// start uninitialised.
template <class T, std::size_t Rank, class Space = host_space>
class tensor {
  static_assert(std::is_trivially_copyable_v<T> && !std::is_const_v<T>, "a tensor holds trivially copyable elements");

 public:
  using element_type = T;
  using view_type = heddle::view<T, Rank, Space>;

  HEDDLE_FN tensor() noexcept : view_(), space_(nullptr), queue_(nullptr), free_(nullptr) {}

  template <class Executor>
  HEDDLE_FN tensor(Executor& exec, Space& space, dims<Rank> const& e)
      : view_(static_cast<T*>(space.allocate(exec, bytes_of(e), 64)), e),
        space_(&space),
        queue_(&exec),
        free_(&free_in_queue<Executor>) {}

  HEDDLE_FN tensor(tensor&& other) noexcept
      : view_(other.view_), space_(other.space_), queue_(other.queue_), free_(other.free_) {
    other.forget();
  }
  HEDDLE_FN tensor& operator=(tensor&& other) noexcept {
    if (this != &other) {
      release();
      view_ = other.view_;
      space_ = other.space_;
      queue_ = other.queue_;
      free_ = other.free_;
      other.forget();
    }
    return *this;
  }
  tensor(tensor const&) = delete;
  tensor& operator=(tensor const&) = delete;
  HEDDLE_FN ~tensor() { release(); }

  /// The window on all elements. Refused for a temporary, which would leave it dangling.
  HEDDLE_FN view_type view() const& noexcept { return view_; }
  view_type view() const&& = delete;
  HEDDLE_FN operator view_type() const& noexcept { return view_; }
  operator view_type() const&& = delete;

  HEDDLE_FN T* data() const& noexcept { return view_.data(); }
  HEDDLE_FN index_t extent(std::size_t i) const noexcept { return view_.extent(i); }
  HEDDLE_FN index_t size() const noexcept { return view_.size(); }
  HEDDLE_FN std::size_t bytes() const noexcept { return bytes_of(view_.extents()); }

 private:
  static HEDDLE_FN std::size_t bytes_of(dims<Rank> const& e) {
    return static_cast<std::size_t>(checked_product(e.size(), static_cast<index_t>(sizeof(T))));
  }
  template <class Executor>
  static HEDDLE_FN void free_in_queue(void* queue, Space& space, void* data, std::size_t bytes) {
    space.deallocate(*static_cast<Executor*>(queue), data, bytes, 64);
  }
  HEDDLE_FN void release() {
    if (free_ && view_.data()) free_(queue_, *space_, view_.data(), bytes());
    forget();
  }
  HEDDLE_FN void forget() noexcept {
    view_ = view_type();
    free_ = nullptr;
  }

  view_type view_;
  Space* space_;
  void* queue_;
  void (*free_)(void*, Space&, void*, std::size_t);
};

}  // namespace heddle
