// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/simt/block_context.hpp>

#if !defined(__CUDACC__)
#error "heddle/backend/cuda is compiled by nvcc"
#endif

#include <cuda_runtime.h>

namespace heddle {
namespace cuda {

/// The block context of a CUDA thread block: every operation is one instruction, or nearly.
class block_context {
 public:
  __device__ __forceinline__ int thread() const { return static_cast<int>(threadIdx.x); }
  __device__ __forceinline__ int threads() const { return static_cast<int>(blockDim.x); }
  __device__ __forceinline__ int warp() const { return static_cast<int>(threadIdx.x) / simt::warp_size; }
  __device__ __forceinline__ int lane() const { return static_cast<int>(threadIdx.x) % simt::warp_size; }
  __device__ __forceinline__ index_t block() const { return static_cast<index_t>(blockIdx.x); }
  __device__ __forceinline__ std::byte* shared() const {
    extern __shared__ float4 heddle_shared_memory[];
    return reinterpret_cast<std::byte*>(heddle_shared_memory);
  }

  __device__ __forceinline__ void sync() const { __syncthreads(); }
  __device__ __forceinline__ void sync_warp() const { __syncwarp(); }
  template <class T>
  __device__ __forceinline__ T shuffle_xor(T value, int mask) const {
    return __shfl_xor_sync(0xFFFFFFFFu, value, mask);
  }

  template <class T>
  __device__ __forceinline__ void copy_async(T* to, T const* from) const {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16, "an asynchronous copy has 4, 8 or 16 bytes");
    auto const target = static_cast<unsigned>(__cvta_generic_to_shared(to));
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(target), "l"(from), "n"(sizeof(T)) : "memory");
  }
  __device__ __forceinline__ void commit() const { asm volatile("cp.async.commit_group;" ::: "memory"); }
  template <int N>
  __device__ __forceinline__ void wait() const {
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
  }
};

}  // namespace cuda
}  // namespace heddle
