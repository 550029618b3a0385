// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/nn/cross_entropy.hpp>

#include "results.hpp"

namespace heddle {
namespace {

using test::column;
using test::inf;
using test::input;
using test::matrix;
using test::qnan;

/// Everything that a loss gives: per row, summed, and its gradient.
struct outcome {
  std::vector<float> loss, lse, gradient;
  float sum = 0;
  std::int64_t count = 0;
};

/// Runs forward, total and backward of `rows` rows on one executor, with poisoned outputs.
template <class E>
outcome run(E& exec, std::vector<float> const& logits, std::vector<std::int32_t> const& targets,
            nn::cross_entropy_options const& o = {}, float scale = 1) {
  index_t const rows = static_cast<index_t>(targets.size()), columns = static_cast<index_t>(logits.size()) / rows;
  test::buffer<std::int64_t> count(1);
  auto const x = matrix(logits.data(), rows, columns);
  auto const t = column(targets.data(), rows);
  auto const all = [&](auto& e, float* dx, float* s) {
    nn::cross_entropy(e, x, t, column(s, rows), column(s + rows, rows), o);
    nn::cross_entropy_total(e, column(s, rows), t, column(s + 2 * rows, 1), count.view(), o);
    nn::cross_entropy_backward(e, x, t, column(s + rows, rows), column<float const>(&scale, 1),
                               matrix(dx, rows, columns), o);
    e.synchronize();
  };
  auto const got = test::results_of<float, float>(exec, rows * columns, 2 * rows + 1, all);
  REQUIRE(count.intact());
  auto const s = got.s.begin();
  return {{s, s + rows}, {s + rows, s + 2 * rows}, got.y, got.s.back(), count[0]};
}

/// The same on the oracle too, with equal bits.
template <class E>
outcome run_both(E& exec, std::vector<float> const& logits, std::vector<std::int32_t> const& targets,
                 nn::cross_entropy_options const& o = {}, float scale = 1) {
  reference_executor oracle;
  outcome const want = run(oracle, logits, targets, o, scale), got = run(exec, logits, targets, o, scale);
  REQUIRE(test::first_difference(got.loss, want.loss) == -1);
  REQUIRE(test::first_difference(got.lse, want.lse) == -1);
  REQUIRE(test::first_difference(got.gradient, want.gradient) == -1);
  REQUIRE(test::comparable_bits(got.sum) == test::comparable_bits(want.sum));
  REQUIRE(got.count == want.count);
  return got;
}

void check_tight(std::vector<float> const& got, std::vector<double> const& want) {
  REQUIRE(got.size() == want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i, got[i], want[i]);
    REQUIRE(std::abs(got[i] - want[i]) <= std::fmax(1e-6 * std::abs(want[i]), 1e-7));
  }
}

}  // namespace

// NU-1: a mean over all three rows would give 0.19248.
TEMPLATE_LIST_TEST_CASE("ignored targets are neither read nor counted", "[nn]", test::tile_cases) {
  TestType setup;
  std::vector<float> const x = {2, 1, 0, 5, 5, 5, 0, 1, 3};
  outcome const got = run_both(setup.exec, x, {0, -100, 2}, {}, 0.5f);  // the mean of two rows
  check_tight({got.sum}, {0.5774519840006662});
  REQUIRE(got.count == 2);
  REQUIRE(got.loss[1] == 0);
  check_tight(got.gradient, {-0.167379522, 0.122364236, 0.045015287, 0, 0, 0, 0.021005033, 0.057097600, -0.078102633});
}

TEMPLATE_LIST_TEST_CASE("a step of ignored targets alone is 0 with gradient 0", "[nn]", test::tile_cases) {
  TestType setup;
  nn::cross_entropy_options other;
  other.ignore_index = 255;
  for (auto const& o : {nn::cross_entropy_options{}, other}) {
    // What an ignored row holds doesn't matter.
    outcome const got = run_both(setup.exec, {2, 1, 0, qnan, inf, 5, -inf, -inf, -inf},
                                 std::vector<std::int32_t>(3, o.ignore_index), o);
    REQUIRE(got.sum == 0);
    REQUIRE(got.count == 0);
    for (float g : got.gradient) REQUIRE(g == 0);
  }
  for (std::int32_t const wrong : {7, -4, 3}) {
    REQUIRE_THROWS_AS(run(setup.exec, {2, 1, 0, 5, 5, 5}, {0, wrong}), contract_error);
    REQUIRE_NOTHROW(setup.exec.synchronize());
  }
}

