// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/comm/transport/detail/layout.hpp>

namespace heddle::detail {

inline std::uint64_t groups_made = 0;  // atomic; gives groups their names

/// Throws what an operation or a group failed with.
[[noreturn]] HEDDLE_FN void throw_failure(failure const& f) { throw error(f.code, f.what, f.rank); }

/// A lock for set-up and failure only; no message or collective takes it.
class list_lock {
 public:
  HEDDLE_FN explicit list_lock(thread_group& root) noexcept : word_(root.lock) {
    while (__atomic_exchange_n(&word_, 1u, __ATOMIC_ACQUIRE) != 0) sched_yield();
  }
  list_lock(list_lock const&) = delete;
  list_lock& operator=(list_lock const&) = delete;
  HEDDLE_FN ~list_lock() { __atomic_store_n(&word_, 0u, __ATOMIC_RELEASE); }

 private:
  std::uint32_t& word_;
};

/// A group with one reference per rank. Errors: out_of_memory.
HEDDLE_FN thread_group* make_group(int size, host_space& memory, thread_group* parent) {
  void* const place = memory.allocate_now(thread_group::bytes(size), alignof(thread_group));
  thread_group* const g = ::new (place) thread_group;
  g->size = size;
  g->references = static_cast<std::uint32_t>(size);
  g->id = __atomic_add_fetch(&groups_made, std::uint64_t{1}, __ATOMIC_RELAXED);
  g->memory = &memory;
  for (int i = 0; i < records_per_group * size; ++i) ::new (g->slots() + i) op_slot;
  for (int r = 0; r < size; ++r) {
    seat* const s = ::new (&g->seat_of(r)) seat;
    for (int i = 0; i < eager_messages + rendezvous_messages; ++i) {
      s->pool[i].source = r;
      s->pool[i].eager = i < eager_messages;
    }
  }
  g->parent = parent;
  g->root = parent ? parent->root : g;
  if (parent) {
    __atomic_add_fetch(&parent->references, 1u, __ATOMIC_RELAXED);
    list_lock const guard(*g->root);
    g->before = g->root;
    g->after = g->root->after;
    if (g->after) g->after->before = g;
    g->root->after = g;
  }
  return g;
}

/// Gives one reference back; the last one frees the group, and its hold on the parent.
HEDDLE_FN void release_group(thread_group* g) noexcept {
  while (g && __atomic_sub_fetch(&g->references, 1u, __ATOMIC_ACQ_REL) == 0) {
    thread_group* const parent = g->parent;
    if (parent) {
      list_lock const guard(*g->root);
      g->before->after = g->after;
      if (g->after) g->after->before = g->before;
    }
    g->memory->deallocate_now(g, thread_group::bytes(g->size), alignof(thread_group));
    g = parent;
  }
}

/// The first cause wins; returns when it can be read.
HEDDLE_FN void set_why(thread_group& g, failure const& f) noexcept {
  if (__atomic_exchange_n(&g.why_taken, 1u, __ATOMIC_ACQ_REL) == 0) {
    g.why = f;
    __atomic_store_n(&g.why_ready, 1u, __ATOMIC_RELEASE);
  }
  while (__atomic_load_n(&g.why_ready, __ATOMIC_ACQUIRE) == 0) sched_yield();
}

/// No collective may start any more. The bit sits in the words that waiters park on, and it stays.
HEDDLE_FN void forbid_collectives(thread_group& g) noexcept {
  for (op_record& r : g.records) {
    __atomic_fetch_or(&r.state, revoked_bit, __ATOMIC_ACQ_REL);
    futex_wake_all(&r.state);
  }
}
HEDDLE_FN void notify_all(thread_group& g) noexcept {
  for (int r = 0; r < g.size; ++r) g.seat_of(r).park.notify();
}

/// Ends everything in the group: collectives and point to point.
HEDDLE_FN void revoke_group(thread_group& g, failure const& f) noexcept {
  set_why(g, f);
  forbid_collectives(g);
  __atomic_store_n(&g.revoked, 1u, __ATOMIC_RELEASE);
  notify_all(g);
}

/// Revokes a group and all that were split from it.
HEDDLE_FN void revoke_tree(thread_group& g, failure const& f) noexcept {
  revoke_group(g, f);
  list_lock const guard(*g.root);
  for (thread_group* child = g.root->after; child; child = child->after)
    for (thread_group* up = child->parent; up; up = up->parent)
      if (up == &g) {
        revoke_group(*child, f);
        break;
      }
}

/// A rank is gone: collectives need it, messages between the others go on.
HEDDLE_FN void exit_group(thread_group& g, int r, text const& what) noexcept {
  __atomic_store_n(&g.seat_of(r).exited, 1u, __ATOMIC_RELEASE);
  set_why(g, failure{errc::peer_failed, r, what});
  forbid_collectives(g);
  notify_all(g);
}

}  // namespace heddle::detail
