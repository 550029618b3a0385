// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/exec/detail/immediate.hpp>

namespace heddle::detail {

/// Runs every tile in ascending order in the calling thread. The backend alone tells its two users apart.
template <class Backend>
class loop_executor : public immediate_base<Backend> {
  using base = immediate_base<Backend>;

 public:
  HEDDLE_FN explicit loop_executor(host_space& memory = default_host_space) noexcept : base(memory) {}
  HEDDLE_FN ~loop_executor() {}

  HEDDLE_FN int concurrency() const noexcept { return 1; }

  template <class F>
  HEDDLE_FN void for_each_tile(index_t n, F const& f) {
    if (this->scratch().planning()) return;
    typename base::busy_scope const busy(*this);
    for (index_t tile = 0; tile < n; ++tile) f(tile, 0);
  }
};

}  // namespace heddle::detail
