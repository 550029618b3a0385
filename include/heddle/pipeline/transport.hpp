// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/config.hpp>

#include <cstdint>

namespace heddle::pipeline {

/// How a receive finds its message.
enum class matching : std::uint8_t {
  keyed,               ///< by stage, microbatch and kind: the order is free
  fifo_per_direction,  ///< the n-th receive from a device takes its n-th send to us
  fifo_per_pair,       ///< both directions between two devices form one sequence, as on one NCCL communicator
};

/// What a schedule may assume of the messages between two devices.
///
/// A send completes at once while fewer than `capacity` messages of its direction wait to be received; with
/// `rendezvous` it completes when its receive has been issued.
struct transport {
  static constexpr int unlimited = -1;
  static constexpr int rendezvous = 0;

  matching match = matching::keyed;
  int capacity = unlimited;
};

}  // namespace heddle::pipeline
