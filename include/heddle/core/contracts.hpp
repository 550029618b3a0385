// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/text.hpp>

#include <exception>

namespace heddle {

/// A broken precondition: the caller's code is wrong. Carries the expression, the values and the place.
class contract_error : public std::exception {
 public:
  HEDDLE_FN explicit contract_error(text const& what) noexcept : what_(what) {}
  HEDDLE_FN contract_error(contract_error const& other) noexcept : std::exception(other), what_(other.what_) {}
  HEDDLE_FN contract_error& operator=(contract_error const& other) noexcept {
    what_ = other.what_;
    return *this;
  }
  HEDDLE_FN ~contract_error() override {}
  HEDDLE_FN char const* what() const noexcept override { return what_.c_str(); }

 private:
  text what_;
};

/// Called with the whole message when a precondition is broken. A handler that returns lets the caller go on to
/// throw contract_error; one that must not throw ends the program.
using contract_handler = void (*)(text const& message);

namespace detail {
inline contract_handler contract_handler_in_use = nullptr;

template <class... Values>
[[noreturn]] __attribute__((abi_tag(HEDDLE_TAG), noinline, cold)) void contract_failed(
    char const* file, int line, char const* expression, char const* explanation, Values const&... values) {
  text t = make_text(file);
  if (line > 0) t.append(':').append(line);
  t.append(": precondition broken: ").append(explanation).append(" (").append(expression).append(')');
  if constexpr (sizeof...(Values) > 0) {
    t.append(" with values");
    ((t.append(' '), t.append(values)), ...);
  }
  if (contract_handler_in_use) contract_handler_in_use(t);
#if defined(__cpp_exceptions)
  throw contract_error(t);
#else
  __builtin_trap();
#endif
}
}  // namespace detail

/// Installs a handler and returns the one before; null restores the default, which only throws.
HEDDLE_FN contract_handler set_contract_handler(contract_handler handler) noexcept {
  contract_handler before = detail::contract_handler_in_use;
  detail::contract_handler_in_use = handler;
  return before;
}

}  // namespace heddle

/// Checks a precondition of a public operation: HEDDLE_EXPECTS(condition, "what must hold", values...).
#if HEDDLE_CONTRACTS >= 1 && !defined(__CUDA_ARCH__)
#define HEDDLE_EXPECTS(condition, ...)                                                       \
  (HEDDLE_LIKELY(condition) ? static_cast<void>(0)                                           \
                            : ::heddle::detail::contract_failed(__FILE__, __LINE__, #condition, __VA_ARGS__))
#else
#define HEDDLE_EXPECTS(condition, ...) static_cast<void>(sizeof((condition) ? 1 : 0))
#endif

/// Checks an invariant inside the library, in debug builds.
#if HEDDLE_CONTRACTS >= 2 && !defined(__CUDA_ARCH__)
#define HEDDLE_ASSERT(condition, ...) HEDDLE_EXPECTS(condition, __VA_ARGS__)
#else
#define HEDDLE_ASSERT(condition, ...) static_cast<void>(sizeof((condition) ? 1 : 0))
#endif
