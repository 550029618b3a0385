// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/checkpoint/crc32c.hpp>

#include <support/catch.hpp>

#include <string>

using heddle::checkpoint::crc32c;

namespace {
std::uint32_t of(std::string const& s) {
  crc32c c;
  c.update(s.data(), static_cast<heddle::index_t>(s.size()));
  return c.value();
}
}  // namespace

TEST_CASE("published values of CRC-32C", "[checkpoint]") {
  CHECK(of("") == 0);
  CHECK(of("123456789") == 0xe3069283u);
  CHECK(of(std::string(32, '\0')) == 0x8a9136aau);
  CHECK(of(std::string(32, '\xff')) == 0x62a8ab43u);
}

TEST_CASE("pieces give the sum of the whole", "[checkpoint]") {
  std::string s;
  for (int i = 0; i < 61; ++i) s += static_cast<char>(i * 7);
  for (std::size_t cut = 0; cut <= s.size(); ++cut) {
    crc32c c;
    c.update(s.data(), static_cast<heddle::index_t>(cut));
    c.update(s.data() + cut, static_cast<heddle::index_t>(s.size() - cut));
    CHECK(c.value() == of(s));
  }
}
