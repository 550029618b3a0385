// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/config.hpp>

#include <new>
#include <utility>

namespace heddle {

/// One object on the heap, or none; what std::unique_ptr does, without the cost of <memory> to every user.
///
/// Meaning: moves, never copies; the object ends with its owner. Pre of * and ->: there is an object.
template <class T>
class owned {
 public:
  HEDDLE_FN owned() noexcept : object_(nullptr) {}
  HEDDLE_FN explicit owned(T* object) noexcept : object_(object) {}
  HEDDLE_FN owned(owned&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  HEDDLE_FN owned& operator=(owned&& other) noexcept {
    owned(std::move(other)).swap(*this);
    return *this;
  }
  owned(owned const&) = delete;
  owned& operator=(owned const&) = delete;
  HEDDLE_FN ~owned() { delete object_; }

  HEDDLE_FN T* get() const noexcept { return object_; }
  HEDDLE_FN T& operator*() const noexcept { return *object_; }
  HEDDLE_FN T* operator->() const noexcept { return object_; }
  HEDDLE_FN explicit operator bool() const noexcept { return object_ != nullptr; }
  HEDDLE_FN void reset() noexcept { owned().swap(*this); }
  HEDDLE_FN void swap(owned& other) noexcept { std::swap(object_, other.object_); }

 private:
  T* object_;
};

/// Makes an object on the heap from the arguments of its constructor.
template <class T, class... A>
HEDDLE_FN owned<T> make_owned(A&&... arguments) {
  return owned<T>(new T(std::forward<A>(arguments)...));
}

}  // namespace heddle
