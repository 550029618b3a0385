// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Memory that shows mistakes: filled with 0xFF bytes (NaN, -1), watched before and after.

#include <heddle/core/tensor.hpp>
#include <heddle/exec/memory.hpp>

#include <cstdint>
#include <new>

#include <sys/mman.h>
#include <unistd.h>

namespace heddle::test {

/// What stands after the last element of a buffer.
enum class guard {
  canary,  ///< 64 known bytes, checked by `intact()`; elements start at a 64-byte boundary
  page,    ///< a page that can't be touched: reading past the end is a fault at once
};

/// Owns n elements between two guards. All bytes are 0xFF at first.
template <class T>
class buffer {
  static constexpr std::size_t canary_bytes = 64;

 public:
  explicit buffer(index_t n, guard end = guard::canary)
      : n_(n), end_(end), memory_(nullptr), mapped_(0), data_(nullptr) {
    std::size_t const bytes = static_cast<std::size_t>(n) * sizeof(T);
    if (end == guard::page) {
      std::size_t const page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
      std::size_t const usable = (bytes + canary_bytes + page - 1) / page * page;
      mapped_ = usable + page;
      void* const m = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (m == MAP_FAILED) throw std::bad_alloc();
      memory_ = static_cast<unsigned char*>(m);
      mprotect(memory_ + usable, page, PROT_NONE);
      data_ = memory_ + usable - bytes;
    } else {
      memory_ = static_cast<unsigned char*>(::operator new(bytes + 2 * canary_bytes, std::align_val_t(64)));
      data_ = memory_ + canary_bytes;
      __builtin_memset(data_ + bytes, 0xC5, canary_bytes);
    }
    __builtin_memset(data_ - canary_bytes, 0xC5, canary_bytes);
    poison();
  }
  buffer(buffer const&) = delete;
  buffer& operator=(buffer const&) = delete;
  ~buffer() {
    if (end_ == guard::page)
      munmap(memory_, mapped_);
    else
      ::operator delete(memory_, std::align_val_t(64));
  }

  void poison() { __builtin_memset(data_, 0xFF, static_cast<std::size_t>(n_) * sizeof(T)); }

  T* data() { return reinterpret_cast<T*>(data_); }
  T const* data() const { return reinterpret_cast<T const*>(data_); }
  index_t size() const { return n_; }
  T& operator[](index_t i) { return data()[i]; }
  T const& operator[](index_t i) const { return data()[i]; }
  T* begin() { return data(); }
  T* end() { return data() + n_; }

  /// All elements, or the first ones as a row-major array of the given sizes.
  heddle::view<T, 1> view() { return {data(), dims<1>(n_)}; }
  template <class... I>
  heddle::view<T, sizeof...(I)> view(I... sizes) {
    dims<sizeof...(I)> const e(static_cast<index_t>(sizes)...);
    HEDDLE_EXPECTS(e.size() <= n_, "the buffer is too small for this view", e.size(), n_);
    return {data(), e};
  }

  /// Whether nobody wrote just before the first or just after the last element.
  bool intact() const {
    unsigned char const* const after = data_ + static_cast<std::size_t>(n_) * sizeof(T);
    for (std::size_t i = 1; i <= canary_bytes; ++i)
      if (data_[-static_cast<std::ptrdiff_t>(i)] != 0xC5) return false;
    for (std::size_t i = 0; end_ == guard::canary && i < canary_bytes; ++i)
      if (after[i] != 0xC5) return false;
    return true;
  }

 private:
  index_t n_;
  guard end_;
  unsigned char* memory_;
  std::size_t mapped_;
  unsigned char* data_;
};

/// A tensor of an executor whose bytes are set to 0xFF by its queue.
template <class T, class Executor, class... I>
heddle::tensor<T, sizeof...(I)> poisoned(Executor& exec, I... sizes) {
  heddle::tensor<T, sizeof...(I)> t(exec, default_host_space, dims<sizeof...(I)>(static_cast<index_t>(sizes)...));
  exec.for_each_tile(1, [data = t.data(), bytes = t.bytes()](index_t, int) {
    if (bytes > 0) __builtin_memset(static_cast<void*>(data), 0xFF, bytes);
  });
  return t;
}

}  // namespace heddle::test
