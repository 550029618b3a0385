// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/comm/detail/copy_work.hpp>
#include <heddle/comm/transport/detail/collective.hpp>
#include <heddle/comm/transport/detail/mailbox.hpp>

namespace heddle {

namespace detail {
struct group_access;
}

/// One rank's handle on a group of ranks that are threads of this process. `run_ranks(n, f, rank_options)` starts the
/// ranks and hands each its own: its contract stands in comm/transport/detail/launch.hpp.
///
/// Meaning: a handle belongs to one rank; one thread at a time runs a collective with it, and one receives. Work that
/// was submitted with a handle uses its address: it must not move or die before its queues are synchronised.
/// Collectives run over shared memory in one pass; they are checked: ranks that make different calls all get
/// errc::mismatch, a rank with a broken argument gets contract_error and the others errc::invalid_argument, and the
/// communicator stays usable. After any other failure (timeout, peer_failed) it is given up: later calls throw
/// errc::revoked.
/// A handle that dies, because its rank returned or threw, ends the collectives of the others with errc::peer_failed.
/// Counted: what the direct algorithms would send (see docs/comm.md); point to point as sent.
/// Memory: `reserved_bytes(size)` for a group in all, taken at its creation from the space given to run_ranks;
/// nothing is allocated afterwards but by `split`.
class thread_communicator {
 public:
  HEDDLE_FN thread_communicator() noexcept
      : group_(nullptr), rank_(-1), sequence_(0), poisoned_(false), seconds_(300) {}
  HEDDLE_FN thread_communicator(thread_communicator&& o) noexcept : thread_communicator() { swap(o); }
  HEDDLE_FN thread_communicator& operator=(thread_communicator&& o) noexcept {
    thread_communicator gone(static_cast<thread_communicator&&>(*this));
    swap(o);
    return *this;
  }
  HEDDLE_FN ~thread_communicator() { leave(text("its handle was destroyed or it returned")); }

  /// False for the empty handle that `split` gives to a negative color.
  HEDDLE_FN explicit operator bool() const noexcept { return group_ != nullptr; }
  HEDDLE_FN int rank() const noexcept { return rank_; }
  HEDDLE_FN int size() const noexcept { return group_ ? group_->size : 0; }

  /// The bytes that a group of `size` ranks takes, in all.
  static HEDDLE_FN constexpr index_t reserved_bytes(int size) noexcept {
    return static_cast<index_t>(detail::thread_group::bytes(size));
  }

  /// The time after which a blocking call of this handle fails. Pre: seconds > 0.
  HEDDLE_FN void set_deadline(double seconds) {
    HEDDLE_EXPECTS(seconds > 0, "a deadline lies in the future", seconds);
    seconds_ = seconds;
  }
  HEDDLE_FN double deadline_seconds() const noexcept { return seconds_; }

  /// Sends bytes. Up to 4096 bytes are copied, unless 16 such messages of this rank are unread; else it waits until
  /// they were received: a large message to oneself needs `start_send`. Errors: timeout, peer_failed, truncated.
  HEDDLE_FN void send(int peer, channel key, const_bytes data) {
    detail::mailbox box = mailbox_to(peer);
    if (detail::message* const m = post(box, peer, key, data)) box.finish(m, peer);
  }

  /// A send on its way.
  struct ticket {
    detail::message* message = nullptr;
    int peer = 0;
  };
  /// Sends without waiting; the bytes stay unwritten until `finish_send`. Pre: at most 64 tickets are unfinished.
  HEDDLE_FN ticket start_send(int peer, channel key, const_bytes data) {
    detail::mailbox box = mailbox_to(peer);
    return {post(box, peer, key, data), peer};
  }
  /// Waits until the bytes were received. Errors: timeout, peer_failed, truncated. Post: the ticket is empty.
  HEDDLE_FN void finish_send(ticket& t) {
    if (!t.message) return;
    detail::message* const m = t.message;
    t.message = nullptr;
    mailbox_to(t.peer).finish(m, t.peer);
  }

  /// Receives the oldest message of (peer, key). Errors: truncated where its size differs, timeout, peer_failed.
  HEDDLE_FN void receive(int peer, channel key, mutable_bytes to) {
    detail::mailbox box = mailbox_to(peer);
    busy_flag const one(group_->seat_of(rank_).receiving, "two threads receive with one communicator");
    box.receive(peer, key, to);
  }

  /// Collective: ranks of equal color >= 0 form a group, ordered by key, then by rank; a negative color gives an
  /// empty handle. The group's memory comes from the parent's space. Errors: as every collective, out_of_memory.
  HEDDLE_FN thread_communicator split(int color, int key);

  /// Marks this group, and all that were split from it, as failed and wakes every peer. A rank that fails calls it
  /// before it drains its queues. Idempotent; any thread.
  HEDDLE_FN void fail(char const* reason) noexcept {
    if (group_)
      detail::revoke_tree(*group_, {errc::peer_failed, rank_, make_text("rank ", rank_, " failed: ", reason)});
  }

