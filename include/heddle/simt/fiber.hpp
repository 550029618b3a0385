// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/error.hpp>

#include <cxxabi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

#if defined(HEDDLE_ASAN)
extern "C" void __sanitizer_start_switch_fiber(void** save, void const* bottom, std::size_t size);
extern "C" void __sanitizer_finish_switch_fiber(void* save, void const** bottom, std::size_t* size);
extern "C" void __asan_unpoison_memory_region(void const volatile* data, std::size_t size);
#endif
#if defined(HEDDLE_TSAN)
extern "C" void* __tsan_get_current_fiber();
extern "C" void* __tsan_create_fiber(unsigned flags);
extern "C" void __tsan_destroy_fiber(void* fiber);
extern "C" void __tsan_switch_to_fiber(void* fiber, unsigned flags);
#endif

// No instrumentation may stand between the announcement of a switch and the switch.
#if defined(__clang__)
#define HEDDLE_SIMT_NAKED __attribute__((naked, noinline, no_sanitize("thread", "address", "undefined")))
#else
#define HEDDLE_SIMT_NAKED \
  __attribute__((naked, noinline, no_sanitize_thread, no_sanitize_address, no_sanitize_undefined))
#endif

namespace heddle {
namespace simt {

namespace detail {

#if defined(__x86_64__)
// Saves what a call must preserve, and the rounding modes, on the stack in use; goes on with the other stack.
HEDDLE_SIMT_NAKED HEDDLE_FN void switch_stack(void** /*save*/, void* /*to*/) {
  asm(R"(
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    subq $8, %rsp
    stmxcsr (%rsp)
    fnstcw 4(%rsp)
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    ldmxcsr (%rsp)
    fldcw 4(%rsp)
    addq $8, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
  )");
}
// The first frame of a fiber: the unwinder ends here.
HEDDLE_SIMT_NAKED HEDDLE_FN void enter_fiber() {
  asm(R"(
    .cfi_undefined rip
    movq %r12, %rdi
    callq *%r13
    ud2
  )");
}
#endif

/// Memory for one stack, with a page below it that traps.
class fiber_stack {
 public:
  HEDDLE_FN explicit fiber_stack(std::size_t bytes) : memory_(nullptr), bytes_(bytes), guard_(0) {
    guard_ = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    void* const m =
        ::mmap(nullptr, bytes_ + guard_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (m == MAP_FAILED) throw error(errc::out_of_memory, "no memory for the stack of a simulated thread");
    memory_ = static_cast<std::byte*>(m);
    ::mprotect(memory_, guard_, PROT_NONE);
  }
  fiber_stack(fiber_stack const&) = delete;
  fiber_stack& operator=(fiber_stack const&) = delete;
  HEDDLE_FN ~fiber_stack() { ::munmap(memory_, bytes_ + guard_); }

  HEDDLE_FN std::byte* bottom() const noexcept { return memory_ + guard_; }
  HEDDLE_FN std::byte* top() const noexcept { return memory_ + guard_ + bytes_; }
  HEDDLE_FN std::size_t bytes() const noexcept { return bytes_; }

 private:
  std::byte* memory_;
  std::size_t bytes_, guard_;
};

}  // namespace detail

/// A function with a stack of its own, which can stop in the middle and go on later, in one OS thread.
///
/// Pre: the function throws nothing; a fiber is destroyed only before its start or after its end.
class fiber {
 public:
  HEDDLE_FN explicit fiber(std::size_t stack_bytes = std::size_t{256} << 10)
      : stack_(stack_bytes), own_(nullptr), caller_(nullptr), function_(nullptr), argument_(nullptr), exceptions_{} {}
  fiber(fiber const&) = delete;
  fiber& operator=(fiber const&) = delete;
  HEDDLE_FN ~fiber() {
#if defined(HEDDLE_TSAN)
    if (tsan_own_) __tsan_destroy_fiber(tsan_own_);
#endif
  }

