// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/simt/block_context.hpp>
#include <heddle/simt/sim_block.hpp>

#include <support/catch.hpp>

using namespace heddle;

namespace {
struct without_shuffle {
  int thread();
  int threads();
  int warp();
  int lane();
  index_t block();
  std::byte* shared();
  void sync();
  void sync_warp();
  void copy_async(float*, float const*);
  void commit();
  template <int N>
  void wait();
};
}  // namespace

TEST_CASE("block contexts are known by their members", "[simt]") {
  STATIC_REQUIRE(simt::block_context<simt::sim_block_context>);
  STATIC_REQUIRE((!simt::block_context<without_shuffle> && !simt::block_context<int>));
}
