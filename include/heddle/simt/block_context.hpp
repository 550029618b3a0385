// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/extents.hpp>

#include <concepts>

namespace heddle {
namespace simt {

/// Threads of one warp.
inline constexpr int warp_size = 32;

/// What a device kernel sees of the machine; its first argument. Every thread of a block has its own.
///
/// Valid: `b.thread()`, `b.threads()`, `b.warp()`, `b.lane()`, `b.block()`, `b.shared()`, `b.sync()`, `b.sync_warp()`,
/// `b.shuffle_xor(value, mask)`, `b.copy_async(to, from)`, `b.commit()`, `b.wait<N>()`.
/// Meaning: `thread()` is in [0, threads()), a whole number of warps; `lane()` = thread mod 32. `shared()` is the
/// memory of the block, of the size given at launch, aligned to 64, without a defined content. `sync()` is reached by
/// every thread of the block, `sync_warp()` and `shuffle_xor()` by every thread of the warp; what was written before
/// is seen behind it. `copy_async(to, from)` copies one element of 4, 8 or 16 bytes from memory to shared memory; the
/// target is undefined until `wait<N>()`, by the same thread, has returned with at most N younger groups in flight;
/// `commit()` closes a group. Other threads see the target behind a `sync()` after that.
/// Models: sim_block_context, cuda::block_context.
template <class B>
concept block_context = requires(B& b, float v, float* to, float const* from) {
  { b.thread() } -> std::same_as<int>;
  { b.threads() } -> std::same_as<int>;
  { b.warp() } -> std::same_as<int>;
  { b.lane() } -> std::same_as<int>;
  { b.block() } -> std::same_as<index_t>;
  { b.shared() } -> std::same_as<std::byte*>;
  b.sync();
  b.sync_warp();
  { b.shuffle_xor(v, 1) } -> std::same_as<float>;
  b.copy_async(to, from);
  b.commit();
  b.template wait<0>();
};

}  // namespace simt
}  // namespace heddle
