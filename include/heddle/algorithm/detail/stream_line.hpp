// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/extents.hpp>

#include <cstdint>

namespace heddle {
namespace detail {

/// Copies 64 bytes to memory that is not read soon, past the caches where the machine can. Both are aligned to 64.
HEDDLE_TILE void stream_line(void* to, void const* from) {
#if defined(__x86_64__) && !defined(__CUDACC__)
  typedef long long two __attribute__((vector_size(16)));
  two* const out = static_cast<two*>(to);
  two const* const in = static_cast<two const*>(from);
#if defined(__clang__)
  for (int i = 0; i < 4; ++i) __builtin_nontemporal_store(in[i], out + i);
#else
  for (int i = 0; i < 4; ++i) __builtin_ia32_movntdq(out + i, in[i]);
#endif
#else
  std::uint64_t* const out = static_cast<std::uint64_t*>(to);
  std::uint64_t const* const in = static_cast<std::uint64_t const*>(from);
  for (int i = 0; i < 8; ++i) out[i] = in[i];
#endif
}

/// Makes streamed lines visible before later writes.
HEDDLE_TILE void line_fence() {
#if defined(__x86_64__) && !defined(__CUDACC__)
  __builtin_ia32_sfence();
#endif
}

/// Copies part of a line of T that stands at `to`; a whole one is streamed if asked, where both are aligned.
template <class T>
HEDDLE_TILE void flush_line(T* to, T const* from, int first, int count, int line, bool streams) {
  int const bytes = line * static_cast<int>(sizeof(T));
  if (streams && first == 0 && count == line && bytes % 64 == 0 && reinterpret_cast<std::uintptr_t>(to) % 64 == 0) {
    for (int i = 0; i < bytes; i += 64)
      stream_line(reinterpret_cast<char*>(to) + i, reinterpret_cast<char const*>(from) + i);
    return;
  }
  for (int i = first; i < count; ++i) to[i] = from[i];
}

}  // namespace detail
}  // namespace heddle
