// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/comm/detail/work.hpp>
#include <heddle/exec/wait.hpp>

/// @file
/// The shared memory of a group of thread ranks: operation records, seats, messages. One allocation holds it all.

namespace heddle::detail {

inline constexpr int records_per_group = 4;
inline constexpr int max_thread_ranks = 4095;     ///< the winner field has 12 bits, one value means "see why"
inline constexpr int eager_messages = 16;         ///< per source rank
inline constexpr int rendezvous_messages = 64;    ///< per source rank
inline constexpr std::size_t eager_bytes = 4096;  ///< the largest message that is copied at once

/// Why an operation or a group failed.
struct failure {
  errc code = errc::peer_failed;
  int rank = -1;
  text what;

  HEDDLE_FN failure() noexcept {}
  HEDDLE_FN failure(errc c, int r, text const& w) noexcept : code(c), rank(r), what(w) {}
};

// Bits of a record's `state`: generation (16), winner (12), status (2), W: somebody is parked, R: revoked.
enum class op_status : std::uint32_t { ok = 0, running = 1, failed = 2 };
inline constexpr std::uint32_t parked_bit = 2, revoked_bit = 1, winner_why = 0xFFF;

HEDDLE_FN std::uint32_t make_state(std::uint32_t generation, op_status s, std::uint32_t winner = 0) noexcept {
  return (generation & 0xFFFF) << 16 | (winner & 0xFFF) << 4 | static_cast<std::uint32_t>(s) << 2;
}
HEDDLE_FN std::uint32_t generation_of(std::uint32_t state) noexcept { return state >> 16; }
HEDDLE_FN std::uint32_t winner_of(std::uint32_t state) noexcept { return state >> 4 & 0xFFF; }
HEDDLE_FN op_status status_of(std::uint32_t state) noexcept { return static_cast<op_status>(state >> 2 & 3); }

// Bits of `claim`: closed (0), active workers (1-16), next chunk (17 up, so that an overshoot spills into nothing).
inline constexpr std::uint64_t claim_closed = 1, claim_active = 2, claim_next = std::uint64_t{1} << 17;
HEDDLE_FN std::uint64_t active_of(std::uint64_t claim) noexcept { return claim >> 1 & 0xFFFF; }

/// What rank r says about one operation. Written by rank r only.
struct alignas(128) op_slot {
  posting post;
  std::uint64_t posted_sequence = 0;  ///< atomic; the last operation whose posting is complete here
  failure reason;
  alignas(64) std::byte payload[inline_payload_bytes];

  HEDDLE_FN op_slot() noexcept {}
};

/// One operation in flight. Each word on a line of its own.
struct alignas(128) op_record {
  std::uint32_t state = 0;
  alignas(128) std::uint32_t arrived = 0;
  std::uint32_t left = 0;
  alignas(128) std::uint64_t claim = 0;
  alignas(128) std::uint64_t done = 0;
  std::uint64_t chunks = 0;
  std::uint32_t inlined = 0;

  HEDDLE_FN op_record() noexcept {}
};

/// A message between posting and receipt. Lives in the pool of its source.
struct message {
  enum : std::uint32_t { unused, filling, posted, taken, finished, cancelled };
  std::uint32_t state = unused;   ///< atomic
  std::uint32_t cancel = 0;       ///< atomic: the sender gives up while the receiver copies
  int source = 0;
  bool eager = false;
  errc outcome = errc{};          ///< of a finished rendezvous
  std::uint64_t key = 0;
  std::size_t size = 0;
  void const* data = nullptr;
  message* next = nullptr;

  HEDDLE_FN message() noexcept {}
};

/// What belongs to one rank of a group.
struct alignas(128) seat {
  park_word park;  ///< of point to point: rung after a message, the end of one, or a failure was published
  std::uint32_t exited = 0;
  alignas(128) message* inbox = nullptr;  ///< atomic: newest first, pushed by sources, taken whole by the owner
  alignas(128) message* pending_first = nullptr;  ///< oldest first, the owner's alone
  message* pending_last = nullptr;
  std::uint32_t receiving = 0, collecting = 0;  ///< atomic: detect two threads in one handle
  message pool[eager_messages + rendezvous_messages];
  alignas(64) std::byte eager_data[eager_messages][eager_bytes];

  HEDDLE_FN seat() noexcept {}
  seat(seat const&) = delete;
  seat& operator=(seat const&) = delete;
  HEDDLE_FN ~seat() {}
};

/// All that the ranks of a group share; followed in memory by the slots and the seats.
struct alignas(128) thread_group {
  int size = 0;
  std::uint32_t references = 0;
  std::uint32_t revoked = 0;
  std::uint32_t why_taken = 0, why_ready = 0;
  std::uint64_t id = 0;
  failure why;
  host_space* memory = nullptr;
  thread_group* parent = nullptr;  ///< holds a reference
  thread_group* root = nullptr;
  thread_group *before = nullptr, *after = nullptr;  ///< list of the living groups of a root, under its lock
  std::uint32_t lock = 0;                            ///< of the root's list
  alignas(128) op_record records[records_per_group];

  HEDDLE_FN thread_group() noexcept {}
  HEDDLE_FN op_slot* slots() noexcept { return reinterpret_cast<op_slot*>(this + 1); }
  HEDDLE_FN op_slot& slot(int record, int r) noexcept { return slots()[record * size + r]; }
  HEDDLE_FN seat& seat_of(int r) noexcept {
    return reinterpret_cast<seat*>(slots() + records_per_group * size)[r];
  }
  static HEDDLE_FN constexpr std::size_t bytes(int size) noexcept {
    return sizeof(thread_group) +
           static_cast<std::size_t>(size) * (records_per_group * sizeof(op_slot) + sizeof(seat));
  }
};

}  // namespace heddle::detail
