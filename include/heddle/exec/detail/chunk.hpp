// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/extents.hpp>

namespace heddle::detail {

/// Tiles that a worker takes at once: a sixteenth of its share, so that the others can help, and few enough that an
/// exception stops the loop soon.
HEDDLE_FN index_t chunk_of(index_t tiles, int workers) noexcept {
  index_t const share = tiles / (index_t{workers} * 16);
  return share < 1 ? 1 : share > 64 ? 64 : share;
}

}  // namespace heddle::detail
