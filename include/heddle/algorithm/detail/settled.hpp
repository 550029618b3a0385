// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/scalar.hpp>

namespace heddle::detail {

// What a result is stored as: one NaN for all, because hardware picks payloads as it likes.
template <class T>
HEDDLE_TILE T settled(T const& v) {
  if constexpr (scalar<T>)
    return with_canonical_nan(v);
  else
    return v;
}

}  // namespace heddle::detail
