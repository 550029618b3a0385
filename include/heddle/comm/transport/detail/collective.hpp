// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/comm/transport/detail/group.hpp>

/// @file
/// One collective over shared memory. Every decision about an operation is a compare-exchange on one word, its
/// record's `state`, so all ranks see one outcome. Operation s (from 0) uses record s mod K in generation s / K + 1.
/// Ranks also park on that word: a park_word beside it would be a second word to change at every decision.

namespace heddle::detail {

/// Who takes part in a call, as seen by one rank.
struct op_context {
  thread_group* group = nullptr;
  int rank = 0;
  std::uint64_t sequence = 0;  ///< from 0
  deadline until;
  double seconds = 0;  ///< of the deadline, for messages
  spin_budget* spins = nullptr;
};

/// How a call ended on this rank.
struct op_result {
  bool ok = true;
  bool poisons = false;  ///< the handle must not be used again
  failure why;
  std::exception_ptr own;  ///< what this rank's user operation threw

  HEDDLE_FN op_result() noexcept {}
  op_result(op_result const&) = delete;
  op_result& operator=(op_result const&) = delete;
  HEDDLE_FN ~op_result() {}
};

template <class Work>
class collective_call {
 public:
  HEDDLE_FN collective_call(op_context const& c, Work const& w) noexcept
      : c_(c),
        work_(w),
        group_(*c.group),
        record_(group_.records[c.sequence % records_per_group]),
        generation_(static_cast<std::uint32_t>(c.sequence / records_per_group + 1)) {}
  collective_call(collective_call const&) = delete;
  collective_call& operator=(collective_call const&) = delete;

  HEDDLE_FN void run(op_result& r) {
    if (!enter(r)) return;
    op_slot& mine = slot(c_.rank);
    mine.post = work_.post;
    mine.post.call.sequence = c_.sequence + 1;
    if (inlined() && work_.post.in_bytes > 0) __builtin_memcpy(mine.payload, work_.post.in, work_.post.in_bytes);
    __atomic_store_n(&mine.posted_sequence, c_.sequence + 1, __ATOMIC_RELEASE);
    std::uint32_t const all = static_cast<std::uint32_t>(group_.size) * generation_;
    if (__atomic_add_fetch(&record_.arrived, 1u, __ATOMIC_ACQ_REL) == all) open();
    await(r);
    if (r.ok && record_.inlined && work_.post.call.kind != static_cast<int>(traffic::barrier))
      work_.local(everyone(), c_.rank);
    if (!r.ok) quiesce();
    __atomic_add_fetch(&record_.left, 1u, __ATOMIC_ACQ_REL);
  }

 private:
  HEDDLE_FN op_slot& slot(int r) noexcept {
    return group_.slot(static_cast<int>(c_.sequence % records_per_group), r);
  }
  HEDDLE_FN bool inlined() const noexcept { return !work_.post.fault && work_.fits_inline(group_.size); }
  HEDDLE_FN peers everyone() noexcept {
    peers p{};
    p.first = reinterpret_cast<std::byte const*>(&slot(0).post);
    p.stride = sizeof(op_slot);
    p.payload = offsetof(op_slot, payload) - offsetof(op_slot, post);
    p.size = group_.size;
    p.inlined = record_.inlined != 0;
    return p;
  }
  HEDDLE_FN bool own(std::uint32_t state) const noexcept {
    return generation_of(state) == (generation_ & 0xFFFF);
  }

  /// Step 0: false where the operation failed before this rank posted.
  HEDDLE_FN bool enter(op_result& r) {
    std::uint32_t const before = static_cast<std::uint32_t>(group_.size) * (generation_ - 1);
    for (backoff pause;;) {
      std::uint32_t const s = __atomic_load_n(&record_.state, __ATOMIC_ACQUIRE);
      if (own(s) && status_of(s) == op_status::failed) return take_failure(r, s), false;
      if (s & revoked_bit) return take_failure(r, make_state(0, op_status::failed, winner_why)), false;
      if (static_cast<std::int32_t>(__atomic_load_n(&record_.left, __ATOMIC_ACQUIRE) - before) >= 0) return true;
      if (c_.until.passed()) {
        revoke_group(group_, failure{errc::timeout, -1, make_text("ranks did not leave an earlier operation in ",
                                                                  c_.seconds, " s")});
        continue;
      }
      if (!pause.pause()) sched_yield();
    }
  }

