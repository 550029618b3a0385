// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/exec/detail/immediate.hpp>
#include <heddle/exec/team.hpp>

namespace heddle {

/// The tuned CPU kernels on a team of threads of its own: the default executor.
///
/// Sync: a call returns when its tiles are over. The calling thread is worker 0. Threads sleep between calls.
/// Errors: the first exception of a tile, at the call; a tile that submits to its executor is a contract error.
/// Determinism: which worker runs a tile varies.
class threads_executor : public detail::immediate_base<cpu_tag> {
  using base = detail::immediate_base<cpu_tag>;

 public:
  /// Pre: 1 <= threads <= 4096.
  HEDDLE_FN explicit threads_executor(int threads = usable_cores(), team_options const& options = {},
                                      host_space& memory = default_host_space)
      : base(memory), team_(threads, options) {}
  HEDDLE_FN ~threads_executor() {}

  HEDDLE_FN int concurrency() const noexcept { return team_.size(); }

  template <class F>
  HEDDLE_FN void for_each_tile(index_t n, F const& f) {
    if (this->scratch().planning()) return;
    busy_scope const busy(*this);
    team_.run(n, f);
  }

 private:
  team team_;
};

static_assert(immediate_executor<threads_executor>);

}  // namespace heddle
