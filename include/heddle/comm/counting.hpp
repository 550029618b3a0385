// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/comm/detail/check_round.hpp>

namespace heddle {

/// A transport that counts what is sent through it, per category.
///
/// Meaning: collectives over it run over its messages, so that the counts are those of the message algorithms.
/// Units: bytes. Memory: refers to the transport below, which outlives it.
template <transport C>
class counting {
 public:
  HEDDLE_FN explicit counting(C& below) noexcept : below_(below) {}
  counting(counting const&) = delete;
  counting& operator=(counting const&) = delete;
  HEDDLE_FN ~counting() {}

  HEDDLE_FN int rank() const { return below_.rank(); }
  HEDDLE_FN int size() const { return below_.size(); }
  HEDDLE_FN void send(int peer, channel key, const_bytes data) {
    below_.send(peer, key, data);
    sent_.add(detail::category_of(key), 1, static_cast<index_t>(data.size));
  }
  HEDDLE_FN void receive(int peer, channel key, mutable_bytes data) {
    below_.receive(peer, key, data);
    received_.add(detail::category_of(key), 1, static_cast<index_t>(data.size));
  }

  /// What was sent, and what was received, since construction or `reset`.
  HEDDLE_FN traffic_counts counts() const noexcept { return sent_; }
  HEDDLE_FN traffic_counts received() const noexcept { return received_; }
  HEDDLE_FN void reset() noexcept { sent_ = received_ = traffic_counts{}; }
  HEDDLE_FN C& below() const noexcept { return below_; }

 private:
  C& below_;
  traffic_counts sent_, received_;
};

}  // namespace heddle
