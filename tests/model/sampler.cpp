// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/core/bf16.hpp>
#include <heddle/model/sampler.hpp>

#include <support/catch.hpp>

using namespace heddle;

namespace {

float const inf = __builtin_inff(), no_number = __builtin_nanf("");

template <class T>
view<T const, 1> of(std::vector<T> const& v) {
  return {v.data(), dims<1>(static_cast<index_t>(v.size()))};
}

/// How often each token is chosen at positions 0 .. draws - 1.
std::vector<int> counts(std::vector<float> const& logits, model::sampling_options const& o, int draws = 4000) {
  model::sampler s(o, static_cast<index_t>(logits.size()));
  std::vector<int> n(logits.size(), 0);
  for (int i = 0; i < draws; ++i) ++n[static_cast<std::size_t>(s(of(logits), i))];
  return n;
}

model::sampling_options options(double temperature, double top_p, index_t top_k = 0, std::uint64_t seed = 7) {
  model::sampling_options o;
  o.temperature = temperature;
  o.top_p = top_p;
  o.top_k = top_k;
  o.seed = seed;
  return o;
}

}  // namespace

TEST_CASE("what reaches top_p exactly is enough", "[model]") {
  for (int kept : {1, 2, 3, 4}) {
    std::vector<int> const n = counts({0, 0, -inf, 0, 0}, options(1, 0.25 * kept));  // weights of 1: all sums are exact
    int chosen = 0;
    for (int c : n) chosen += c > 0 ? 1 : 0;
    CHECK(chosen == kept);
  }
}

TEST_CASE("the most likely token", "[model]") {
  for (auto const& o : {options(0, 1), options(1, 0), options(1, 1, 1), options(1e-40, 1)}) {
    model::sampler s(o, 5);
    CHECK(s(of<float>({1, 3, 2, -5, 0}), 0) == 1);
    CHECK(s(of<float>({no_number, no_number, -inf, -5, no_number}), 1) == 3);
    CHECK(s(of<float>({0, 1, inf, 3, no_number}), 2) == 2);
  }
  model::sampler s(options(0, 1), 5);
  CHECK(s(of<float>({2, 7, 7, 7, 1}), 9) == 1);  // the lowest of equals
  CHECK(s(of<bf16>({bf16(0.0f), bf16(1.0f), bf16(2.0f)}), 0) == 2);
  CHECK(s(of<float>({-3}), 0) == 0);
}

TEST_CASE("tokens come as often as they are likely", "[model]") {
  // Logits of 1/8, 1/8, 1/4, 1/2; a count of n draws has a standard deviation of sqrt(n p (1 - p)): five of them.
  std::vector<float> const logits{0, 0, 0.693147f, 1.386294f};
  double const p[] = {0.125, 0.125, 0.25, 0.5};
  auto const n = counts(logits, options(1, 1));
  for (int t = 0; t < 4; ++t) {
    double const sigma = __builtin_sqrt(4000 * p[t] * (1 - p[t]));
    CHECK(__builtin_fabs(n[static_cast<std::size_t>(t)] - 4000 * p[t]) < 5 * sigma);
  }
  auto const flat = counts(logits, options(1e30, 1));  // very hot: all alike
  for (int c : flat) CHECK(__builtin_fabs(c - 1000.0) < 5 * __builtin_sqrt(750.0));
}

TEST_CASE("what is cut off never comes", "[model]") {
  std::vector<float> const logits{0, 1.386294f, 0, 0.693147f, no_number, -inf};  // 1/8, 1/2, 1/8, 1/4, never, never
  CHECK(counts(logits, options(1, 0.49)) == std::vector<int>{0, 4000, 0, 0, 0, 0});
  auto const two = counts(logits, options(1, 0.51));
  CHECK(two[1] + two[3] == 4000);
  CHECK(two[3] > 1000);
  auto const three = counts(logits, options(1, 0.8));
  CHECK((three[0] > 0 && three[2] == 0));  // the lower of equals stays
  auto const all = counts(logits, options(1, 1));
  CHECK((all[0] > 0 && all[2] > 0 && all[4] == 0 && all[5] == 0));
  auto const k = counts(logits, options(1, 1, 2));
  CHECK((k[0] + k[2] == 0 && k[1] + k[3] == 4000));
  CHECK(counts(logits, options(1, 1, 100)) == all);
  auto const infinite = counts({3, inf, 100, inf}, options(1, 1));
  CHECK((infinite[0] + infinite[2] == 0 && infinite[1] > 1500 && infinite[3] > 1500));
}

TEST_CASE("a choice depends on seed and position alone", "[model]") {
  std::vector<float> const logits(50, 0.0f);
  model::sampler a(options(1, 1), 50), b(options(1, 1), 50), other(options(1, 1, 0, 8), 50);
  int differing = 0, repeated = 0;
  for (index_t i = 100; i-- > 0;) {
    std::int32_t const t = a(of(logits), i);
    CHECK(b(of(logits), i) == t);
    differing += other(of(logits), i) != t;
    repeated += b(of(logits), i + 1) == t;
  }
  CHECK(differing > 80);
  CHECK(repeated < 20);
}

TEST_CASE("no token can be chosen", "[model]") {
  for (double temperature : {0.0, 1.0}) {
    model::sampler s(options(temperature, 0.9), 3);
    std::vector<std::vector<float>> const all{{-inf, -inf, -inf}, {no_number, -inf, no_number}, {}};
    for (auto const& logits : all)
      CHECK_THROWS_AS(s(of(logits), 4), error);
  }
  CHECK_THROWS_AS(model::sampler(options(-1, 1), 3), contract_error);
  CHECK_THROWS_AS(model::sampler(options(__builtin_nan(""), 1), 3), contract_error);
  CHECK_THROWS_AS(model::sampler(options(1, 1.5), 3), contract_error);
  CHECK_THROWS_AS(model::sampler(options(1, 1, -1), 3), contract_error);
}
