// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/contracts.hpp>
#include <heddle/core/tensor_view.hpp>

namespace heddle {

/// What keeps messages between the same two ranks apart: a 64-bit key. First in, first out per (source, channel).
///
/// Values from `first_reserved_channel` up belong to the library.
enum class channel : std::uint64_t {};

/// Channels from here up are the library's.
inline constexpr std::uint64_t first_reserved_channel = std::uint64_t{0xF0} << 56;

/// The channel of a message that a program names by kind, stage and microbatch.
/// Pre: kind < 240, 0 <= stage < 2^24, 0 <= microbatch < 2^32.
HEDDLE_FN channel make_channel(unsigned kind, index_t stage = 0, index_t microbatch = 0) {
  HEDDLE_EXPECTS(kind < 240, "kinds from 240 up are reserved", kind);
  HEDDLE_EXPECTS(stage >= 0 && stage < (index_t{1} << 24), "the stage must fit into 24 bits", stage);
  HEDDLE_EXPECTS(microbatch >= 0 && microbatch < (index_t{1} << 32), "the microbatch must fit into 32 bits",
                 microbatch);
  return channel{std::uint64_t{kind} << 56 | static_cast<std::uint64_t>(stage) << 32 |
                 static_cast<std::uint64_t>(microbatch)};
}

/// Bytes that are read. Pre of every use: `data` is not null where `size` is not zero.
struct const_bytes {
  void const* data = nullptr;
  std::size_t size = 0;
};

/// Bytes that are written.
struct mutable_bytes {
  void* data = nullptr;
  std::size_t size = 0;
  HEDDLE_FN operator const_bytes() const noexcept { return {data, size}; }
};

/// The bytes of a view. Pre: contiguous.
template <any_view V>
HEDDLE_FN auto bytes_of(V const& v) {
  HEDDLE_EXPECTS(v.is_contiguous(), "only a contiguous view is a run of bytes");
  std::size_t const size = static_cast<std::size_t>(v.size()) * sizeof(typename V::value_type);
  if constexpr (std::is_const_v<typename V::element_type>)
    return const_bytes{v.data(), size};
  else
    return mutable_bytes{v.data(), size};
}

}  // namespace heddle
