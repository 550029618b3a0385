// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Box arithmetic alone: which elements of a matrix one rank of four holds.
#include <heddle/mesh/box.hpp>

int main() {
  heddle::box<2> const all = heddle::whole(heddle::dims<2>(10, 4));
  heddle::index_t held = 0;
  for (heddle::index_t rank = 0; rank < 4; ++rank) held += heddle::shard_of(all, 0, 4, rank).size();
  return held == 40 && heddle::shard_of(all, 0, 4, 3) == heddle::make_box({8, 0}, {10, 4}) ? 0 : 1;
}
