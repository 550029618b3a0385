// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/comm/detail/copy_work.hpp>

/// @file
/// How ranks that have only messages learn, before any payload moves, whether all made the same legal call.
///
/// Orders of messages: a blocking send may wait for its receiver, so no schedule here depends on buffering. Pairs
/// exchange with the lower rank sending first; in a shift by d, the lowest rank of each cycle receives first.

namespace heddle::detail {

/// Scratch of a collective over messages.
struct message_scratch {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
};

HEDDLE_FN channel collective_channel(traffic kind) noexcept {
  return channel{first_reserved_channel | static_cast<std::uint64_t>(kind) << 48};
}
/// The category of a channel; what is not the library's own is point to point.
HEDDLE_FN traffic category_of(channel key) noexcept {
  std::uint64_t const k = static_cast<std::uint64_t>(key);
  return k < first_reserved_channel ? traffic::point_to_point : static_cast<traffic>(k >> 48 & 0xFF);
}

/// Sends to one rank and receives from another, both at the same distance in opposite directions.
template <class C>
HEDDLE_FN void shift_exchange(C& comm, int distance, channel key, const_bytes out, mutable_bytes in) {
  int const p = comm.size(), r = comm.rank();
  int const to = (r + distance) % p, from = (r - distance % p + p) % p;
  int a = p, b = distance % p;  // the cycles of the shift are the residues modulo gcd(p, distance)
  while (b != 0) {
    int const c = a % b;
    a = b;
    b = c;
  }
  if (r < a) {
    comm.receive(from, key, in);
    comm.send(to, key, out);
  } else {
    comm.send(to, key, out);
    comm.receive(from, key, in);
  }
}

/// Calls send(peer) and receive(peer) for every other rank, in rounds that are perfect matchings.
template <class C, class Send, class Receive>
HEDDLE_FN void for_each_pair(C& comm, Send const& send, Receive const& receive) {
  int const p = comm.size(), r = comm.rank();
  for (int round = 0; round < p; ++round) {
    int const peer = (round - r + p) % p;
    if (peer == r) continue;
    if (r < peer) {
      send(peer);
      receive(peer);
    } else {
      receive(peer);
      send(peer);
    }
  }
}

/// What is known about all calls: extremes of their hashes, and the lowest rank that can't go on.
struct call_verdict {
  std::uint64_t lowest = 0, highest = 0;
  std::int64_t faulty = INT64_MAX;
};

template <class C>
HEDDLE_FN call_verdict agree_on(C& comm, call_verdict mine) {
  channel const key = collective_channel(traffic::check);
  for (int d = 1; d < comm.size(); d *= 2) {
    call_verdict other{};
    shift_exchange(comm, d, key, {&mine, sizeof mine}, {&other, sizeof other});
    if (other.lowest < mine.lowest) mine.lowest = other.lowest;
    if (other.highest > mine.highest) mine.highest = other.highest;
    if (other.faulty < mine.faulty) mine.faulty = other.faulty;
  }
  return mine;
}

/// Tells every rank both calls: compares all with rank 0's. Never returns.
template <class C>
[[noreturn]] HEDDLE_FN void throw_mismatch(C& comm, call_record const& mine) {
  channel const key = collective_channel(traffic::check);
  call_record first = mine, other;
  int different = comm.size();
  text second;
  // Rank 0's call goes out first; then every rank learns the lowest rank that differs from it.
  for (int peer = 1; peer < comm.size() && comm.rank() == 0; ++peer) comm.send(peer, key, {&mine, sizeof mine});
  if (comm.rank() != 0) comm.receive(0, key, {&first, sizeof first});
  auto const compare = [&](int r, call_record const& c) {
    if (r >= different || c.same_as(first)) return;
    different = r;
    second = c.describe();
  };
  compare(comm.rank(), mine);
  for_each_pair(
      comm, [&](int peer) { comm.send(peer, key, {&mine, sizeof mine}); },
      [&](int peer) {
        comm.receive(peer, key, {&other, sizeof other});
        compare(peer, other);
      });
  throw error(errc::mismatch,
              make_text("rank 0 called ", first.describe().c_str(), "; rank ", different, " called ", second.c_str()),
              different);
}

/// The check before a collective. Errors: mismatch; contract_error on the rank whose own argument is wrong and
/// invalid_argument on the others.
template <class C>
HEDDLE_FN void check_round(C& comm, posting const& post, collective_options const& options) {
  if (options.unchecked) {
    if (post.fault) throw_fault(post.fault, post.call);
    return;
  }
  std::uint64_t const h = hash_bytes(&post.call, sizeof post.call);
  call_verdict const v = agree_on(comm, {h, h, post.fault ? comm.rank() : INT64_MAX});
  if (v.faulty != INT64_MAX) {
    if (post.fault) throw_fault(post.fault, post.call);
    throw error(errc::invalid_argument,
                make_text("rank ", v.faulty, " broke a precondition of ", post.call.describe().c_str()),
                static_cast<int>(v.faulty));
  }
  if (v.lowest != v.highest) throw_mismatch(comm, post.call);
}

}  // namespace heddle::detail
