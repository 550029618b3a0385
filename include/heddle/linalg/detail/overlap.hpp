// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/overlap.hpp>

#include <cstddef>

namespace heddle::linalg::detail {

using heddle::surely_overlap;

/// Where the elements of a b lie: the view itself, or the bytes of one that is packed or in codes.
template <class B>
HEDDLE_FN auto memory_of(B const& b) {
  using bytes = view<std::byte const, 1>;
  if constexpr (any_view<B>)
    return b;
  else if constexpr (requires { b.data(); })
    return bytes(static_cast<std::byte const*>(b.data()), dims<1>(b.bytes()));
  else
    return bytes(reinterpret_cast<std::byte const*>(b.codes()), dims<1>(b.extent(1) * b.line_bytes()));
}

}  // namespace heddle::linalg::detail
