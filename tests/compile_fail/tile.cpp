// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/backend/reference/tile_context.hpp>
#include <heddle/core/math.hpp>
#include <heddle/exec/reference_executor.hpp>
#include <heddle/tile/run.hpp>

namespace {

using namespace heddle;

// The least that a tile program is; each case below takes one member away.
struct least {
#if !defined(case_without_shared)
  template <class Ctx>
  struct shared {};
#endif
#if !defined(case_without_tiles)
  template <class Ctx>
  index_t tiles() const {
    return 0;
  }
#endif
#if !defined(case_without_call)
  template <class Ctx>
  void operator()(Ctx&) const {}
#endif
#if defined(case_large_program)
  char bytes[400];
#endif
};

// expect without_shared: shared
// expect without_tiles: tiles
// expect without_call: a tile program has|p\(ctx\)
// expect large_program: a tile program has
[[maybe_unused]] void right(reference_executor& exec) { tile::run(exec, least{}); }

// expect exponential_of_whole_numbers: real_lanes
#if defined(case_exponential_of_whole_numbers)
auto const wrong = heddle::exp(1);
#endif

}  // namespace
