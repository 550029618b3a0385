// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// A user's own executor with the least that the concept asks for: work runs at once, on the calling thread.
/// Included after the block's own headers, which bring all names that it needs.

struct user_executor {
  using backend = heddle::cpu_tag;
  using space = heddle::host_space;
  using event = heddle::done_event;

  int concurrency() const { return 1; }
  template <class F>
  void for_each_tile(heddle::index_t n, F const& f) {
    for (heddle::index_t tile = 0; tile < n; ++tile) f(tile, 0);
  }
  event record() { return {}; }
  void wait(event) {}
  void synchronize() {}
  heddle::arena& scratch() { return arena_; }
  heddle::null_observer& observer() { return observer_; }

 private:
  heddle::arena arena_;
  heddle::null_observer observer_;
};

static_assert(heddle::executor<user_executor>);
