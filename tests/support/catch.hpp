// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// The one include of the test framework: Catch2 3 where it is installed, else Catch2 2.13.

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;  // where version 2 has it
#else
#include <catch2/catch.hpp>
#endif

#include <string>

namespace heddle::test {

/// For CHECK_THROWS_WITH: a message that has `part` in it.
inline auto has_text(std::string const& part) {
#if __has_include(<catch2/catch_all.hpp>)
  return Catch::Matchers::ContainsSubstring(part);
#else
  return Catch::Matchers::Contains(part);
#endif
}

}  // namespace heddle::test
