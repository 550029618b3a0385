// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/algorithm/scan.hpp>

#include <support/catch.hpp>
#include <support/executors.hpp>
#include <support/numbers.hpp>

#include <limits>
#include <vector>

using namespace heddle;

namespace {

template <class T>
view<T const, 1> input(std::vector<T> const& v) {
  return view<T const, 1>(v.data(), dims<1>(static_cast<index_t>(v.size())));
}
template <class T>
view<T, 1> output(std::vector<T>& v) {
  return view<T, 1>(v.data(), dims<1>(static_cast<index_t>(v.size())));
}

// x -> a x + b mod 97, first the left one, then the right one.
struct affine {
  int a, b;
  bool operator==(affine const& o) const { return a == o.a && b == o.b; }
};
struct affine_monoid {
  using value_type = affine;
  static constexpr bool commutative = false, exact = true;
  int* misuse;
  affine identity() const { return {1, 0}; }
  affine combine(affine const& l, affine const& r) const {
    if (l.a == 0 || r.a == 0 || l.a >= 97 || r.a >= 97 || l.b >= 97 || r.b >= 97) ++*misuse;
    return {r.a * l.a % 97, (r.a * l.b + r.b) % 97};
  }
};
struct last_mark {
  using value_type = int;
  static constexpr bool commutative = false, exact = true;
  int identity() const { return -1; }
  int combine(int const& l, int const& r) const { return r == -1 ? l : r; }
};

std::vector<affine> affine_elements(index_t n) {
  std::vector<affine> v;
  for (index_t i = 0; i < n; ++i) v.push_back({static_cast<int>(i % 7) + 1, static_cast<int>(i * i % 11)});
  return v;
}

// The order of sums of floats, from its definition.
std::vector<float> scan_of(std::vector<float> const& x) {
  std::vector<float> y;
  float carry = 0;
  for (std::size_t block = 0; block < x.size(); block += 4096) {
    float running = 0;
    for (std::size_t group = block; group < x.size() && group < block + 4096; group += 16) {
      std::vector<float> lanes;
      for (std::size_t e = group; e < x.size() && e < group + 16; ++e) lanes.push_back(x[e]);
      for (std::size_t d = 1; d < 16; d *= 2) {
        std::vector<float> next = lanes;
        for (std::size_t i = d; i < lanes.size(); ++i) next[i] = lanes[i - d] + lanes[i];
        lanes = next;
      }
      for (float& v : lanes) v = group == block ? v : running + v;
      running = lanes.back();
      for (float v : lanes) y.push_back(block == 0 ? v : carry + v);
    }
    carry = y.back();
  }
  return y;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("AL-1: scans of operators that don't commute", "[algorithm]", test::tile_cases) {
  TestType setup;
  index_t const sizes[] = {1, 2, 255, 256, 257, 1000, 1537};
  affine const last[] = {{1, 0}, {2, 1}, {91, 74}, {73, 9}, {74, 54}, {45, 79}, {16, 83}};
  affine const first[] = {{1, 0}, {2, 1}, {6, 7}, {24, 37}, {23, 93}, {41, 76}};
  for (int s = 0; s < 7; ++s) {
    std::vector<affine> const x = affine_elements(sizes[s]);
    std::vector<affine> y(x.size(), affine{0, 0}), in_place = x, z(x.size(), affine{0, 0}), z_in_place = x;
    int misuse = 0;
    affine_monoid const m{&misuse};
    inclusive_scan(setup.exec, input(x), output(y), m);
    inclusive_scan(setup.exec, input(in_place), output(in_place), m);
    exclusive_scan(setup.exec, input(x), output(z), m);
    exclusive_scan(setup.exec, input(z_in_place), output(z_in_place), m);
    setup.exec.synchronize();
    REQUIRE(misuse == 0);
    REQUIRE(y.back() == last[s]);
    for (std::size_t i = 0; i < 6 && i < y.size(); ++i) REQUIRE(y[i] == first[i]);
    REQUIRE(in_place == y);
    REQUIRE(z[0] == affine{1, 0});
    for (std::size_t i = 1; i < z.size(); ++i) REQUIRE(z[i] == y[i - 1]);
    REQUIRE(z_in_place == z);
  }
  std::vector<int> const marks = {-1, 4, -1, -1, 7, -1, 2, -1};
  std::vector<int> seen(8, 0);
  inclusive_scan(setup.exec, input(marks), output(seen), last_mark{});
  setup.exec.synchronize();
  REQUIRE(seen == std::vector<int>{-1, 4, 4, 4, 7, 7, 2, 2});
}

TEMPLATE_LIST_TEST_CASE("AL-1: carries of operators that don't commute stand on the left", "[algorithm]",
                        test::tile_cases) {
  TestType setup;
  for (index_t const n : {4095, 4096, 4097, 9001}) {
    std::vector<affine> const x = affine_elements(n);
    std::vector<affine> y(x.size(), affine{0, 0}), z(x.size(), affine{0, 0});
    int misuse = 0;
    affine_monoid const m{&misuse};
    affine const init{5, 3};
    for (bool const starts : {false, true}) {
      if (starts) {
        inclusive_scan(setup.exec, input(x), output(y), m, init);
        exclusive_scan(setup.exec, input(x), output(z), m, init);
      } else {
        inclusive_scan(setup.exec, input(x), output(y), m);
        exclusive_scan(setup.exec, input(x), output(z), m);
      }
      setup.exec.synchronize();
      REQUIRE(misuse == 0);
      affine so_far = starts ? init : affine{1, 0};
      index_t wrong = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        wrong += !(z[i] == so_far);
        so_far = m.combine(so_far, x[i]);
        wrong += !(y[i] == so_far);
      }
      REQUIRE(wrong == 0);
    }
    std::vector<int> marks(x.size(), -1), seen(x.size(), 0);
    marks[2] = 7;
    marks[x.size() - 5] = 9;
    inclusive_scan(setup.exec, input(marks), output(seen), last_mark{});
    setup.exec.synchronize();
    REQUIRE((seen[1] == -1 && seen[x.size() - 6] == 7 && seen.back() == 9));
  }
}

template <class Init, class M>
concept exclusive_scannable = requires(serial_executor& e, view<double, 1> v, M m, Init init) {
  exclusive_scan(e, v, v, m, init);
};

TEMPLATE_LIST_TEST_CASE("AL-2: the type of the running value is named", "[algorithm]", test::tile_cases) {
  TestType setup;
  STATIC_REQUIRE_FALSE(exclusive_scannable<int, plus<double>>);
  STATIC_REQUIRE(exclusive_scannable<double, plus<double>>);
  std::vector<std::int64_t> const big = {std::int64_t{1} << 40, 5, 7};
  std::vector<std::int64_t> big_out(3, -1);
  exclusive_scan(setup.exec, input(big), output(big_out), plus<std::int64_t>{}, std::int64_t{0});
  std::vector<double> const parts = {0.5, 0.25, 2};
  std::vector<double> parts_out(3, -1);
  exclusive_scan(setup.exec, input(parts), output(parts_out), plus<double>{}, 0.0);
  std::vector<std::uint8_t> const ones(300, 1);
  std::vector<std::int32_t> counts(300, -1);
  inclusive_scan(setup.exec, input(ones), output(counts), plus<std::int32_t>{});
  setup.exec.synchronize();
  REQUIRE(big_out == std::vector<std::int64_t>{0, std::int64_t{1} << 40, (std::int64_t{1} << 40) + 5});
  REQUIRE(parts_out == std::vector<double>{0, 0.5, 0.75});
  for (int i = 0; i < 300; ++i) REQUIRE(counts[i] == i + 1);
}

TEMPLATE_LIST_TEST_CASE("scans of floats follow the order of blocks and groups", "[algorithm]", test::tile_cases) {
  TestType setup;
  for (index_t n : {0, 1, 15, 16, 17, 33, 4095, 4096, 4097, 9000}) {
    std::vector<float> const x = test::random_floats(n, 11, 1), want = scan_of(x);
    std::vector<float> y(n, std::numeric_limits<float>::quiet_NaN()), z = y;
    inclusive_scan(setup.exec, input(x), output(y), plus<float>{});
    exclusive_scan(setup.exec, input(x), output(z), plus<float>{}, 0.5f);
    setup.exec.synchronize();
    INFO(n);
    REQUIRE(test::same_bits(y, want));
    if (n == 0) continue;
    REQUIRE(z[0] == 0.5f);
    std::vector<float> shifted(n, std::numeric_limits<float>::quiet_NaN());
    inclusive_scan(setup.exec, input(x), output(shifted), plus<float>{}, 0.5f);
    setup.exec.synchronize();
    for (index_t i = 1; i < n; ++i) REQUIRE(z[i] == shifted[i - 1]);
  }
}

TEMPLATE_LIST_TEST_CASE("scans of strided views, and of views that don't fit", "[algorithm]", test::tile_cases) {
  TestType setup;
  std::vector<int> v = {1, -9, 2, -9, 3, -9}, w(3, 0);
  inclusive_scan(setup.exec, view<int const, 1>(v.data(), dims<1>(3), 2), output(w), plus<int>{});
  inclusive_scan(setup.exec, input(w), view<int, 1>(v.data() + 1, dims<1>(3), 2), maximum<int>{});
  setup.exec.synchronize();
  REQUIRE(w == std::vector<int>{1, 3, 6});
  REQUIRE(v == std::vector<int>{1, 1, 2, 3, 3, 6});
  REQUIRE_THROWS_AS(inclusive_scan(setup.exec, input(v), output(w), plus<int>{}), contract_error);
}
