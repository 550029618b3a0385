// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/comm/detail/call.hpp>
#include <heddle/core/tree.hpp>

/// @file
/// What a collective does with memory that all ranks can reach, cut in chunks that any rank may run.
///
/// A work has: `post`, `may_throw`; `fits_inline(ranks)`: the input travels in the posting and each rank makes
/// its own output (`local`); `consistent(peers, why)`; `chunks(peers)` and `chunk(peers, c, stop)`: the single pass
/// for large data; `sent(ranks, me)`: what the direct algorithm would send.

namespace heddle::detail {

inline constexpr index_t inline_payload_bytes = 4096;

/// The postings of all ranks, as a work sees them.
struct peers {
  std::byte const* first = nullptr;  ///< posting of rank 0; the others follow at `stride`
  std::size_t stride = 0;
  std::size_t payload = 0;  ///< offset from a posting to its inline payload
  int size = 0;
  bool inlined = false;

  HEDDLE_FN posting const& at(int r) const noexcept {
    return *reinterpret_cast<posting const*>(first + static_cast<std::size_t>(r) * stride);
  }
  HEDDLE_FN void const* in(int r) const noexcept {
    return inlined ? static_cast<void const*>(first + static_cast<std::size_t>(r) * stride + payload) : at(r).in;
  }
  HEDDLE_FN void* out(int r) const noexcept { return at(r).out; }
  HEDDLE_FN index_t const* counts(int r) const noexcept { return at(r).counts; }
  HEDDLE_FN index_t const* receive_counts(int r) const noexcept { return at(r).receive_counts; }
};

struct work_base {
  posting post;

  HEDDLE_FN work_base() noexcept {}
  HEDDLE_FN traffic kind() const noexcept { return static_cast<traffic>(post.call.kind); }
  HEDDLE_FN int root() const noexcept { return post.call.root; }

  HEDDLE_FN void fail(char const* what, index_t a = 0, index_t b = 0) noexcept {
    if (!post.fault) post.fault = argument_fault(what, a, b);
  }
  HEDDLE_FN void require(bool holds, char const* what, index_t a = 0, index_t b = 0) noexcept {
    if (!holds) fail(what, a, b);
  }
};

/// The sum of p counts, or -1 where one is negative.
HEDDLE_FN index_t sum_of_counts(index_t const* counts, int ranks) noexcept {
  index_t sum = 0;
  for (int r = 0; r < ranks; ++r) {
    if (counts[r] < 0) return -1;
    sum += counts[r];
  }
  return sum;
}
HEDDLE_FN std::uint64_t hash_counts(index_t const* counts, int ranks) noexcept {
  return hash_bytes(counts, static_cast<std::size_t>(ranks) * sizeof(index_t)) | 1;
}

/// Messages and bytes that one rank sends.
struct sent_amount {
  index_t messages = 0;
  index_t bytes = 0;
};

/// Whether two runs of bytes share one.
HEDDLE_FN bool overlap(void const* a, std::size_t a_bytes, void const* b, std::size_t b_bytes) noexcept {
  char const *x = static_cast<char const*>(a), *y = static_cast<char const*>(b);
  return a_bytes > 0 && b_bytes > 0 && x < y + b_bytes && y < x + a_bytes;
}

/// In place only where the input begins at `in_offset` bytes of the output, or the output at `out_offset` of the input.
HEDDLE_FN void check_aliasing(work_base& w, index_t in_offset, index_t out_offset) noexcept {
  posting const& p = w.post;
  if (!overlap(p.in, p.in_bytes, p.out, p.out_bytes)) return;
  bool const same = static_cast<char const*>(p.in) + out_offset == static_cast<char const*>(p.out) + in_offset;
  w.require(same, "input and output may coincide only exactly in place");
}

}  // namespace heddle::detail
