// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/checkpoint/manifest.hpp>

#include <support/catch.hpp>

using namespace heddle;
using namespace heddle::checkpoint;

namespace {
manifest made() {
  manifest m;
  m.id = {20, 7};
  m.files = {{0, 1234, 0xdeadbeef}, {1, 0, 0}};
  m.meta = {{"seed", "42"}, {"flags", "--dp 2 \"x\""}};
  return m;
}
}  // namespace

TEST_CASE("a manifest survives its text", "[checkpoint]") {
  manifest back;
  report const r = parse_manifest(manifest_text(made()), back);
  INFO(r.summary());
  REQUIRE(r);
  CHECK(back.id == save_id{20, 7});
  REQUIRE(back.files.size() == 2);
  CHECK((back.files[0].bytes == 1234 && back.files[0].crc32c == 0xdeadbeef && back.files[1].rank == 1));
  CHECK(*back.find_meta("flags") == "--dp 2 \"x\"");
  CHECK(back.find_meta("none") == nullptr);
}

TEST_CASE("every single changed or missing byte is noticed", "[checkpoint]") {
  std::string const text = manifest_text(made());
  int accepted = 0;
  for (std::size_t i = 0; i < text.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      std::string other = text;
      other[i] = static_cast<char>(other[i] ^ (1 << bit));
      manifest m;
      accepted += static_cast<bool>(parse_manifest(other, m));
    }
  for (std::size_t n = 0; n < text.size(); ++n) {
    manifest m;
    accepted += static_cast<bool>(parse_manifest(text.substr(0, n), m));
  }
  CHECK(accepted == 0);
}

TEST_CASE("a checksum does not excuse a wrong content", "[checkpoint]") {
  auto refused = [](std::string text) {
    text.replace(11, 8, checkpoint::detail::manifest_checksum(text));
    manifest m;
    return !parse_manifest(text, m);
  };
  std::string const head = "{\"crc32c\":\"00000000\",";
  CHECK(refused(head + "\"version\":2,\"step\":1,\"attempt\":1,\"files\":[],\"meta\":{}}"));
  CHECK(refused(head + "\"version\":1,\"step\":1,\"files\":[],\"meta\":{}}"));
  CHECK(refused(head + "\"version\":1,\"step\":1,\"attempt\":1,\"files\":{},\"meta\":{}}"));
  CHECK(refused(head + "\"version\":1,\"step\":1,\"attempt\":1,\"files\":[{\"rank\":0}],\"meta\":{}}"));
  CHECK(refused(head + "\"version\":1,\"step\":1,\"attempt\":1,\"files\":[],\"meta\":{\"a\":1}}"));
  CHECK(refused(head + "\"version\":1,\"version\":1,\"step\":1,\"attempt\":1,\"files\":[],\"meta\":{}}"));
  CHECK(refused(head + "\"version\":1"));
  CHECK_FALSE(refused(head + "\"version\":1,\"step\":1,\"attempt\":1,\"files\":[],\"meta\":{}}"));
}
