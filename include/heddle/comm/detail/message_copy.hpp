// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/comm/detail/check_round.hpp>

/// @file
/// Collectives that move data, over blocking messages: binomial broadcast, linear gather and scatter, pairwise
/// all_gather and all_to_all. A block of no elements is not sent, not received and not counted, on both sides.

namespace heddle::detail {

template <class C>
HEDDLE_FN void barrier_over_messages(C& comm) {
  for (int d = 1; d < comm.size(); d *= 2) shift_exchange(comm, d, collective_channel(traffic::barrier), {}, {});
}

/// Binomial: virtual rank v hears from v without its lowest set bit, and tells v + 2^k, largest first.
template <class C>
HEDDLE_FN void broadcast_over_messages(C& comm, int root, mutable_bytes data) {
  int const p = comm.size(), v = (comm.rank() - root + p) % p;
  channel const key = collective_channel(traffic::broadcast);
  if (data.size == 0) return;
  int bit = 1;
  while (bit < p && (v & bit) == 0) bit *= 2;
  if (v != 0) comm.receive((v - bit + root) % p, key, data);
  for (bit /= 2; bit > 0; bit /= 2)
    if (v + bit < p) comm.send((v + bit + root) % p, key, {data.data, data.size});
}

/// The memory of one rank's piece, seen as if the postings of all were here.
template <class C>
struct own_pieces {
  C& comm;
  copy_work const& work;

  HEDDLE_FN const_bytes outgoing(int to) const noexcept {
    part const b = work.kind() == traffic::scatter ? work.block(comm.size(), to)
                   : work.kind() == traffic::all_to_all ? sent_block(to)
                                                        : part{0, work.block(comm.size(), comm.rank()).size};
    return {static_cast<char const*>(work.post.in) + b.offset * work.element, bytes(b)};
  }
  HEDDLE_FN mutable_bytes incoming(int from) const noexcept {
    part const b = work.kind() == traffic::scatter ? part{0, work.block(comm.size(), comm.rank()).size}
                   : work.kind() == traffic::all_to_all ? received_block(from)
                                                        : work.block(comm.size(), from);
    return {static_cast<char*>(work.post.out) + b.offset * work.element, bytes(b)};
  }
  HEDDLE_FN void send(int to) const {
    const_bytes const b = outgoing(to);
    if (b.size > 0) comm.send(to, collective_channel(work.kind()), b);
  }
  HEDDLE_FN void receive(int from) const {
    mutable_bytes const b = incoming(from);
    if (b.size > 0) comm.receive(from, collective_channel(work.kind()), b);
  }
  HEDDLE_FN void keep_own() const noexcept {
    const_bytes const from = outgoing(comm.rank());
    mutable_bytes const to = incoming(comm.rank());
    if (from.size > 0 && from.data != to.data) __builtin_memmove(to.data, from.data, from.size);
  }

 private:
  HEDDLE_FN std::size_t bytes(part const& b) const noexcept { return static_cast<std::size_t>(b.size * work.element); }
  HEDDLE_FN part listed(index_t const* counts, int r) const noexcept {
    if (!work.by_counts) return balanced_part(work.total, comm.size(), r);
    index_t offset = 0;
    for (int i = 0; i < r; ++i) offset += counts[i];
    return {offset, counts[r]};
  }
  HEDDLE_FN part sent_block(int to) const noexcept { return listed(work.post.counts, to); }
  HEDDLE_FN part received_block(int from) const noexcept { return listed(work.post.receive_counts, from); }
};

/// Whether the counts of all_to_all_v agree in pairs, on all ranks. Errors: mismatch.
template <class C>
HEDDLE_FN void check_pair_counts(C& comm, copy_work const& work) {
  channel const key = collective_channel(traffic::check);
  bool good = work.post.counts[comm.rank()] == work.post.receive_counts[comm.rank()];
  for_each_pair(
      comm, [&](int peer) { comm.send(peer, key, {work.post.counts + peer, sizeof(index_t)}); },
      [&](int peer) {
        index_t theirs = 0;
        comm.receive(peer, key, {&theirs, sizeof theirs});
        good = good && theirs == work.post.receive_counts[peer];
      });
  call_verdict const v = agree_on(comm, {0, 0, good ? INT64_MAX : comm.rank()});
  if (v.faulty != INT64_MAX)
    throw error(errc::mismatch,
                make_text("all_to_all: rank ", v.faulty, " expects other counts than its peers send"),
                static_cast<int>(v.faulty));
}

template <class C>
HEDDLE_FN void run_over_messages(C& comm, copy_work const& work, collective_options const& options,
                                 message_scratch const&) {
  check_round(comm, work.post, options);
  own_pieces<C> const own{comm, work};
  switch (work.kind()) {
    case traffic::barrier: return barrier_over_messages(comm);
    case traffic::broadcast:
      return broadcast_over_messages(comm, work.root(),
                                     {work.post.out, static_cast<std::size_t>(work.total * work.element)});
    case traffic::gather:
      if (comm.rank() != work.root()) return own.send(work.root());
      own.keep_own();
      for (int r = 0; r < comm.size(); ++r)
        if (r != comm.rank()) own.receive(r);
      return;
    case traffic::scatter:
      if (comm.rank() != work.root()) return own.receive(work.root());
      own.keep_own();
      for (int r = 0; r < comm.size(); ++r)
        if (r != comm.rank()) own.send(r);
      return;
    default: break;
  }
  if (work.kind() == traffic::all_to_all && work.by_counts && !options.unchecked) check_pair_counts(comm, work);
  own.keep_own();
  for_each_pair(comm, [&](int peer) { own.send(peer); }, [&](int peer) { own.receive(peer); });
}

HEDDLE_FN std::size_t scratch_bytes(copy_work const&, int, int) noexcept { return 0; }

}  // namespace heddle::detail