  HEDDLE_FN void take_failure(op_result& r, std::uint32_t state) noexcept {
    r.ok = false;
    std::uint32_t const w = winner_of(state);
    r.why = w == winner_why ? group_.why : slot(static_cast<int>(w)).reason;
    r.poisons = r.why.code != errc::mismatch && r.why.code != errc::invalid_argument;
  }

  /// Step 2, by the rank that arrived last, before user memory is touched.
  HEDDLE_FN void open() noexcept {
    bool const good = agree();
    record_.inlined = good && work_.fits_inline(group_.size);
    record_.chunks = good && !record_.inlined ? static_cast<std::uint64_t>(work_.chunks(everyone())) : 0;
    // A rank that gave up may close the claim word at the same time; then nobody will claim.
    __atomic_store_n(&record_.claim, std::uint64_t{0}, __ATOMIC_RELAXED);
    __atomic_store_n(&record_.done, std::uint64_t{0}, __ATOMIC_RELAXED);
    bool const large = record_.chunks > 0;
    bool const wake_now = large && usable_cores() > 1 && record_.chunks >= 8;
    std::uint32_t s = __atomic_load_n(&record_.state, __ATOMIC_ACQUIRE);
    for (;;) {
      if (own(s)) return;  // somebody gave up first
      std::uint32_t next = make_state(generation_, large ? op_status::running : op_status::ok);
      if (!good) next = make_state(generation_, op_status::failed, static_cast<std::uint32_t>(c_.rank));
      if (s & revoked_bit) next = make_state(generation_, op_status::failed, winner_why) | revoked_bit;
      bool const wake = status_of(next) != op_status::running || wake_now;
      if (!wake) next |= s & parked_bit;
      if (!change(s, next)) continue;
      if (wake && (s & parked_bit)) futex_wake_all(&record_.state);
      return;
    }
  }

