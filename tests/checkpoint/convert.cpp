// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "temporary.hpp"

#include <heddle/checkpoint/convert.hpp>
#include <heddle/checkpoint/safetensors_writer.hpp>

#include <support/catch.hpp>

using namespace heddle;
using namespace heddle::checkpoint;

namespace {
// Writes n elements of a type and reads them back as float and double.
template <class Stored>
void exchange(index_t n) {
  std::vector<Stored> data;
  for (index_t i = 0; i < n; ++i) data.push_back(Stored(0.25f * static_cast<float>(i % 29) - 3.0f));
  test::temporary_folder const folder;
  {
    safetensors_writer w(file::create(folder / "f"));
    w.declare("x", dtype_of<Stored>::value, dims<1>(n));
    w.begin();
    w.append(data.data(), n);
    w.finish();
  }
  file const f = file::open(folder / "f");
  header const h = require_header(f);
  std::vector<float> as_float(data.size());
  std::vector<double> as_double(data.size());
  any_box const all = h.entries[0].space();
  read_box_as(f, h, h.entries[0], all, view<float, 1>(as_float.data(), dims<1>(n)));
  read_box_as(f, h, h.entries[0], all, view<double, 1>(as_double.data(), dims<1>(n)));
  int wrong = 0;
  for (std::size_t i = 0; i < data.size(); ++i) {
    wrong += as_float[i] != static_cast<float>(data[i]);
    wrong += as_double[i] != static_cast<double>(as_float[i]);
  }
  CHECK(wrong == 0);
}
}  // namespace

TEMPLATE_TEST_CASE("every float type is read as float and double", "[checkpoint]", float, double, bf16, fp16, fp8_e4m3,
                   fp8_e5m2) {
  for (index_t n : {0, 1, 7, 4095, 4096, 4097, 10000}) exchange<TestType>(n);
}

TEST_CASE("what holds no floats is refused", "[checkpoint]") {
  test::temporary_folder const folder;
  test::write_file(folder / "f", test::made(R"({"x":{"dtype":"I32","shape":[1],"data_offsets":[0,4]}})", "abcd"));
  file const f = file::open(folder / "f");
  header const h = require_header(f);
  float x = 0;
  any_box const all = h.entries[0].space();
  CHECK_THROWS_AS(read_box_as(f, h, h.entries[0], all, view<float, 1>(&x, dims<1>(1))), contract_error);
}