  /// Makes the next `resume` call function(argument).
  HEDDLE_FN void start(void (*function)(void*), void* argument) noexcept {
    function_ = function;
    argument_ = argument;
#if defined(HEDDLE_ASAN)
    __asan_unpoison_memory_region(stack_.bottom(), stack_.bytes());  // frames of before that never returned
#endif
    std::memset(exceptions_, 0, sizeof exceptions_);
#if defined(__x86_64__)
    auto* const top = reinterpret_cast<std::uintptr_t*>(stack_.top());
    top[-1] = reinterpret_cast<std::uintptr_t>(&detail::enter_fiber);
    top[-2] = top[-3] = top[-6] = top[-7] = 0;
    top[-4] = reinterpret_cast<std::uintptr_t>(this);   // r12
    top[-5] = reinterpret_cast<std::uintptr_t>(&body);  // r13
    std::uint32_t modes[2] = {0, 0};
    asm volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(modes[0]), "=m"(modes[1]));
    std::memcpy(top - 8, modes, 8);
    own_ = top - 8;
#else
    ::getcontext(&own_context_);
    own_context_.uc_stack.ss_sp = stack_.bottom();
    own_context_.uc_stack.ss_size = stack_.bytes();
    own_context_.uc_link = nullptr;
    auto const self = reinterpret_cast<std::uintptr_t>(this);
    ::makecontext(&own_context_, reinterpret_cast<void (*)()>(&portable_body), 2, static_cast<unsigned>(self >> 32),
                  static_cast<unsigned>(self));
#endif
#if defined(HEDDLE_TSAN)
    if (tsan_own_) __tsan_destroy_fiber(tsan_own_);
    tsan_own_ = __tsan_create_fiber(0);
#endif
  }

  /// Runs the fiber until it suspends or ends. Called from outside.
  HEDDLE_FN void resume() {
    swap_exceptions();
#if defined(HEDDLE_TSAN)
    tsan_caller_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(tsan_own_, 0);
#endif
#if defined(HEDDLE_ASAN)
    void* save = nullptr;
    __sanitizer_start_switch_fiber(&save, stack_.bottom(), stack_.bytes());
#endif
    jump_in();
#if defined(HEDDLE_ASAN)
    __sanitizer_finish_switch_fiber(save, nullptr, nullptr);
#endif
    swap_exceptions();
  }

  /// Goes back to whoever called `resume`. Called from inside.
  HEDDLE_FN void suspend() { leave(false); }

 private:
  static HEDDLE_FN void body(void* self) {
    fiber& f = *static_cast<fiber*>(self);
    f.arrived(nullptr);
    f.function_(f.argument_);
    f.leave(true);
  }
#if !defined(__x86_64__)
  static HEDDLE_FN void portable_body(unsigned high, unsigned low) {
    body(reinterpret_cast<void*>((static_cast<std::uintptr_t>(high) << 32) | low));
  }
#endif

  HEDDLE_SHIM void arrived(void* save) {
#if defined(HEDDLE_ASAN)
    __sanitizer_finish_switch_fiber(save, &caller_bottom_, &caller_bytes_);
#else
    static_cast<void>(save);
#endif
  }
  HEDDLE_FN void leave(bool last) {
    void* save = nullptr;
#if defined(HEDDLE_TSAN)
    __tsan_switch_to_fiber(tsan_caller_, 0);
#endif
#if defined(HEDDLE_ASAN)
    __sanitizer_start_switch_fiber(last ? nullptr : &save, caller_bottom_, caller_bytes_);
#else
    static_cast<void>(last);
#endif
#if defined(__x86_64__)
    detail::switch_stack(&own_, caller_);
#else
    ::swapcontext(&own_context_, &caller_context_);
#endif
    arrived(save);
  }
  HEDDLE_SHIM void jump_in() {
#if defined(__x86_64__)
    detail::switch_stack(&caller_, own_);
#else
    ::swapcontext(&caller_context_, &own_context_);
#endif
  }
  // The runtime keeps the exceptions in flight per OS thread; each fiber has its own.
  HEDDLE_FN void swap_exceptions() noexcept {
    auto* const now = reinterpret_cast<std::byte*>(abi::__cxa_get_globals());
    std::byte other[sizeof exceptions_];
    std::memcpy(other, now, sizeof other);
    std::memcpy(now, exceptions_, sizeof other);
    std::memcpy(exceptions_, other, sizeof other);
  }

  detail::fiber_stack stack_;
  void* own_;
  void* caller_;
  void (*function_)(void*);
  void* argument_;
  alignas(void*) std::byte exceptions_[sizeof(void*) + sizeof(unsigned)];
#if !defined(__x86_64__)
  ucontext_t own_context_, caller_context_;
#endif
#if defined(HEDDLE_ASAN)
  void const* caller_bottom_ = nullptr;
  std::size_t caller_bytes_ = 0;
#endif
#if defined(HEDDLE_TSAN)
  void* tsan_own_ = nullptr;
  void* tsan_caller_ = nullptr;
#endif
};

}  // namespace simt
}  // namespace heddle
