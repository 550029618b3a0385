// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/extents.hpp>

namespace heddle {

/// What a message belongs to; the categories in which communicators count.
enum class traffic : int {
  point_to_point,
  barrier,
  broadcast,
  reduce_to_root,
  all_reduce,
  reduce_scatter,
  all_gather,
  gather,
  scatter,
  all_to_all,
  split,
  check,  ///< fingerprints and counts that guard a call; not payload
};
inline constexpr int traffic_kinds = 12;

/// The name of a category as the enumeration spells it.
HEDDLE_FN char const* name(traffic kind) noexcept {
  constexpr char const* names[] = {"point_to_point", "barrier",        "broadcast",  "reduce_to_root",
                                   "all_reduce",     "reduce_scatter", "all_gather", "gather",
                                   "scatter",        "all_to_all",     "split",      "check"};
  int const i = static_cast<int>(kind);
  return i >= 0 && i < traffic_kinds ? names[i] : "unknown";
}

/// Messages and payload bytes that one rank has sent, per category. Units: bytes.
struct traffic_counts {
  index_t messages[traffic_kinds] = {};
  index_t bytes[traffic_kinds] = {};

  HEDDLE_FN traffic_counts() noexcept {}
  HEDDLE_FN void add(traffic kind, index_t n_messages, index_t n_bytes) noexcept {
    messages[static_cast<int>(kind)] += n_messages;
    bytes[static_cast<int>(kind)] += n_bytes;
  }
  HEDDLE_FN index_t messages_of(traffic kind) const noexcept { return messages[static_cast<int>(kind)]; }
  HEDDLE_FN index_t bytes_of(traffic kind) const noexcept { return bytes[static_cast<int>(kind)]; }
  /// All categories but `check`.
  HEDDLE_FN index_t payload_bytes() const noexcept {
    index_t sum = 0;
    for (int i = 0; i < traffic_kinds; ++i)
      if (i != static_cast<int>(traffic::check)) sum += bytes[i];
    return sum;
  }
};

}  // namespace heddle
