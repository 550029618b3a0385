// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/comm/failure_guard.hpp>
#include <heddle/exec/serial_executor.hpp>
#include <heddle/model/trainer.hpp>

namespace {

using namespace heddle;

// The least that a trainer needs of a user's communicator; each case below takes something away.
struct least {
  int rank() const { return 0; }
  int size() const { return 1; }
  void send(int, channel, const_bytes) {}
  void receive(int, channel, mutable_bytes) {}
  least split(int, int) { return {}; }
  traffic_counts counts() const { return {}; }
  void set_deadline(double) {}
#if !defined(case_without_fail) && !defined(case_guard_without_fail)
  void fail(char const*) noexcept {}
#endif
};
static_assert(communicator<least>);
struct any_model {};

// expect without_fail: failable_communicator
#if !defined(case_guard_without_fail)
[[maybe_unused]] model::trainer<any_model, float, serial_executor, least>* run = nullptr;
#endif

// expect guard_without_fail: failable_communicator
#if !defined(case_without_fail)
[[maybe_unused]] failure_guard<least>* guard = nullptr;
#endif

}  // namespace
