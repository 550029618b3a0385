// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/version.hpp>

#include <support/catch.hpp>

#include <fstream>
#include <string>

TEST_CASE("the changelog's newest entry is the version of the headers", "[heddle]") {
  std::string const expected = "## " + std::to_string(HEDDLE_VERSION_MAJOR) + "." + std::to_string(HEDDLE_VERSION_MINOR) +
                               "." + std::to_string(HEDDLE_VERSION_PATCH);
  std::string const here = __FILE__;
  std::ifstream changelog(here.substr(0, here.rfind("tests/version.cpp")) + "CHANGELOG.md");
  std::string line;
  while (std::getline(changelog, line) && line.rfind("## ", 0) != 0) {
  }
  REQUIRE(line == expected);
}
