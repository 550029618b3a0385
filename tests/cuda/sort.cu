// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Compiled, not run: sorts and searches are tile programs of one thread in a block.
#include <heddle/algorithm/search.hpp>
#include <heddle/algorithm/sort_by.hpp>
#include <heddle/algorithm/top_k.hpp>
#include <heddle/backend/cuda/tile_context.hpp>

using namespace heddle;

struct positive {
  HEDDLE_HD bool operator()(float x) const { return x > 0; }
};

void sort_all(cuda_executor& gpu, view<float, 1> const& x, view<std::int32_t, 1> const& at,
              view<float, 2> const& rows, view<std::int32_t, 2> const& best) {
  heddle::sort(gpu, x, x);
  argsort(gpu, x, at);
  sort_by(gpu, x, x, detail::less_fn{});
  lower_bound(gpu, x, x, at);
  find_if(gpu, x, at, positive{});
  top_k(gpu, rows, rows, best);
}
