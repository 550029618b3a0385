// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "temporary.hpp"

#include <heddle/checkpoint/safetensors_writer.hpp>

#include <support/catch.hpp>

using namespace heddle;
using namespace heddle::checkpoint;

TEST_CASE("the bytes of a file are defined one by one", "[checkpoint]") {
  test::temporary_folder const folder;
  {
    safetensors_writer w(file::create(folder / "a"), header_padding::none);
    float const data[] = {1.0f, -2.0f};
    w.declare("a", dtype::f32, dims<1>(2));
    w.begin();
    w.append(data, 2);
    w.finish();
    CHECK(w.bytes() == 70);
  }
  std::string const header = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  CHECK(test::read_file(folder / "a") ==
        std::string("\x36\0\0\0\0\0\0\0", 8) + header + std::string("\0\0\x80\x3f\0\0\0\xc0", 8));
  {
    safetensors_writer w(file::create(folder / "b"), header_padding::none);
    bf16 const data[] = {bf16(1.0f), bf16(-2.0f)};
    w.declare("a", dtype::bf16, dims<1>(2));
    w.begin();
    w.append(data, 2);
    w.finish();
  }
  CHECK(test::read_file(folder / "b") == std::string("\x37\0\0\0\0\0\0\0", 8) +
                                             R"({"a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}})" +
                                             std::string("\x80\x3f\0\xc0", 4));
}

TEST_CASE("what was written is read back, empty and scalar tensors too", "[checkpoint]") {
  test::temporary_folder const folder;
  double const m[6] = {0, 1, 2, 3, 4, 5};
  float const s = 7;
  std::uint32_t sum = 0;
  {
    safetensors_writer w(file::create(folder / "f"));
    w.meta("note", "line\n\"two\"");
    w.declare("m", dtype::f64, dims<2>(2, 3));
    w.declare("a", dtype::f32, dims<2>(2, 0));
    w.declare("b", dtype::f32, dims<1>(0));
    w.declare("s", dtype::f32, dims<0>());
    w.begin();
    w.append(m, 2);
    w.append(m + 2, 4);
    w.append(&s, 1);
    w.finish();
    sum = w.checksum();
  }
  std::string const bytes = test::read_file(folder / "f");
  crc32c crc;
  crc.update(bytes.data(), static_cast<index_t>(bytes.size()));
  CHECK(crc.value() == sum);
  file const f = file::open(folder / "f");
  header const h = require_header(f);
  CHECK(h.data_start % 8 == 0);
  CHECK(*h.meta("note") == "line\n\"two\"");
  double got[6] = {};
  read_entry(f, h, *h.find("m"), view<double, 2>(got, dims<2>(2, 3)));
  CHECK(std::vector<double>(got, got + 6) == std::vector<double>(m, m + 6));
  float t = 0;
  read_entry(f, h, *h.find("s"), view<float, 1>(&t, dims<1>(1)));
  CHECK(t == 7);
  CHECK((h.find("a")->extents == std::vector<index_t>{2, 0} && h.find("b")->extents == std::vector<index_t>{0}));
}

TEST_CASE("a file without any tensor", "[checkpoint]") {
  test::temporary_folder const folder;
  {
    safetensors_writer w(file::create(folder / "f"));
    w.begin();
    w.finish();
  }
  CHECK(require_header(file::open(folder / "f")).entries.empty());
}

TEST_CASE("misuse of the writer is refused", "[checkpoint]") {
  test::temporary_folder const folder;
  safetensors_writer w(file::create(folder / "f"));
  float const x[2] = {};
  std::int32_t const i[2] = {};
  CHECK_THROWS_AS(w.append(x, 1), contract_error);
  CHECK_THROWS_AS(w.declare("__metadata__", dtype::f32, dims<1>(1)), contract_error);
  index_t const huge[] = {index_t{1} << 62, 4};
  CHECK_THROWS_AS(w.declare("huge", dtype::f32, huge, 2), contract_error);
  w.declare("a", dtype::f32, dims<1>(2));
  w.begin();
  CHECK_THROWS_AS(w.declare("b", dtype::f32, dims<1>(2)), contract_error);
  CHECK_THROWS_AS(w.append(i, 2), contract_error);
  w.append(x, 1);
  CHECK_THROWS_AS(w.finish(), contract_error);
  CHECK_THROWS_AS(w.append(x, 2), contract_error);
  w.append(x, 1);
  CHECK_THROWS_AS(w.append(x, 1), contract_error);
  CHECK_NOTHROW(w.finish());
  safetensors_writer twice(file::create(folder / "g"));
  twice.declare("a", dtype::f32, dims<1>(2));
  twice.declare("a", dtype::f32, dims<1>(2));
  CHECK_THROWS_AS(twice.begin(), contract_error);
}
