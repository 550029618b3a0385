// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/algorithm/csr.hpp>

#include <support/catch.hpp>

#include <vector>

using namespace heddle;

namespace {

struct matrix {
  std::vector<std::int32_t> offsets, columns;
  std::vector<float> values;
  csr_view<float, std::int32_t> view() const {
    auto const n = [](auto const& v) { return dims<1>(static_cast<index_t>(v.size())); };
    return {heddle::view<std::int32_t const, 1>(offsets.data(), n(offsets)),
            heddle::view<std::int32_t const, 1>(columns.data(), n(columns)),
            heddle::view<float const, 1>(values.data(), n(values)), 4};
  }
};

}  // namespace

TEST_CASE("what is wrong with a structure is said", "[algorithm]") {
  matrix a{{0, 2, 5}, {0, 3, 1, 2, 3}, std::vector<float>(5, 1.0f)};
  REQUIRE(check(a.view()));
  a.offsets = {1, 0, 9};
  a.columns[1] = 4, a.columns[3] = -1;
  csr_report const r = check(a.view());
  REQUIRE_FALSE(r);
  REQUIRE(r.count == 5);
  REQUIRE(r.items[0].what == csr_fault::first_offset);
  REQUIRE(r.items[1].what == csr_fault::falling_offset);
  REQUIRE(r.items[1].position == 1);
  REQUIRE(r.items[2].what == csr_fault::last_offset);
  REQUIRE(r.items[3].what == csr_fault::column_outside);
  REQUIRE(r.items[4].position == 3);
  REQUIRE(r.items[4].value == -1);
  REQUIRE_THAT(r.summary().c_str(), test::has_text("and 2 more"));
  matrix many{{0, 100}, std::vector<std::int32_t>(100, 0), std::vector<float>(100, 1.0f)};
  for (auto& c : many.columns) c = 9;
  REQUIRE(check(many.view()).count == 100);
  REQUIRE(check(many.view()).kept() == 16);
  many.columns.pop_back();
  REQUIRE(check(many.view()).items[0].what == csr_fault::extents_differ);
  many.offsets.clear();
  REQUIRE(check(many.view()).items[0].what == csr_fault::no_offsets);
}
