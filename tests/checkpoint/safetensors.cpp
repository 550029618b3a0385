// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "temporary.hpp"

#include <heddle/checkpoint/safetensors.hpp>

#include <support/catch.hpp>

using namespace heddle;
using namespace heddle::checkpoint;
using test::made;

namespace {
report reported(std::string const& bytes, header* out = nullptr) {
  test::temporary_folder const folder;
  test::write_file(folder / "f", bytes);
  header h;
  report const r = read_header(file::open(folder / "f"), h);
  if (out != nullptr) *out = h;
  return r;
}
bool names(report const& r, std::string const& entry, std::string const& what) {
  for (fault const& f : r.faults())
    if (f.entry == entry && f.what.find(what) != std::string::npos) return true;
  return false;
}
std::string one(std::string const& body) { return "{\"a\":{" + body + "}}"; }

std::string const valid = made(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
                               std::string("\0\0\x80\x3f\0\0\0\xc0", 8));
}  // namespace

TEST_CASE("a file that is cut off is refused", "[checkpoint]") {
  REQUIRE(valid.size() == 70);
  CHECK(reported(valid));
  for (std::size_t n : {69, 62, 20, 8, 7, 0}) {
    INFO(n);
    CHECK_FALSE(reported(valid.substr(0, n)));
  }
  CHECK(names(reported(valid.substr(0, 69)), "a", "ends at data byte 8 of 7"));
  CHECK(names(reported(valid.substr(0, 7)), "", "cut off"));
  CHECK(names(reported(valid + "x"), "", "belong to no tensor"));
  test::temporary_folder const folder;
  test::write_file(folder / "short", valid.substr(0, 20));
  CHECK_THROWS_WITH(require_header(file::open(folder / "short")),
                    Catch::Contains(folder / "short") && Catch::Contains("54 bytes, 12 follow"));
  CHECK_THROWS_AS(file::open(folder / "none"), error);
}

TEST_CASE("a header length that lies is refused before anything is allocated", "[checkpoint]") {
  for (std::uint64_t length : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{63}, std::uint64_t{1} << 31,
                               std::uint64_t{1} << 63, ~std::uint64_t{0} - 7, ~std::uint64_t{0}}) {
    std::string lying = valid;
    for (std::size_t i = 0; i < 8; ++i) lying[i] = static_cast<char>((length >> (8 * i)) & 255);
    header h;
    report const r = reported(lying, &h);
    INFO(length << ": " << r.summary());
    CHECK_FALSE(r);
    CHECK(h.entries.empty());
  }
}

TEST_CASE("every violation of an entry is reported with its name", "[checkpoint]") {
  std::string const data(8, '\0');
  auto fault = [&](std::string const& body, std::string const& what) {
    report const r = reported(made(one(body), data));
    INFO(body << ": " << r.summary(9));
    return names(r, "a", what);
  };
  CHECK(fault(R"("dtype":"F99","shape":[2],"data_offsets":[0,8])", "unknown dtype \"F99\""));
  CHECK(fault(R"("dtype":7,"shape":[2],"data_offsets":[0,8])", "unknown dtype"));
  CHECK(fault(R"("dtype":"F32","shape":2,"data_offsets":[0,8])", "shape that is no list"));
  CHECK(fault(R"("dtype":"F32","shape":[-2],"data_offsets":[0,8])", "whole numbers"));
  CHECK(fault(R"("dtype":"F32","shape":[2.0],"data_offsets":[0,8])", "whole numbers"));
  CHECK(fault(R"("dtype":"F32","shape":[9223372036854775808],"data_offsets":[0,8])", "whole numbers"));
  CHECK(fault(R"("dtype":"F32","shape":[2],"data_offsets":[0])", "[begin, end]"));
  CHECK(fault(R"("dtype":"F32","shape":[2],"data_offsets":[8,0])", "[begin, end]"));
  CHECK(fault(R"("dtype":"F32","shape":[3],"data_offsets":[0,8])", "takes 8 bytes where shape and dtype need 12"));
  CHECK(fault(R"("dtype":"BF16","shape":[2],"data_offsets":[0,8])", "need 4"));
  CHECK(fault(R"("dtype":"F32","shape":[3],"data_offsets":[0,12])", "ends at data byte 12 of 8"));
  CHECK(fault(R"("dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,8])", "below 2^63"));
  CHECK(fault(R"("dtype":"F4","shape":[3],"data_offsets":[0,8])", "whole number of bytes"));
  CHECK(fault(R"("dtype":"F32","shape":[2])", "lacks"));
  CHECK(fault(R"("dtype":"F32","shape":[2],"data_offsets":[0,8],"extra":1)", "unknown member \"extra\""));
  CHECK(names(reported(made("{\"a\":[]}", "")), "a", "no JSON object"));
  CHECK(names(reported(made(R"({"__metadata__":{"k":1}})", "")), "__metadata__", "under \"k\""));
  CHECK(names(reported(made(R"({"__metadata__":[]})", "")), "__metadata__", "no JSON object"));
  CHECK(names(reported(made(R"( {})", "")), "", "does not begin"));
  CHECK(names(reported(made(R"({"a":)", "")), "", "JSON"));
}