// NU-2.
TEMPLATE_LIST_TEST_CASE("huge logits", "[nn]", test::tile_cases) {
  TestType setup;
  std::vector<float> const x = {1000, 0, -1000};
  for (std::int32_t t = 0; t < 3; ++t) check_tight(run_both(setup.exec, x, {t}).loss, {1000.0 * t});
  nn::cross_entropy_options o;
  o.smoothing = 0.1;
  check_tight(run_both(setup.exec, x, {0}, o).loss, {100});
  // The logarithm of the sum is that of what is there.
  CHECK(run_both(setup.exec, {0, -inf}, {0}).lse[0] == 0);
  CHECK(run_both(setup.exec, {-inf, 0, -inf}, {1}).lse[0] == 0);
  CHECK(run_both(setup.exec, {-inf, -inf, -inf}, {0}).lse[0] == -inf);
  outcome const largest = run_both(setup.exec, {3e38f, -3e38f, 3e38f}, {0});
  CHECK(largest.loss[0] == 0);  // log 2 is lost beside 3e38
  check_tight(largest.gradient, {0, 0, 1});
}

TEMPLATE_LIST_TEST_CASE("rows with infinities and NaN", "[nn]", test::tile_cases) {
  TestType setup;
  nn::cross_entropy_options plain, smooth;
  smooth.smoothing = 0.25;
  smooth.z_loss = 0.5;
  for (auto const& o : {plain, smooth}) {
    outcome const none = run_both(setup.exec, {-inf, -inf, -inf}, {1}, o);  // every class has probability 0
    CHECK(none.lse[0] == -inf);
    CHECK(none.loss[0] == inf);
    for (float g : none.gradient) CHECK(g == 0);
  }
  outcome const hit = run_both(setup.exec, {0, -inf, 0}, {1});
  CHECK(hit.loss[0] == inf);
  check_tight(hit.gradient, {0.5, -1, 0.5});
  outcome const miss = run_both(setup.exec, {-inf, 0, -inf}, {1});
  CHECK(miss.loss[0] == 0);
  CHECK(miss.lse[0] == 0);
  check_tight(miss.gradient, {0, 0, 0});
  outcome const bad = run_both(setup.exec, {0, qnan, 0, 2, 1, 0}, {0, 0});  // only its own row
  CHECK(std::isnan(bad.loss[0]));
  CHECK(std::isnan(bad.gradient[2]));
  check_tight({bad.loss[1]}, {0.4076059644443803});
}

// NU-3: counting the padding would give 3.19867, and with the cap 2.87451; a mask before the cap 1.76106.
TEMPLATE_LIST_TEST_CASE("padding columns take no part", "[nn]", test::tile_cases) {
  TestType setup;
  for (float const padding : {0.0f, inf, qnan}) {
    std::vector<float> x = {-3, -2, -4, -2.5f, -3.5f, padding, padding, padding};
    nn::cross_entropy_options o;
    o.classes = 5;
    outcome const got = run_both(setup.exec, x, {1}, o);
    check_tight(got.loss, {0.8471016458251504});
    check_tight(got.gradient, {0.157693556, -0.571344471, 0.058012217, 0.259992721, 0.095645977, 0, 0, 0});
    o.soft_cap = 2;
    outcome const capped = run_both(setup.exec, x, {1}, o);
    check_tight(capped.loss, {1.3753083627849254});
    check_tight(capped.gradient, {0.034276445, -0.313820938, 0.011912337, 0.059595665, 0.020079064, 0, 0, 0});
    REQUIRE_THROWS_AS(run(setup.exec, x, {5}, o), contract_error);
    REQUIRE_NOTHROW(setup.exec.synchronize());
  }
}

TEMPLATE_LIST_TEST_CASE("cross entropy of any extents gives the oracle's bits", "[nn]", test::tile_cases) {
  TestType setup;
  nn::cross_entropy_options o;
  o.smoothing = 0.1;
  o.z_loss = 1e-3;
  for (auto const& shape : test::shapes) {
    index_t const rows = shape[0], columns = shape[1];
    if (rows == 0) continue;
    CAPTURE(rows, columns);
    input<float> x(rows * columns, 3, -8, 8);
    std::vector<float> const logits(x.begin(), x.end());
    std::vector<std::int32_t> targets;
    for (index_t r = 0; r < rows; ++r) targets.push_back(static_cast<std::int32_t>(test::random_below(4, r, columns)));
    outcome const got = run_both(setup.exec, logits, targets, o, 0.5f);
    double sum = 0;
    for (float l : got.loss) sum += l;
    REQUIRE(std::abs(got.sum - sum) <= test::depth(rows) * test::u * sum);
    o.smoothing = o.z_loss = 0;
    run_both(setup.exec, logits, targets, o, 0.5f);
  }
  test::check_strided_map<float>(setup.exec, true, [&](auto& e, auto logits, auto gradient) {
    std::int32_t const t[] = {0, 76, -100, 3, 40, 5};
    float const lse[] = {1, 2, 3, 4, 5, 6}, scale = 2;
    nn::cross_entropy_backward(e, logits, column(t, 6), column(lse, 6), column(&scale, 1), gradient);
    e.synchronize();
  });
}