  HEDDLE_FN traffic_counts counts() const noexcept {
    traffic_counts c;
    for (int i = 0; i < traffic_kinds; ++i) {
      c.messages[i] = __atomic_load_n(&counts_.messages[i], __ATOMIC_RELAXED);
      c.bytes[i] = __atomic_load_n(&counts_.bytes[i], __ATOMIC_RELAXED);
    }
    return c;
  }

  /// Counts a collective that a queue has taken, or that is about to run; returns its number. For collectives.hpp.
  /// Whatever is counted must be entered: a collective whose submission was refused is not.
  HEDDLE_FN std::uint64_t note_submission() noexcept { return ++submitted_; }
  /// Runs in the queue after collective `number`, even where the queue has failed: a queue that left it out would
  /// leave the peers waiting.
  HEDDLE_FN void after_collective(std::uint64_t number) noexcept {
    if (__atomic_load_n(&entered_, __ATOMIC_ACQUIRE) < number)
      fail("earlier work of its queue failed or was cancelled");
  }

  /// Runs a collective over shared memory; for the operations of collectives.hpp.
  template <class Work>
  HEDDLE_FN void collective(Work const& work, collective_options const& options = {}) {
    HEDDLE_EXPECTS(group_ != nullptr, "an empty communicator has no peers");
    __atomic_add_fetch(&entered_, std::uint64_t{1}, __ATOMIC_RELEASE);
    busy_flag const one(group_->seat_of(rank_).collecting, "two threads run collectives with one communicator");
    if (poisoned_) throw error(errc::revoked, "an earlier failure has ended this communicator");
    double const seconds = options.deadline_s > 0 ? options.deadline_s : seconds_;
    detail::op_context const context{group_, rank_, sequence_++, deadline::in_seconds(seconds), seconds, &spins_};
    detail::op_result r;
    detail::collective_call<Work>(context, work).run(r);
    poisoned_ = r.poisons;
    if (r.ok) return add(work.kind(), work.sent(size(), rank_));
    if (r.own) std::rethrow_exception(r.own);
    if (work.post.fault && r.why.code == errc::invalid_argument) detail::throw_fault(work.post.fault, work.post.call);
    detail::throw_failure(r.why);
  }

 private:
  friend struct detail::group_access;

  /// Detects a second thread.
  class busy_flag {
   public:
    HEDDLE_FN busy_flag(std::uint32_t& flag, char const* what) : flag_(flag) {
      HEDDLE_EXPECTS(__atomic_exchange_n(&flag_, 1u, __ATOMIC_ACQUIRE) == 0, what);
    }
    busy_flag(busy_flag const&) = delete;
    busy_flag& operator=(busy_flag const&) = delete;
    HEDDLE_FN ~busy_flag() { __atomic_store_n(&flag_, 0u, __ATOMIC_RELEASE); }

   private:
    std::uint32_t& flag_;
  };

  HEDDLE_FN thread_communicator(detail::thread_group* g, int rank, double seconds) noexcept
      : group_(g), rank_(rank), sequence_(0), poisoned_(false), seconds_(seconds) {}

  HEDDLE_FN void swap(thread_communicator& o) noexcept {
    std::swap(group_, o.group_);
    std::swap(rank_, o.rank_);
    std::swap(sequence_, o.sequence_);
    std::swap(poisoned_, o.poisoned_);
    std::swap(seconds_, o.seconds_);
    std::swap(submitted_, o.submitted_);
    std::swap(entered_, o.entered_);
    std::swap(counts_, o.counts_);
  }
  HEDDLE_FN void leave(text const& how) noexcept {
    if (!group_) return;
    detail::exit_group(*group_, rank_, make_text("rank ", rank_, " has ended: ", how.c_str()));
    detail::release_group(group_);
    group_ = nullptr;
  }
  HEDDLE_FN detail::mailbox mailbox_to(int peer) const {
    HEDDLE_EXPECTS(peer >= 0 && peer < size(), "the peer must be a rank", peer, size());
    return detail::mailbox(*group_, rank_, deadline::in_seconds(seconds_), seconds_);
  }
  HEDDLE_FN detail::message* post(detail::mailbox& box, int peer, channel key, const_bytes data) {
    detail::message* const m = box.post(peer, key, data);
    add(traffic::point_to_point, {peer == rank_ ? 0 : 1, peer == rank_ ? 0 : static_cast<index_t>(data.size)});
    return m;
  }
  HEDDLE_FN void add(traffic kind, detail::sent_amount s) noexcept {
    __atomic_add_fetch(&counts_.messages[static_cast<int>(kind)], s.messages, __ATOMIC_RELAXED);
    __atomic_add_fetch(&counts_.bytes[static_cast<int>(kind)], s.bytes, __ATOMIC_RELAXED);
  }

  detail::thread_group* group_;
  int rank_;
  std::uint64_t sequence_;
  bool poisoned_;
  double seconds_;
  std::uint64_t submitted_ = 0;  ///< collectives handed to queues or run at once, the host's count
  std::uint64_t entered_ = 0;    ///< atomic: collectives begun
  spin_budget spins_;
  traffic_counts counts_;
};

static_assert(communicator<thread_communicator>);

}  // namespace heddle

#include <heddle/comm/transport/detail/launch.hpp>
#include <heddle/comm/transport/detail/split.hpp>
