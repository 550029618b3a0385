// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/algorithm/detail/fft_tables.hpp>
#include <heddle/core/owned.hpp>
#include <heddle/exec/memory.hpp>

namespace heddle {

/// What transforms of one size need to know: radices and tables of roots of unity. Made once, used by any number of
/// transforms and threads at once.
///
/// Types: T float or double. Pre: 1 <= n <= 2^40. Complexity: O(n), and O(n log n) where n has a prime factor above 31.
/// Memory: about 3 n / 16 numbers of float and 3 n / 8 of double (3 n at most for n <= 64), of `space`; up to 16 n
/// where n has a prime factor above 31. Errors: contract_error, out_of_memory.
/// Numerics: roots come from our own sincos in double, with angles up to pi / 4.
template <std::floating_point T>
class fft_plan {
 public:
  HEDDLE_FN explicit fft_plan(index_t n, host_space& space = default_host_space)
      : space_(&space), memory_(nullptr), bytes_(0), tables_(), inner_() {
    HEDDLE_EXPECTS(n >= 1 && n <= (index_t{1} << 40), "a transform has 1 to 2^40 points", n);
    tables_.n = n;
    if (detail::fft_has_small_factors(n)) {
      make([&](T* at) { return detail::fft_fill_tables(tables_, at); });
    } else {
      index_t m = 1;
      while (m < 2 * n - 1) m *= 2;
      inner_ = make_owned<fft_plan>(m, space);
      tables_.inner = &inner_->tables_;
      make([&](T* at) { return detail::fft_fill_chirp(tables_, at, space); });
    }
  }
  HEDDLE_FN fft_plan(fft_plan&& other) noexcept
      : space_(other.space_),
        memory_(std::exchange(other.memory_, nullptr)),
        bytes_(other.bytes_),
        tables_(other.tables_),
        inner_(std::move(other.inner_)) {}
  HEDDLE_FN fft_plan& operator=(fft_plan&& other) noexcept {
    if (this != &other) {
      release();
      space_ = other.space_;
      memory_ = std::exchange(other.memory_, nullptr);
      bytes_ = other.bytes_;
      tables_ = other.tables_;
      inner_ = std::move(other.inner_);
    }
    return *this;
  }
  fft_plan(fft_plan const&) = delete;
  fft_plan& operator=(fft_plan const&) = delete;
  HEDDLE_FN ~fft_plan() { release(); }

  /// The number of points.
  HEDDLE_FN index_t size() const noexcept { return tables_.n; }
  /// For the operations.
  HEDDLE_FN detail::fft_tables<T> const& tables() const noexcept { return tables_; }

 private:
  // Runs twice: without memory, for its size, and with it.
  template <class Fill>
  HEDDLE_FN void make(Fill const& fill) {
    bytes_ = static_cast<std::size_t>(fill(nullptr)) * sizeof(T);
    memory_ = space_->allocate_now(bytes_, 64);
    if (memory_) fill(static_cast<T*>(memory_));
  }
  HEDDLE_FN void release() noexcept {
    if (memory_) space_->deallocate_now(memory_, bytes_, 64);
    memory_ = nullptr;
  }

  host_space* space_;
  void* memory_;
  std::size_t bytes_;
  detail::fft_tables<T> tables_;
  owned<fft_plan> inner_;
};

}  // namespace heddle
