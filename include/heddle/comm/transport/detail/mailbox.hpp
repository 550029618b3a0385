// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/comm/transport/detail/group.hpp>

/// @file
/// Point to point between thread ranks. A source takes a message from its pool and pushes it on the destination's
/// inbox; the owner moves the inbox to a list of its own, oldest first, and takes the first match. Small messages
/// are copied into the pool; the bytes of large ones are copied by the receiver straight from the sender's memory.

namespace heddle::detail {

/// One rank's end of all its point-to-point links.
class mailbox {
 public:
  HEDDLE_FN mailbox(thread_group& g, int rank, deadline until, double seconds) noexcept
      : group_(g), me_(g.seat_of(rank)), rank_(rank), until_(until), seconds_(seconds) {}
  mailbox(mailbox const&) = delete;
  mailbox& operator=(mailbox const&) = delete;

  /// Hands a message over; null where it was copied and nothing is left to wait for.
  /// Errors: peer_failed where the group has failed or the peer has ended.
  HEDDLE_FN message* post(int peer, channel key, const_bytes data) {
    if (__atomic_load_n(&group_.revoked, __ATOMIC_ACQUIRE)) throw_failure(group_.why);
    if (__atomic_load_n(&group_.seat_of(peer).exited, __ATOMIC_ACQUIRE))
      throw error(errc::peer_failed, make_text("rank ", peer, " has ended and rank ", rank_, " sends to it"), peer);
    message* const m = take_message(data.size <= eager_bytes);
    m->key = static_cast<std::uint64_t>(key);
    m->size = data.size;
    m->data = data.data;
    m->next = nullptr;
    m->outcome = errc{};
    __atomic_store_n(&m->cancel, 0u, __ATOMIC_RELAXED);
    bool const eager = m->eager;
    if (eager) {
      std::byte* const copy = me_.eager_data[m - me_.pool];
      if (data.size > 0) __builtin_memcpy(copy, data.data, data.size);
      m->data = copy;
    }
    __atomic_store_n(&m->state, std::uint32_t{message::posted}, __ATOMIC_RELEASE);
    push(group_.seat_of(peer), m);
    return eager ? nullptr : m;
  }

  /// Waits until a rendezvous message was received. Errors: timeout, peer_failed, truncated.
  HEDDLE_FN void finish(message* m, int peer) {
    failure f;
    bool const done = wait([&] { return state_of(*m) == message::finished; }, peer, f);
    if (!done && !withdraw(*m)) return release(*m, peer);
    if (done) return release(*m, peer);
    throw_failure(f);
  }

  HEDDLE_FN void receive(int peer, channel key, mutable_bytes to) {
    message* m = nullptr;
    failure f;
    std::uint64_t const k = static_cast<std::uint64_t>(key);
    bool const found = wait([&] { return (m = match(peer, k)) != nullptr; }, peer, f);
    if (!found && (m = match(peer, k)) == nullptr) throw_failure(f);  // looked at again after the peer's exit was seen
    take(*m, to);
  }

 private:
  static HEDDLE_FN std::uint32_t state_of(message const& m) noexcept {
    return __atomic_load_n(&m.state, __ATOMIC_ACQUIRE);
  }

