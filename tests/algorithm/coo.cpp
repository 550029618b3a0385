// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/algorithm/coo.hpp>
#include <heddle/algorithm/sparse.hpp>
#include <heddle/backend/cpu/sparse.hpp>

#include <support/catch.hpp>
#include <support/executors.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

using namespace heddle;

namespace {
struct entry {
  std::int32_t row, column;
  float value;
};

template <class T>
view<T, 1> whole(std::vector<T>& v) {
  return view<T, 1>(v.data(), dims<1>(static_cast<index_t>(v.size())));
}

/// n entries over `rows` rows; what stands in an entry tells its place in the list.
std::vector<entry> entries(index_t n, std::int32_t rows, unsigned seed) {
  std::vector<entry> all;
  for (index_t i = 0; i < n; ++i) {
    seed = seed * 1664525u + 1013904223u;
    all.push_back({static_cast<std::int32_t>((seed >> 8) % static_cast<unsigned>(rows)),
                   static_cast<std::int32_t>(i % 1000), static_cast<float>(i)});
  }
  return all;
}
}  // namespace

TEMPLATE_LIST_TEST_CASE("entries are grouped by rows in the order of the list", "[algorithm]", test::tile_cases) {
  TestType setup;
  for (index_t n : {0, 1, 2, 255, 4097, 9000})
    for (std::int32_t rows : {1, 3, 700}) {
      std::vector<entry> list = entries(n, rows, 7);
      std::vector<entry> want = list;
      std::stable_sort(want.begin(), want.end(), [](entry const& a, entry const& b) { return a.row < b.row; });
      std::vector<std::int32_t> offsets(static_cast<std::size_t>(rows) + 1, -77);
      std::vector<index_t> columns(static_cast<std::size_t>(n), -77);
      std::vector<double> values(static_cast<std::size_t>(n), -77);
      coo_to_csr(setup.exec, whole(list), whole(offsets), whole(columns), whole(values));
      setup.exec.synchronize();
      REQUIRE(offsets.front() == 0);
      REQUIRE(offsets.back() == n);
      bool right = true;
      for (std::int32_t r = 0; r < rows; ++r)
        for (std::int32_t e = offsets[r]; e < offsets[r + 1]; ++e)
          right = right && want[e].row == r && want[e].column == columns[e] && want[e].value == values[e];
      REQUIRE(right);
    }
}

TEST_CASE("a list of entries without rows, and outputs of the wrong extents", "[algorithm]") {
  serial_executor exec;
  std::vector<entry> list = entries(3, 2, 1);
  std::vector<index_t> offsets(1, -77), columns(3), none;
  std::vector<float> values(3), fewer(2);
  coo_to_csr(exec, whole(list), whole(offsets), whole(columns), whole(values));
  REQUIRE(offsets[0] == 0);  // the rows are outside: no offset covers them
  REQUIRE_THROWS_AS(coo_to_csr(exec, whole(list), whole(none), whole(columns), whole(values)), contract_error);
  REQUIRE_THROWS_AS(coo_to_csr(exec, whole(list), whole(offsets), whole(columns), whole(fewer)), contract_error);
}

TEST_CASE("a product with a matrix that is a list", "[algorithm]") {
  threads_executor exec(2);
  std::vector<index_t> offsets(4), columns(4);
  std::vector<float> values(4), x = {1, 10}, y(3, -77.0f);
  // begin list
  std::vector<entry> list = {{2, 0, 3.0f}, {0, 1, 2.0f}, {2, 1, -1.0f}, {0, 0, 5.0f}};  // row, column, value
  coo_to_csr(exec, whole(list), whole(offsets), whole(columns), whole(values));
  spmv(exec, csr_view<float, index_t>{whole(offsets), whole(columns), whole(values), 2}, whole(x), whole(y));
  // end list
  REQUIRE(y == std::vector<float>{25, 0, -7});
}
