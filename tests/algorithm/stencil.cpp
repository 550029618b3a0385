// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/algorithm/stencil.hpp>
#include <heddle/backend/cpu/stencil.hpp>
#include <heddle/core/bf16.hpp>

#include <support/catch.hpp>
#include <support/executors.hpp>
#include <support/numbers.hpp>
#include <support/random.hpp>

#include <limits>
#include <vector>

using namespace heddle;

namespace {

constexpr float poison = std::numeric_limits<float>::quiet_NaN();

// Where index i of a dimension of n is taken from; -1: the constant.
index_t place(char edge, index_t i, index_t n) {
  if (i >= 0 && i < n) return i;
  if (edge == 'k') return -1;
  if (edge == 'p') return ((i % n) + n) % n;
  return i < 0 ? 0 : n - 1;
}

struct cross {
  template <class N>
  HEDDLE_TILE auto operator()(N const& n) const {
    return fma(n(0, 0), splat<decltype(n(0, 0))>(0.5f), (n(-1, 0) + n(1, 0)) - (n(0, -2) + n(0, 2)));
  }
};
// The same with numbers.
struct plain_cross {
  float operator()(neighbourhood<float> const& n) const { return cross{}(n); }
};

float cross_at(view<float const, 2> const& x, char edge, index_t i, index_t j) {
  index_t const rows = x.extent(0), columns = x.extent(1);
  auto const at = [&](index_t a, index_t b) {
    index_t const r = place(edge, i + a, rows), c = place(edge, j + b, columns);
    return r < 0 || c < 0 ? 7.0f : x(r, c);
  };
  if (edge == 'c' && (i < 2 || j < 2 || i >= rows - 2 || j >= columns - 2)) return x(i, j);
  return fma(at(0, 0), 0.5f, (at(-1, 0) + at(1, 0)) - (at(0, -2) + at(0, 2)));
}

template <class E, class F>
void expect_cross(E& exec, view<float const, 2> const& in, view<float, 2> const& out, F const& f) {
  for (char edge : {'k', 'l', 'p', 'c'}) {
    for (index_t i = 0; i < out.extent(0); ++i)
      for (index_t j = 0; j < out.extent(1); ++j) out(i, j) = poison;
    if (edge == 'k') stencil(exec, in, out, 2, f, constant_edge<float>{7.0f});
    if (edge == 'l') stencil(exec, in, out, 2, f, clamp_edge{});
    if (edge == 'p') stencil(exec, in, out, 2, f, periodic_edge{});
    if (edge == 'c') stencil(exec, in, out, 2, f, copied_edge{});
    exec.synchronize();
    int wrong = 0;
    for (index_t i = 0; i < in.extent(0); ++i)
      for (index_t j = 0; j < in.extent(1); ++j) wrong += out(i, j) != cross_at(in, edge, i, j);
    INFO(edge << " " << in.extent(0) << " x " << in.extent(1));
    REQUIRE(wrong == 0);
  }
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("a stencil over a matrix, with every edge", "[algorithm]", test::tile_cases) {
  TestType setup;
  index_t const shapes[][2] = {{0, 5}, {1, 1}, {1, 40}, {3, 4}, {5, 5}, {33, 70}, {200, 1}};
  for (auto const& s : shapes) {
    std::vector<float> const x = test::random_floats(s[0] * s[1], 3, 1);
    std::vector<float> y(x.size());
    view<float const, 2> const in(x.data(), dims<2>(s[0], s[1]));
    view<float, 2> const out(y.data(), dims<2>(s[0], s[1]));
    expect_cross(setup.exec, in, out, cross{});
    if (s[0] == 33) {
      expect_cross(setup.exec, in, out, plain_cross{});
      expect_cross(setup.exec, transpose(in), transpose(out), cross{});
    }
  }
}

TEMPLATE_LIST_TEST_CASE("a stencil over a vector", "[algorithm]", test::tile_cases) {
  TestType setup;
  auto const slope = [](auto const& n) HEDDLE_LAMBDA { return n(1) - n(-1); };
  for (index_t n : {0, 1, 2, 3, 17, 8192, 8193, 20000}) {
    std::vector<float> const x = test::random_floats(n, 5, 1);
    std::vector<float> y(x.size(), poison);
    stencil(setup.exec, view<float const, 1>(x.data(), dims<1>(n)), view<float, 1>(y.data(), dims<1>(n)), 1, slope,
            periodic_edge{});
    setup.exec.synchronize();
    int wrong = 0;
    for (index_t i = 0; i < n; ++i)
      wrong += y[static_cast<std::size_t>(i)] !=
               x[static_cast<std::size_t>((i + 1) % n)] - x[static_cast<std::size_t>((i + n - 1) % n)];
    INFO(n);
    REQUIRE(wrong == 0);
  }
}

TEMPLATE_LIST_TEST_CASE("a stencil in three dimensions, and other elements", "[algorithm]", test::tile_cases) {
  TestType setup;
  std::vector<std::int32_t> x(3 * 4 * 50), y(x.size(), -1);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::int32_t>(i % 11);
  dims<3> const e(3, 4, 50);
  view<std::int32_t const, 3> const in(x.data(), e);
  auto const sum = [](auto const& n) HEDDLE_LAMBDA { return n(-1, 0, 0) + n(1, 0, 0) + n(0, -1, 1) + n(0, 1, -1); };
  stencil(setup.exec, in, view<std::int32_t, 3>(y.data(), e), 1, sum, constant_edge<int>{100});
  std::vector<bf16> narrow(40), result(40);
  for (std::size_t i = 0; i < narrow.size(); ++i) narrow[i] = bf16(static_cast<float>(i % 7) * 0.1f);
  stencil(
      setup.exec, view<bf16 const, 1>(narrow.data(), dims<1>(40)), view<bf16, 1>(result.data(), dims<1>(40)), 1,
      [](auto const& n) HEDDLE_LAMBDA { return n(-1) + n(0) + n(1); }, clamp_edge{});
  setup.exec.synchronize();
  auto const at = [&](index_t a, index_t b, index_t c) {
    return a < 0 || b < 0 || c < 0 || a >= 3 || b >= 4 || c >= 50 ? 100 : in(a, b, c);
  };
  int wrong = 0;
  for (index_t a = 0; a < 3; ++a)
    for (index_t b = 0; b < 4; ++b)
      for (index_t c = 0; c < 50; ++c)
        wrong += y[static_cast<std::size_t>((a * 4 + b) * 50 + c)] !=
                 at(a - 1, b, c) + at(a + 1, b, c) + at(a, b - 1, c + 1) + at(a, b + 1, c - 1);
  REQUIRE(wrong == 0);
  for (std::size_t i = 0; i < 40; ++i) {
    float const l = static_cast<float>(narrow[i > 0 ? i - 1 : 0]), r = static_cast<float>(narrow[i < 39 ? i + 1 : 39]);
    REQUIRE(result[i].bits == bf16(l + static_cast<float>(narrow[i]) + r).bits);
  }
}

TEMPLATE_LIST_TEST_CASE("a stencil refuses what doesn't fit", "[algorithm]", test::executor_cases) {
  TestType setup;
  std::vector<float> x(12, 1.0f), y(12, 2.0f);
  auto const same = [](auto const& n) HEDDLE_LAMBDA { return n(0); };
  view<float const, 1> const in(x.data(), dims<1>(12));
  REQUIRE_THROWS_AS(stencil(setup.exec, in, view<float, 1>(y.data(), dims<1>(11)), 1, same, clamp_edge{}),
                    contract_error);
  REQUIRE_THROWS_AS(stencil(setup.exec, in, view<float, 1>(y.data(), dims<1>(12)), -1, same, clamp_edge{}),
                    contract_error);
  REQUIRE_THROWS_AS(stencil(setup.exec, in, view<float, 1>(y.data(), dims<1>(12), 0), 1, same, clamp_edge{}),
                    contract_error);
}

TEST_CASE("heat on a bar with cold ends", "[algorithm]") {
  threads_executor exec(2);
  std::vector<float> from(9, 8.0f), to(9, poison);
  // begin heat
  auto const step = [](auto const& n) HEDDLE_LAMBDA { return mul(n(-1) + n(1), splat<decltype(n(0))>(0.5f)); };
  stencil(exec, view<float const, 1>(from.data(), dims<1>(9)), view<float, 1>(to.data(), dims<1>(9)), 1, step,
          constant_edge<float>{0.0f});
  // end heat
  REQUIRE(to == std::vector<float>{4, 8, 8, 8, 8, 8, 8, 8, 4});
}
