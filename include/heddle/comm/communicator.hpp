// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/comm/channel.hpp>
#include <heddle/comm/counts.hpp>
#include <heddle/exec/executor.hpp>

namespace heddle {

/// The members that a user's transport must have: all collectives work over them.
///
/// Valid expressions: `c.rank()`, `c.size()`, `c.send(peer, channel, const_bytes)`,
/// `c.receive(peer, channel, mutable_bytes)`.
/// Meaning: `send` may return before the message was received and may also wait until it is; `receive` blocks until
/// the oldest message of (peer, channel) is there and throws errc::truncated where its size is not exactly the
/// buffer's. Messages of other channels must not block one another. One thread uses an object at a time.
/// Models: thread_communicator, counting<C>.
template <class C>
concept transport = requires(C& c, int peer, channel key, const_bytes out, mutable_bytes in) {
  { c.rank() } -> std::same_as<int>;
  { c.size() } -> std::same_as<int>;
  c.send(peer, key, out);
  c.receive(peer, key, in);
};

/// A transport that can be split, counts what it sends and bounds every wait.
///
/// Valid expressions: those of `transport`, `c.split(color, key)`, `c.counts()`, `c.set_deadline(seconds)`.
/// Meaning: `split` is collective: ranks of equal color >= 0 form a new communicator, ordered by key, then by rank;
/// a negative color yields an empty handle. No blocking call outlives its deadline: it throws errc::timeout.
/// Models: thread_communicator.
template <class C>
concept communicator = transport<C> && requires(C& c, C const& k, int color, int key, double seconds) {
  { c.split(color, key) } -> std::same_as<C>;
  { k.counts() } -> std::same_as<traffic_counts>;
  c.set_deadline(seconds);
};

/// A communicator that one rank can end for all.
///
/// Valid expressions: those of `communicator`, `c.fail(text)`.
/// Meaning: `fail` marks the group, and all that were split from it, as failed and wakes every peer, whose calls throw
/// errc::peer_failed or revoked; any thread may call it, any number of times, and it does not throw.
/// Models: thread_communicator.
template <class C>
concept failable_communicator = communicator<C> && requires(C& c, char const* reason) { c.fail(reason); };

/// How one collective call behaves.
struct collective_options {
  double deadline_s = 0;   ///< seconds until errc::timeout; 0 takes the communicator's
  bool unchecked = false;  ///< skips the fingerprint round of message transports: mismatched calls are undefined
};

}  // namespace heddle
