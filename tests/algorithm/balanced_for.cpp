// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/algorithm/balanced_for.hpp>
#include <heddle/exec/plan.hpp>

#include <support/catch.hpp>
#include <support/executors.hpp>
#include <support/random.hpp>

#include <vector>

using namespace heddle;

namespace {

/// Counts calls; ranks are written by item.
struct counting_visitor {
  int *begins, *ends, *items;
  index_t *ranks, *owners;
  void begin(index_t s) { ++begins[s]; }
  void item(index_t s, index_t rank, index_t item) {
    ++items[item];
    ranks[item] = rank;
    owners[item] = s;
  }
  void end(index_t s) { ++ends[s]; }
};

template <class I>
std::vector<I> offsets_of(std::vector<index_t> const& lengths) {
  std::vector<I> o = {0};
  for (index_t l : lengths) o.push_back(static_cast<I>(o.back() + l));
  return o;
}
template <class I>
view<I const, 1> input(std::vector<I> const& v) {
  return view<I const, 1>(v.data(), dims<1>(static_cast<index_t>(v.size())));
}

std::vector<std::vector<index_t>> shapes() {
  std::vector<std::vector<index_t>> all = {{}, {0}, {1}, {0, 0, 0}, {5}, {1000}, {0, 3, 0, 0, 70, 1, 0}};
  std::vector<index_t> mixed;
  for (index_t i = 0; i < 301; ++i) mixed.push_back(i % 50 == 7 ? 900 : test::random_below(3, i, 6));
  all.push_back(mixed);
  return all;
}

template <class I, class E, class Schedule>
void expect_every_call_once(E& exec, std::vector<index_t> const& lengths, Schedule const& schedule) {
  std::vector<I> const o = offsets_of<I>(lengths);
  std::size_t const n = lengths.size(), items = static_cast<std::size_t>(o.back());
  std::vector<int> begins(n + 1, 0), ends(n + 1, 0), seen(items + 1, 0);
  std::vector<index_t> ranks(items + 1, -1), owners(items + 1, -1);
  balanced_for(exec, input(o), schedule,
               counting_visitor{begins.data(), ends.data(), seen.data(), ranks.data(), owners.data()});
  exec.synchronize();
  begins.pop_back(), ends.pop_back();
  REQUIRE(begins == std::vector<int>(n, 1));
  REQUIRE(ends == std::vector<int>(n, 1));
  for (std::size_t s = 0; s < n; ++s)
    for (I i = o[s]; i < o[s + 1]; ++i) {
      REQUIRE(seen[static_cast<std::size_t>(i)] == 1);
      REQUIRE(ranks[static_cast<std::size_t>(i)] == i - o[s]);
      REQUIRE(owners[static_cast<std::size_t>(i)] == static_cast<index_t>(s));
    }
  REQUIRE(seen[items] == 0);
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("balanced_for calls begin, every item and end once", "[algorithm]", test::tile_cases) {
  TestType setup;
  for (auto const& lengths : shapes()) {
    expect_every_call_once<std::int32_t>(setup.exec, lengths, segment_mapped{});
    expect_every_call_once<std::int64_t>(setup.exec, lengths, segment_mapped{3});
    expect_every_call_once<std::int32_t>(setup.exec, lengths, merge_path{});
    for (index_t pieces : {1, 2, 5, 64, 1000})
      expect_every_call_once<std::int64_t>(setup.exec, lengths, merge_path{pieces});
    expect_every_call_once<std::int32_t>(setup.exec, lengths, lpt{});
    expect_every_call_once<std::int64_t>(setup.exec, lengths, lpt{4});
  }
}

TEMPLATE_LIST_TEST_CASE("one copy of the visitor sees a whole segment in order", "[algorithm]", test::tile_cases) {
  TestType setup;
  std::vector<index_t> const lengths = shapes().back();
  std::vector<std::int32_t> const o = offsets_of<std::int32_t>(lengths);
  std::vector<index_t> values(static_cast<std::size_t>(o.back())), want;
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<index_t>(i % 13);
  for (std::size_t s = 0; s < lengths.size(); ++s) {
    index_t sum = 0;
    for (index_t r = 0; r < lengths[s]; ++r)
      sum = static_cast<index_t>(static_cast<std::uint64_t>(sum) * 3) + values[static_cast<std::size_t>(o[s] + r)] % 2;
    want.push_back(lengths[s] < 20 ? sum : 0);
  }
  struct short_sums {
    index_t const* values;
    index_t* sums;
    index_t sum, count;
    void begin(index_t) { sum = count = 0; }
    void item(index_t, index_t, index_t item) {
      if (++count < 20) sum = sum * 3 + values[item] % 2;
    }
    void end(index_t s) { sums[s] = count < 20 ? sum : 0; }
  };
  for (int schedule = 0; schedule < 2; ++schedule) {
    std::vector<index_t> sums(lengths.size(), -1);
    short_sums const visitor{values.data(), sums.data(), -7, -7};
    if (schedule == 0)
      balanced_for(setup.exec, input(o), segment_mapped{}, visitor);
    else
      balanced_for(setup.exec, input(o), lpt{}, visitor);
    setup.exec.synchronize();
    REQUIRE(sums == want);
  }
}

TEMPLATE_LIST_TEST_CASE("offsets that fall, or don't start at 0, are refused", "[algorithm]", test::executor_cases) {
  TestType setup;
  counting_visitor const never{nullptr, nullptr, nullptr, nullptr, nullptr};
  for (std::vector<std::int32_t> const& o : std::vector<std::vector<std::int32_t>>{{1, 2}, {0, 3, 2}, {0, -1}, {1}}) {
    auto const submit = [&] {
      balanced_for(setup.exec, input(o), merge_path{}, never);
      setup.exec.synchronize();
    };
    REQUIRE_THROWS_AS(submit(), contract_error);
  }
  std::vector<std::int32_t> const none, one = {0};
  REQUIRE_THROWS_AS(balanced_for(setup.exec, input(none), merge_path{}, never), contract_error);
  REQUIRE_THROWS_AS(balanced_for(setup.exec, input(std::vector<std::int32_t>{0, 1}), merge_path{-1}, never),
                    contract_error);
}

TEST_CASE("offsets may be the result of work before", "[algorithm]") {
  test::queued_serial_case setup;
  std::vector<std::int32_t> o(4, -1);
  std::vector<int> begins(4, 0), ends(4, 0), items(8, 0);
  std::vector<index_t> ranks(8, -1), owners(8, -1);
  setup.exec.for_each_tile(1, [to = o.data()](index_t, int) {
    for (int i = 0; i < 4; ++i) to[i] = 2 * i;
  });
  balanced_for(setup.exec, input(o), merge_path{},
               counting_visitor{begins.data(), ends.data(), items.data(), ranks.data(), owners.data()});
  setup.exec.synchronize();
  REQUIRE(owners == std::vector<index_t>{0, 0, 1, 1, 2, 2, -1, -1});
}

TEST_CASE("lpt gives the longest segments away first", "[algorithm]") {
  serial_executor exec;
  // Bins of 2: 9 | 7, then 6 to the second, 5 to the first, 1 to the second.
  std::vector<index_t> const lengths = {5, 9, 1, 7, 6};
  std::vector<std::int32_t> const o = offsets_of<std::int32_t>(lengths);
  std::vector<index_t> order;
  struct noting {
    std::vector<index_t>* to;
    void begin(index_t s) { to->push_back(s); }
    void item(index_t, index_t, index_t) {}
    void end(index_t) {}
  };
  balanced_for(exec, input(o), lpt{2}, noting{&order});
  REQUIRE(order == std::vector<index_t>{1, 0, 3, 4, 2});
}

TEST_CASE("balanced_for plans its scratch", "[algorithm]") {
  threads_executor exec(2);
  std::vector<std::int32_t> const o = {0, 1, 2, 3};
  counting_visitor const never{nullptr, nullptr, nullptr, nullptr, nullptr};
  REQUIRE(plan(exec, [&] { balanced_for(exec, input(o), merge_path{}, never); }).scratch_bytes == 128);
  // A line of 64 bytes for each worker's program; six numbers of three segments and six of two bins, in whole lines.
  REQUIRE(plan(exec, [&] { balanced_for(exec, input(o), lpt{}, never); }).scratch_bytes == 256);
}

TEST_CASE("the lengths of segments", "[algorithm]") {
  threads_executor exec(2);
  std::vector<std::int32_t> const offsets = {0, 3, 3, 10};
  std::vector<index_t> lengths(3, -1);
  // begin lengths
  struct measure {
    index_t* lengths;
    index_t count;
    void begin(index_t) { count = 0; }
    void item(index_t, index_t, index_t) { ++count; }
    void end(index_t segment) { lengths[segment] = count; }
  };
  balanced_for(exec, input(offsets), segment_mapped{}, measure{lengths.data(), 0});  // offsets 0, 3, 3, 10
  // end lengths
  REQUIRE(lengths == std::vector<index_t>{3, 0, 7});
}