TEST_CASE("overlaps, holes and duplicates are reported together", "[checkpoint]") {
  auto entry = [](std::string const& name, int lo, int hi) {
    return "\"" + name + "\":{\"dtype\":\"U8\",\"shape\":[" + std::to_string(hi - lo) + "],\"data_offsets\":[" +
           std::to_string(lo) + "," + std::to_string(hi) + "]}";
  };
  std::string const text = "{" + entry("a", 0, 4) + "," + entry("b", 2, 6) + "," + entry("c", 9, 12) + "," +
                           entry("c", 12, 13) + "," + entry("in", 3, 4) + "," + entry("none", 1, 1) + "," +
                           entry("edge", 6, 6) + "}";
  header h;
  report const r = reported(made(text, std::string(20, 'x')), &h);
  INFO(r.summary(9));
  CHECK(r.count() == 6);
  CHECK(names(r, "none", "overlaps \"a\""));
  CHECK(names(r, "b", "overlaps \"a\""));
  CHECK(names(r, "in", "overlaps \"b\""));
  CHECK(names(r, "c", "hole of 3 bytes"));
  CHECK(names(r, "c", "appears twice"));
  CHECK(names(r, "", "last 7 bytes"));
  CHECK(r.faults()[2].position == 8 + static_cast<index_t>(text.find("{", text.find("\"b\""))));
}

TEST_CASE("empty and scalar tensors load", "[checkpoint]") {
  std::string const text =
      R"({"a":{"dtype":"F32","shape":[2,0],"data_offsets":[0,0]},"b":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},)"
      R"("s":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})";
  test::temporary_folder const folder;
  test::write_file(folder / "f", made(text, std::string("\0\0\xe0\x40", 4)));
  file const f = file::open(folder / "f");
  header const h = require_header(f);
  REQUIRE(h.entries.size() == 3);
  CHECK((h.find("a")->size() == 0 && h.find("b")->size() == 0 && h.find("s")->size() == 1));
  CHECK((h.find("a")->extents == std::vector<index_t>{2, 0} && h.find("s")->extents.empty()));
  float s = 0;
  read_entry(f, h, *h.find("s"), view<float, 0>(&s, dims<0>()));
  CHECK(s == 7.0f);
  float untouched = 3;
  read_entry(f, h, *h.find("a"), view<float, 2>(&untouched, dims<2>(2, 0)));
  CHECK(untouched == 3);
  CHECK(reported(made("{}", "")));
  CHECK(reported(made(R"({"a":{"dtype":"I64","shape":[0],"data_offsets":[0,0]}}      )", "")));
  std::string const vast = R"({"a":{"dtype":"I64","shape":[4611686018427387904,4611686018427387904,0],)";
  CHECK(reported(made(vast + R"("data_offsets":[0,0]}})", "")));
}

TEST_CASE("a box of an entry is read and nothing else", "[checkpoint]") {
  std::string data;
  for (int i = 0; i < 24; ++i) data += std::string(1, static_cast<char>(i)) + std::string(3, '\0');
  test::temporary_folder const folder;
  test::write_file(folder / "f", made(R"({"m":{"dtype":"I32","shape":[2,3,4],"data_offsets":[0,96]}})", data));
  file const f = file::open(folder / "f");
  header const h = require_header(f);
  std::vector<std::int32_t> out(8, -1);
  any_box const part = erase_rank(make_box({0, 1, 1}, {2, 3, 3}));
  read_box(f, h, *h.find("m"), part, view<std::int32_t, 1>(out.data(), dims<1>(8)));
  CHECK(out == std::vector<std::int32_t>{5, 6, 9, 10, 17, 18, 21, 22});
  std::vector<float> wrong(8);
  CHECK_THROWS_AS(read_box(f, h, *h.find("m"), part, view<float, 1>(wrong.data(), dims<1>(8))), contract_error);
  CHECK_THROWS_AS(read_box(f, h, *h.find("m"), part, view<std::int32_t, 1>(out.data(), dims<1>(7))), contract_error);
  any_box const outside = erase_rank(make_box({0, 1, 1}, {2, 3, 5}));
  out.resize(16);
  view<std::int32_t, 1> const sixteen(out.data(), dims<1>(16));
  CHECK_THROWS_AS(read_box(f, h, *h.find("m"), outside, sixteen), contract_error);
}

TEST_CASE("a file that shrinks after its header was read gives an error, not garbage", "[checkpoint]") {
  test::temporary_folder const folder;
  test::write_file(folder / "f", valid);
  file const f = file::open(folder / "f");
  header const h = require_header(f);
  REQUIRE(::truncate((folder / "f").c_str(), 66) == 0);
  float out[2];
  CHECK_THROWS_WITH(read_entry(f, h, h.entries[0], view<float, 1>(out, dims<1>(2))), Catch::Contains("ends at byte"));
}
