// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/algorithm/partition_by_key.hpp>

#include <support/catch.hpp>
#include <support/executors.hpp>
#include <support/sampled.hpp>

#include <tuple>
#include <vector>

using namespace heddle;

namespace {

using cases = decltype(std::tuple_cat(test::tile_cases{}, std::tuple<test::threads_case<7>>{}));

template <class T>
view<T const, 1> input(std::vector<T> const& v) {
  return view<T const, 1>(v.data(), dims<1>(static_cast<index_t>(v.size())));
}
template <class T>
view<T, 1> output(std::vector<T>& v) {
  return view<T, 1>(v.data(), dims<1>(static_cast<index_t>(v.size())));
}

// The definition, one key after the other.
template <class I>
struct groups {
  std::vector<index_t> counts, offsets, dropped;
  std::vector<I> permutation, inverse;

  groups(index_t n, index_t keys)
      : counts(keys, -7), offsets(keys + 1, -7), dropped(1, -7), permutation(n, -7), inverse(n, -7) {}
  bool operator==(groups const& o) const {
    return counts == o.counts && offsets == o.offsets && dropped == o.dropped && permutation == o.permutation &&
           inverse == o.inverse;
  }
};
template <class I, class K>
groups<I> definition(std::vector<K> const& keys, index_t count) {
  index_t const n = static_cast<index_t>(keys.size());
  groups<I> g(n, count);
  index_t at = 0;
  for (index_t k = 0; k <= count; ++k) {
    index_t const first = at;
    for (index_t i = 0; i < n; ++i) {
      bool const dropped = static_cast<index_t>(keys[i]) == -1;
      if (k < count ? static_cast<index_t>(keys[i]) != k : !dropped) continue;
      g.permutation[at] = static_cast<I>(k < count ? i : -1);
      g.inverse[i] = static_cast<I>(k < count ? at : -1);
      ++at;
    }
    g.offsets[k] = first;
    (k < count ? g.counts[k] : g.dropped[0]) = at - first;
  }
  return g;
}

template <class I, class K, class E>
void expect_groups(E& exec, std::vector<K> const& keys, index_t count) {
  index_t const n = static_cast<index_t>(keys.size());
  groups<I> const want = definition<I>(keys, count);
  groups<I> g(n, count), without(n, count);
  partition_by_key(exec, input(keys), output(g.counts), output(g.offsets), output(g.permutation), output(g.dropped),
                   output(g.inverse));
  partition_by_key(exec, input(keys), output(without.counts), output(without.offsets), output(without.permutation),
                   output(without.dropped));
  exec.synchronize();
  INFO(n << " keys of " << count);
  REQUIRE(g == want);
  without.inverse = want.inverse;
  REQUIRE(without == want);
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("partition_by_key: counts, offsets, permutation, inverse", "[algorithm]", cases) {
  TestType setup;
  for (index_t n : test::sampled({0, 1, 2, 255, 4097, 40001})) {
    std::vector<int> keys;
    for (index_t i = 0; i < n; ++i) keys.push_back(static_cast<int>(i * i % 23 % 9) - 1);
    expect_groups<std::int32_t>(setup.exec, keys, 8);
    expect_groups<std::int32_t>(setup.exec, std::vector<int>(n, -1), 3);
    expect_groups<index_t>(setup.exec, std::vector<int>(n, 2), 3);
  }
  expect_groups<std::int32_t>(setup.exec, std::vector<int>(5, -1), 0);
}

TEMPLATE_LIST_TEST_CASE("partition_by_key of narrow, wide and many keys", "[algorithm]", test::executor_cases) {
  TestType setup;
  std::vector<std::uint8_t> bytes;
  std::vector<std::int64_t> wide;
  std::vector<std::int16_t> many;
  for (index_t i = 0; i < 10000; ++i) {
    bytes.push_back(static_cast<std::uint8_t>(i * 7919 % 256));
    wide.push_back(i * i % 513 - 1);
    many.push_back(static_cast<std::int16_t>(i * 31 % 6000));
  }
  expect_groups<std::int32_t>(setup.exec, bytes, 256);
  expect_groups<index_t>(setup.exec, wide, 512);
  expect_groups<std::int32_t>(setup.exec, many, 6000);
}

TEMPLATE_LIST_TEST_CASE("partition_by_key refuses other keys when it runs", "[algorithm]", test::executor_cases) {
  for (int wrong : {4, -2, 1 << 30}) {
    TestType setup;
    std::vector<int> keys(5000, 1);
    keys[4321] = wrong;
    groups<std::int32_t> g(5000, 4);
    auto const run = [&] {
      partition_by_key(setup.exec, input(keys), output(g.counts), output(g.offsets), output(g.permutation),
                       output(g.dropped));
      setup.exec.synchronize();
    };
    REQUIRE_THROWS_AS(run(), contract_error);
  }
}

TEST_CASE("partition_by_key refuses shapes that don't fit", "[algorithm]") {
  reference_executor exec;
  std::vector<int> const keys(10, 0);
  groups<std::int32_t> g(10, 4);
  std::vector<index_t> short_offsets(4);
  std::vector<std::int32_t> short_output(9);
  REQUIRE_THROWS_AS(partition_by_key(exec, input(keys), output(g.counts), output(short_offsets), output(g.permutation),
                                     output(g.dropped)),
                    contract_error);
  REQUIRE_THROWS_AS(
      partition_by_key(exec, input(keys), output(g.counts), output(g.offsets), output(short_output), output(g.dropped)),
      contract_error);
  REQUIRE_THROWS_AS(partition_by_key(exec, input(keys), output(g.counts), output(g.offsets), output(g.permutation),
                                     output(g.dropped), output(short_output)),
                    contract_error);
}
