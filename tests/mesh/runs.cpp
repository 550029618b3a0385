// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/mesh/runs.hpp>

#include <support/catch.hpp>

#include <vector>

using namespace heddle;

namespace {
struct run {
  index_t src, dst, length;
  friend bool operator==(run const&, run const&) = default;
};

template <std::size_t Rank>
std::vector<run> runs(box<Rank> const& part, box<Rank> const& src, box<Rank> const& dst) {
  std::vector<run> out;
  for_each_run(part, src, dst, [&](index_t s, index_t d, index_t n) { out.push_back({s, d, n}); });
  return out;
}

// The value of each element of a box is its position in the whole space.
std::vector<index_t> fill(any_box const& b, any_box const& space) {
  std::vector<index_t> out;
  for_each_run(b, space, b, [&](index_t s, index_t, index_t n) {
    for (index_t i = 0; i < n; ++i) out.push_back(s + i);
  });
  return out;
}
}  // namespace

TEST_CASE("rows merge where both boxes hold them whole", "[mesh]") {
  auto const all = whole(dims<2>(4, 5));
  CHECK(runs(all, all, all) == std::vector<run>{{0, 0, 20}});
  auto const rows = make_box({1, 0}, {3, 5});
  CHECK(runs(rows, all, rows) == std::vector<run>{{5, 0, 10}});
  auto const columns = make_box({0, 1}, {4, 3});
  CHECK(runs(columns, all, columns) == std::vector<run>{{1, 0, 2}, {6, 2, 2}, {11, 4, 2}, {16, 6, 2}});
  CHECK(runs(intersect(rows, columns), rows, columns) == std::vector<run>{{1, 2, 2}, {6, 4, 2}});
  CHECK(runs(box<0>{}, box<0>{}, box<0>{}) == std::vector<run>{{0, 0, 1}});
  CHECK(runs(make_box({2, 2}, {2, 5}), all, all).empty());
  CHECK_THROWS_AS(runs(all, rows, all), contract_error);
}

TEST_CASE("every cut of a tensor can be put together again from every other cut", "[mesh]") {
  index_t const sizes[3] = {5, 3, 4};
  any_box const space = whole(sizes, 3);
  int wrong = 0;
  for (std::size_t from = 0; from < 3; ++from)
    for (std::size_t to = 0; to < 3; ++to)
      for (index_t p = 1; p <= 7; ++p)
        for (index_t q = 1; q <= 5; ++q)
          for (index_t r = 0; r < q; ++r) {
            any_box const want = shard_of(space, to, q, r);
            std::vector<index_t> got(static_cast<std::size_t>(want.size()), -1);
            for (index_t s = 0; s < p; ++s) {
              any_box const have = shard_of<layout::ceil>(space, from, p, s);
              std::vector<index_t> const data = fill(have, space);
              for_each_run(intersect(have, want), have, want, [&](index_t a, index_t b, index_t n) {
                for (index_t i = 0; i < n; ++i)
                  got[static_cast<std::size_t>(b + i)] = data[static_cast<std::size_t>(a + i)];
              });
            }
            wrong += got != fill(want, space);
          }
  CHECK(wrong == 0);
}

TEST_CASE("a flat range splits into few boxes that hold it in order", "[mesh]") {
  index_t const sizes[3] = {4, 3, 5};
  for (std::size_t rank = 0; rank <= 3; ++rank) {
    any_box const space = whole(sizes, rank);
    int wrong = 0;
    for (index_t lo = 0; lo <= space.size(); ++lo)
      for (index_t hi = lo; hi <= space.size(); ++hi) {
        index_t at = lo, boxes = 0;
        for_each_box(space, {lo, hi}, [&](any_box const& b, index_t offset) {
          wrong += offset != at - lo || b.empty() || !contains(space, b);
          for (index_t position : fill(b, space)) wrong += position != at++;
          ++boxes;
        });
        wrong += at != hi || boxes > (rank == 0 ? 1 : 2 * static_cast<index_t>(rank) - 1);
      }
    CHECK(wrong == 0);
  }
  auto none = [](any_box const&, index_t) {};
  CHECK_THROWS_AS(for_each_box(whole(sizes, 1), segment{0, 5}, none), contract_error);
}
