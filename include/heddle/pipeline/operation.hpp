// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/config.hpp>

#include <cstdint>
#include <type_traits>

namespace heddle::pipeline {

/// What a device does with one microbatch of one stage.
enum class op_kind : std::uint8_t {
  forward,             ///< F: activations of the stage
  backward_input,      ///< B: gradient of the stage's input
  backward_weight,     ///< W: gradients of the stage's weights
  backward,            ///< BW: B, then W, as one operation
  send_activation,     ///< the stage's output leaves for stage + 1
  receive_activation,  ///< the output of `stage` arrives on the device of stage + 1
  send_gradient,       ///< the gradient of the stage's input leaves for stage - 1
  receive_gradient,    ///< the input gradient of `stage` arrives on the device of stage - 1
  optimizer,           ///< the stage's weights are updated; carries microbatch 0
};

/// How many kinds there are.
inline constexpr int op_kind_count = 9;

/// One step in the list of a device.
///
/// A message names the stage that made the tensor, on both sides, so that the two ends carry the same key.
/// Neighbours in a list with the same group number above zero are issued together, and the next operation waits for
/// all of them. Types: trivially copyable, 16 bytes.
struct operation {
  op_kind kind = op_kind::forward;
  std::int32_t stage = 0;
  std::int32_t microbatch = 0;
  std::int32_t group = 0;

  friend HEDDLE_HD_FN constexpr bool operator==(operation const& a, operation const& b) noexcept {
    return a.kind == b.kind && a.stage == b.stage && a.microbatch == b.microbatch && a.group == b.group;
  }
};
static_assert(std::is_trivially_copyable_v<operation> && sizeof(operation) == 16);

/// Which group a kind belongs to.
HEDDLE_HD_FN constexpr bool is_compute(op_kind k) noexcept { return k <= op_kind::backward; }
HEDDLE_HD_FN constexpr bool is_send(op_kind k) noexcept {
  return k == op_kind::send_activation || k == op_kind::send_gradient;
}
HEDDLE_HD_FN constexpr bool is_receive(op_kind k) noexcept {
  return k == op_kind::receive_activation || k == op_kind::receive_gradient;
}
HEDDLE_HD_FN constexpr bool is_message(op_kind k) noexcept { return is_send(k) || is_receive(k); }
HEDDLE_HD_FN constexpr bool is_activation(op_kind k) noexcept {
  return k == op_kind::send_activation || k == op_kind::receive_activation;
}

/// The token of a kind in the text format: F B W BW >a <a >g <g O.
HEDDLE_FN char const* token(op_kind k) noexcept {
  constexpr char const* names[] = {"F", "B", "W", "BW", ">a", "<a", ">g", "<g", "O"};
  int const i = static_cast<int>(k);
  return i < op_kind_count ? names[i] : "?";
}

}  // namespace heddle::pipeline
