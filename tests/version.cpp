// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/version.hpp>

#include <support/catch.hpp>

#include <fstream>
#include <string>

TEST_CASE("the changelog's newest entry is the version of the headers", "[heddle]") {
  std::string expected = "##";
  for (int part : {HEDDLE_VERSION_MAJOR, HEDDLE_VERSION_MINOR, HEDDLE_VERSION_PATCH})
    expected += (expected.size() == 2 ? " " : ".") + std::to_string(part);
  std::string const here = __FILE__;
  std::ifstream changelog(here.substr(0, here.rfind("tests/version.cpp")) + "CHANGELOG.md");
  std::string line;
  while (std::getline(changelog, line) && line.rfind("## ", 0) != 0) {
  }
  REQUIRE(line == expected);
}
