// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/error.hpp>
#include <heddle/core/extents.hpp>

#include <cstddef>
#include <new>

namespace heddle {

/// What a memory space has handed out. Units: bytes; allocations counts calls since construction.
struct memory_counts {
  index_t live = 0;
  index_t peak = 0;
  index_t allocations = 0;
};

namespace detail {
/// Frees after the work that was submitted so far, even if that work has failed, and even inside a plan: what is freed
/// there exists.
template <class Executor, class Task>
HEDDLE_FN void submit_cleanup(Executor& exec, Task const& task) {
  if constexpr (requires { exec.submit_cleanup(task); }) {
    exec.submit_cleanup(task);
  } else if (exec.scratch().planning()) {
    exec.synchronize();
    task();
  } else {
    exec.for_each_tile(1, [task](index_t, int) { task(); });
  }
}
}  // namespace detail

/// Memory of the host, counted. One object per category of memory; objects share nothing.
///
/// Units: bytes. Errors: out_of_memory. Sync: may be used by several threads at once.
class host_space {
 public:
  HEDDLE_FN host_space() noexcept : live_(0), peak_(0), allocations_(0) {}
  host_space(host_space const&) = delete;
  host_space& operator=(host_space const&) = delete;

  /// Uninitialised memory, usable by work submitted to `exec` from now on.
  /// Pre: align is a power of two. Post: null for 0 bytes.
  template <class Executor>
  HEDDLE_FN void* allocate(Executor&, std::size_t bytes, std::size_t align = 64) {
    return allocate_now(bytes, align);
  }

  /// Returns memory after the work already submitted to `exec`.
  template <class Executor>
  HEDDLE_FN void deallocate(Executor& exec, void* data, std::size_t bytes, std::size_t align = 64) {
    if (data == nullptr) return;
    detail::submit_cleanup(exec, [self = this, data, bytes, align] { self->deallocate_now(data, bytes, align); });
  }

  HEDDLE_FN void* allocate_now(std::size_t bytes, std::size_t align) {
    if (bytes == 0) return nullptr;
    // Beyond any address space; operator new may end the program there, under sanitizers.
    bool const absurd = bytes > std::size_t{1} << 47;
    void* data = absurd ? nullptr : ::operator new(bytes, std::align_val_t(align), std::nothrow);
    if (data == nullptr) throw error(errc::out_of_memory, make_text("the host has no ", bytes, " bytes left"));
    index_t const size = static_cast<index_t>(bytes);
    index_t const now = __atomic_add_fetch(&live_, size, __ATOMIC_RELAXED);
    index_t seen = __atomic_load_n(&peak_, __ATOMIC_RELAXED);
    while (seen < now && !__atomic_compare_exchange_n(&peak_, &seen, now, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
    __atomic_add_fetch(&allocations_, index_t{1}, __ATOMIC_RELAXED);
    return data;
  }
  HEDDLE_FN void deallocate_now(void* data, std::size_t bytes, std::size_t align) noexcept {
    if (data == nullptr) return;
    __atomic_sub_fetch(&live_, static_cast<index_t>(bytes), __ATOMIC_RELAXED);
    ::operator delete(data, std::align_val_t(align));
  }

  HEDDLE_FN memory_counts counts() const noexcept {
    return {__atomic_load_n(&live_, __ATOMIC_RELAXED), __atomic_load_n(&peak_, __ATOMIC_RELAXED),
            __atomic_load_n(&allocations_, __ATOMIC_RELAXED)};
  }

 private:
  index_t live_, peak_, allocations_;
};

/// The space that is used where the caller names none.
inline host_space default_host_space;

/// A source of memory that work of an executor can use.
/// Valid: `space.allocate(exec, bytes, align)`, `space.deallocate(exec, data, bytes, align)`, `space.counts()`.
/// Meaning: allocation and release are ordered with the work of `exec`; counts are exact.
/// Models: host_space.
template <class S, class Executor>
concept memory_space_for = requires(S& s, Executor& exec, void* data, std::size_t n) {
  { s.allocate(exec, n, n) } -> std::same_as<void*>;
  s.deallocate(exec, data, n, n);
  { s.counts() } -> std::same_as<memory_counts>;
};

}  // namespace heddle