  static HEDDLE_FN void push(seat& to, message* m) noexcept {
    message* head = __atomic_load_n(&to.inbox, __ATOMIC_RELAXED);
    do {
      m->next = head;
    } while (!__atomic_compare_exchange_n(&to.inbox, &head, m, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
    to.park.notify();
  }

  HEDDLE_FN message* try_take(int first, int last) noexcept {
    for (int i = first; i < last; ++i) {
      std::uint32_t expected = message::unused;
      if (__atomic_compare_exchange_n(&me_.pool[i].state, &expected, std::uint32_t{message::filling}, false,
                                      __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return &me_.pool[i];
    }
    return nullptr;
  }
  HEDDLE_FN message* take_message(bool small) {
    message* m = small ? try_take(0, eager_messages) : nullptr;
    if (!m) m = try_take(eager_messages, eager_messages + rendezvous_messages);
    HEDDLE_EXPECTS(m != nullptr, "a rank can have 64 sends in flight; finish earlier ones first", rank_);
    return m;
  }

  /// Waits for a condition, or says what ended the wait.
  template <class Condition>
  HEDDLE_FN bool wait(Condition const& holds, int peer, failure& f) {
    bool held = false;
    auto const revoked = [&] { return __atomic_load_n(&group_.revoked, __ATOMIC_ACQUIRE) != 0; };
    auto const exited = [&] { return __atomic_load_n(&group_.seat_of(peer).exited, __ATOMIC_ACQUIRE) != 0; };
    bool const over = me_.park.wait([&] { return (held = holds()) || revoked() || exited(); }, until_);
    if (held) return true;
    if (!over)
      f = {errc::timeout, peer, make_text("rank ", rank_, " has waited ", seconds_, " s for rank ", peer)};
    else if (revoked())
      f = group_.why;
    else
      f = {errc::peer_failed, peer, make_text("rank ", peer, " has ended and rank ", rank_, " waits for it")};
    return false;
  }

  /// Gives a posted message up; false where it was finished after all.
  HEDDLE_FN bool withdraw(message& m) noexcept {
    std::uint32_t expected = message::posted;
    if (__atomic_compare_exchange_n(&m.state, &expected, std::uint32_t{message::cancelled}, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE))
      return true;
    __atomic_store_n(&m.cancel, 1u, __ATOMIC_RELEASE);
    while (state_of(m) != message::finished) sched_yield();
    if (m.outcome != errc::interrupted) return false;
    __atomic_store_n(&m.state, std::uint32_t{message::unused}, __ATOMIC_RELEASE);
    return true;
  }
  HEDDLE_FN void release(message& m, int peer) {
    errc const outcome = m.outcome;
    std::size_t const size = m.size;
    __atomic_store_n(&m.state, std::uint32_t{message::unused}, __ATOMIC_RELEASE);
    if (outcome == errc::truncated)
      throw error(outcome, make_text("rank ", peer, " did not expect ", size, " bytes from rank ", rank_), peer);
  }

  /// Moves the inbox to the end of the pending list, oldest first.
  HEDDLE_FN void drain() noexcept {
    message* newest = __atomic_exchange_n(&me_.inbox, static_cast<message*>(nullptr), __ATOMIC_ACQ_REL);
    message *first = nullptr, *const last = newest;
    while (newest) {
      message* const older = newest->next;
      newest->next = first;
      first = newest;
      newest = older;
    }
    // `last` is the newest of the batch and now ends the list; its link was set to null above.
    if (!first) return;
    (me_.pending_last ? me_.pending_last->next : me_.pending_first) = first;
    me_.pending_last = last;
  }

  /// Unlinks the oldest message of (peer, key), and all that their senders withdrew.
  HEDDLE_FN message* match(int peer, std::uint64_t key) noexcept {
    drain();
    message* before = nullptr;
    for (message* m = me_.pending_first; m;) {
      message* const after = m->next;
      bool const wanted = m->source == peer && m->key == key;
      bool const gone = state_of(*m) == message::cancelled;
      if (wanted || gone) {
        (before ? before->next : me_.pending_first) = after;
        if (!after) me_.pending_last = before;
        std::uint32_t expected = message::posted;
        bool const got = wanted && !gone &&
                         __atomic_compare_exchange_n(&m->state, &expected, std::uint32_t{message::taken}, false,
                                                     __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
        if (got) return m;
        __atomic_store_n(&m->state, std::uint32_t{message::unused}, __ATOMIC_RELEASE);
      } else {
        before = m;
      }
      m = after;
    }
    return nullptr;
  }

  /// Copies tile by tile, so that a sender that gives up waits for one tile only.
  HEDDLE_FN void take(message& m, mutable_bytes to) {
    constexpr std::size_t tile = 256 * 1024;
    std::size_t const size = m.size;
    int const source = m.source;
    bool const fits = size == to.size, eager = m.eager;
    bool cancelled = false;
    for (std::size_t at = 0; fits && at < size && !cancelled; at += tile) {
      std::size_t const n = size - at < tile ? size - at : tile;
      __builtin_memcpy(static_cast<char*>(to.data) + at, static_cast<char const*>(m.data) + at, n);
      cancelled = at + n < size && __atomic_load_n(&m.cancel, __ATOMIC_ACQUIRE) != 0;
    }
    m.outcome = cancelled ? errc::interrupted : fits ? errc{} : errc::truncated;
    __atomic_store_n(&m.state, std::uint32_t{eager ? message::unused : message::finished}, __ATOMIC_RELEASE);
    if (!eager) group_.seat_of(source).park.notify();
    if (!fits)
      throw error(
          errc::truncated,
          make_text("a message of ", size, " bytes came from rank ", source, " where ", to.size, " were expected"),
          source);
    if (cancelled)
      throw error(errc::peer_failed, make_text("rank ", source, " gave up while its message was copied"), source);
  }

  thread_group& group_;
  seat& me_;
  int rank_;
  deadline until_;
  double seconds_;
};

}  // namespace heddle::detail