  HEDDLE_FN bool change(std::uint32_t& from, std::uint32_t to) noexcept {
    return __atomic_compare_exchange_n(&record_.state, &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  }

  /// Whether all ranks made the same legal call; else the reason stands in the opener's slot.
  HEDDLE_FN bool agree() noexcept {
    failure& f = slot(c_.rank).reason;
    for (int r = 0; r < group_.size; ++r)
      if (slot(r).post.fault) {
        posting const& p = slot(r).post;
        f = {errc::invalid_argument, r,
             make_text("rank ", r, " broke a precondition of ", p.call.describe().c_str(), ": ", p.fault.what, " (",
                       p.fault.a, ", ", p.fault.b, ")")};
        return false;
      }
    for (int r = 1; r < group_.size; ++r)
      if (!slot(r).post.call.same_as(slot(0).post.call)) {
        f = {errc::mismatch, r,
             make_text("rank 0 called ", slot(0).post.call.describe().c_str(), "; rank ", r, " called ",
                       slot(r).post.call.describe().c_str())};
        return false;
      }
    peers const all = everyone();
    text why;
    if (!work_.consistent(all, why)) return f = {errc::mismatch, -1, why}, false;
    return disjoint(all, f);
  }

  /// Whether no output shares memory with another buffer, but for legal calls in place.
  HEDDLE_FN bool disjoint(peers const& all, failure& f) noexcept {
    for (int a = 0; a < all.size; ++a) {
      posting const& x = all.at(a);
      if (x.out_bytes == 0) continue;
      for (int b = 0; b < all.size; ++b) {
        posting const& y = all.at(b);
        bool const out = b > a && overlap(x.out, x.out_bytes, y.out, y.out_bytes);
        bool const in = b != a && overlap(x.out, x.out_bytes, y.in, y.in_bytes);
        if (!out && !in) continue;
        f = {errc::invalid_argument, a,
             make_text("the output of rank ", a, " overlaps the ", out ? "output" : "input", " of rank ", b, " in ",
                       x.call.describe().c_str())};
        return false;
      }
    }
    return true;
  }

  /// Step 4: runs one chunk; false where there is none left.
  HEDDLE_FN bool help(op_result& r) {
    std::uint64_t const old = __atomic_fetch_add(&record_.claim, claim_next + claim_active, __ATOMIC_ACQ_REL);
    std::uint64_t const chunk = old / claim_next;
    bool const mine = (old & claim_closed) == 0 && chunk < record_.chunks;
    if (mine) {
      run_chunk(static_cast<index_t>(chunk), r);
      if (__atomic_add_fetch(&record_.done, std::uint64_t{1}, __ATOMIC_ACQ_REL) == record_.chunks)
        finish(make_state(generation_, op_status::ok));
    }
    __atomic_fetch_sub(&record_.claim, claim_active, __ATOMIC_ACQ_REL);
    return mine;
  }

  HEDDLE_FN void run_chunk(index_t chunk, op_result& r) {
    auto const stop = [this] {
      return status_of(__atomic_load_n(&record_.state, __ATOMIC_ACQUIRE)) != op_status::running;
    };
    if constexpr (!Work::may_throw) {
      work_.chunk(everyone(), chunk, stop);
    } else {
      try {
        work_.chunk(everyone(), chunk, stop);
      } catch (...) {
        if (!r.own) r.own = std::current_exception();
        slot(c_.rank).reason = {errc::peer_failed, c_.rank,
                                make_text("the operation of rank ", c_.rank, " threw in ",
                                          slot(c_.rank).post.call.describe().c_str())};
        finish(make_state(generation_, op_status::failed, static_cast<std::uint32_t>(c_.rank)));
      }
    }
  }

  /// From collecting or running to a final status, once; true where this call did it.
  HEDDLE_FN bool finish(std::uint32_t to) noexcept {
    std::uint32_t s = __atomic_load_n(&record_.state, __ATOMIC_ACQUIRE);
    for (;;) {
      if (own(s) && status_of(s) != op_status::running) return false;
      if (!change(s, to | (s & revoked_bit))) continue;
      if (s & parked_bit) futex_wake_all(&record_.state);
      return true;
    }
  }

  /// Step 6.
  HEDDLE_FN void await(op_result& r) {
    for (backoff pause(c_.spins);;) {
      std::uint32_t s = __atomic_load_n(&record_.state, __ATOMIC_ACQUIRE);
      if (own(s) && status_of(s) == op_status::ok) return;
      if (own(s) && status_of(s) == op_status::failed) return take_failure(r, s);
      if (own(s) && exhausted_ == false) {
        exhausted_ = !help(r);
        continue;
      }
      if (s & revoked_bit) {
        finish(make_state(generation_, op_status::failed, winner_why));
        continue;
      }
      if (c_.until.passed()) {
        give_up();
        continue;
      }
      if (pause.pause()) continue;
      if (!(s & parked_bit) && !change(s, s | parked_bit)) continue;
      futex_wait(&record_.state, s | parked_bit, c_.until);
    }
  }

  HEDDLE_FN void give_up() noexcept {
    failure& f = slot(c_.rank).reason;
    f = {errc::timeout, -1,
         make_text(slot(c_.rank).post.call.describe().c_str(), ": after ", c_.seconds, " s these ranks are missing:")};
    int missing = 0;
    for (int r = 0; r < group_.size; ++r)
      if (__atomic_load_n(&slot(r).posted_sequence, __ATOMIC_ACQUIRE) != c_.sequence + 1) {
        if (missing++ == 0) f.rank = r;
        f.what.append(' ').append(r);
      }
    if (missing == 0) f.what.append(" none; all have come and the work is not over");
    failure const copy = f;
    if (finish(make_state(generation_, op_status::failed, static_cast<std::uint32_t>(c_.rank))))
      revoke_group(group_, copy);
  }

  /// Step 7: nobody touches this rank's memory after it has left.
  HEDDLE_FN void quiesce() noexcept {
    std::uint64_t claim = __atomic_or_fetch(&record_.claim, claim_closed, __ATOMIC_ACQ_REL);
    while (active_of(claim) != 0) {
      sched_yield();
      claim = __atomic_load_n(&record_.claim, __ATOMIC_ACQUIRE);
    }
  }

  op_context const& c_;
  Work const& work_;
  thread_group& group_;
  op_record& record_;
  std::uint32_t generation_;
  bool exhausted_ = false;
};

}  // namespace heddle::detail