TEST_CASE("cross entropy of no rows, and of what does not fit", "[nn]") {
  reference_executor exec;
  float x[6] = {}, s[3] = {7, 7, 7}, l[3] = {}, scale = 1;
  std::int32_t t[3] = {};
  std::int64_t count = -1;
  auto const loss = [&](index_t rows, index_t columns, index_t targets, nn::cross_entropy_options const& o = {}) {
    nn::cross_entropy(exec, matrix<float const>(x, rows, columns), column<std::int32_t const>(t, targets),
                      column(s, rows), column(l, rows), o);
  };
  loss(0, 3, 0);
  nn::cross_entropy_total(exec, column<float const>(s, 0), column<std::int32_t const>(t, 0), column(s, 1),
                          column(&count, 1));
  CHECK(s[0] == 0);
  CHECK(s[1] == 7);
  CHECK(count == 0);
  CHECK_THROWS_AS(loss(2, 3, 3), contract_error);
  CHECK_THROWS_AS(loss(2, 0, 2), contract_error);
  nn::cross_entropy_options o;
  o.classes = 4;
  CHECK_THROWS_AS(loss(2, 3, 2, o), contract_error);
  o = {};
  o.smoothing = 1;
  CHECK_THROWS_AS(loss(2, 3, 2, o), contract_error);
  o = {};
  o.soft_cap = -1;
  CHECK_THROWS_AS(loss(2, 3, 2, o), contract_error);
  double const infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  for (double wrong : {-1.0, nan, infinity, 1e300, 1e-60}) {  // the last two are no floats
    o = {};
    o.soft_cap = wrong;
    CHECK_THROWS_AS(loss(2, 3, 2, o), contract_error);
    if (wrong == 1e-60) continue;
    o = {};
    o.z_loss = wrong;
    CHECK_THROWS_AS(loss(2, 3, 2, o), contract_error);
  }
  o = {};
  o.smoothing = nan;
  CHECK_THROWS_AS(loss(2, 3, 2, o), contract_error);
  for (index_t wrong : {-1, -2, 4}) {
    o = {};
    o.classes = wrong;
    CHECK_THROWS_AS(loss(2, 3, 2, o), contract_error);
  }
  auto const factor = column<float const>(&scale, 1);
  t[1] = 3;
  CHECK_THROWS_AS(loss(2, 3, 2), contract_error);
  CHECK_THROWS_AS(nn::cross_entropy_backward(exec, matrix<float const>(x, 2, 3), column<std::int32_t const>(t, 2),
                                             column<float const>(s, 2), factor, matrix(x, 2, 3)),
                  contract_error);
  t[1] = 0;
  CHECK_THROWS_AS(nn::cross_entropy_backward(exec, matrix<float const>(x, 2, 3), column<std::int32_t const>(t, 2),
                                             column<float const>(s, 2), factor, matrix(x, 3, 2)),
                  contract_error);
}

TEMPLATE_LIST_TEST_CASE("the mean of huge logits does not overflow, and a sum of shares changes no bit", "[nn]",
                        test::tile_cases) {
  TestType setup;
  for (index_t columns : {1, 2, 3, 7, 64, 130}) {
    std::vector<float> x(static_cast<std::size_t>(columns), 3e38f);
    std::int32_t t[1] = {0};
    float loss[1], lse[1], small[1], scaled[1];
    nn::cross_entropy_options o;
    o.smoothing = 0.5;
    auto const run = [&](float* to) {
      nn::cross_entropy(setup.exec, matrix<float const>(x.data(), 1, columns), column<std::int32_t const>(t, 1),
                        column(to, 1), column(lse, 1), o);
      setup.exec.synchronize();
    };
    run(loss);
    CHECK(std::isfinite(loss[0]));
    CHECK(std::fabs(loss[0]) <= 3e38f * 1e-6f);  // log(columns) is below the last bit of lse
    // (lse - x0) / 2 + (lse - mean) / 2, with the mean as a plain sum, ascending in one tile of 64 lanes at most.
    if (columns > 64) continue;
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0.1f * static_cast<float>(i * i % 11) - 0.3f;
    run(small);
    o.smoothing = 0;
    run(scaled);
    double mean = 0;
    for (float v : x) mean += double{v} / static_cast<double>(columns);
    CHECK(small[0] == Approx(0.5 * double{scaled[0]} + 0.5 * (double{lse[0]} - mean)).epsilon(1e-5).margin(1e-6));
  }
}

}  // namespace heddle
