// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// What bench_model_plain_o2 and the programs that it starts say to each other.

#include <cstdint>

namespace heddle::bench {

inline constexpr char const* plain_cases[] = {"matmul 768 cubed", "attention forward, 1024 tokens",
                                              "sum of 2^24 floats", "sort of 2^22 floats"};

struct plain_answer {
  double seconds;
  std::uint64_t hash;
};

}  // namespace heddle::bench
