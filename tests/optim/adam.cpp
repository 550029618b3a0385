// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/mesh/box.hpp>
#include <heddle/optim/adam.hpp>

#include <support/catch.hpp>
#include <support/executors.hpp>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

using namespace heddle;

namespace {
// One parameter vector with its state.
template <class T>
struct leaf {
  std::vector<T> p, m, v;
  index_t applied = 0;

  explicit leaf(std::vector<T> start) : p(std::move(start)), m(p.size(), T(0)), v(p.size(), T(0)) {}

  template <class E>
  void step(E& exec, optim::adam const& rule, std::vector<T> const& g, optim::step_args<T> const& args,
            segment range = {0, -1}) {
    index_t const n = range.hi < 0 ? static_cast<index_t>(p.size()) : range.size();
    auto window = [&](auto* data) {
      return view<std::remove_pointer_t<decltype(data)>, 1>(data + range.lo, dims<1>(n));
    };
    optim::state_views<T, 2> state{{window(m.data()), window(v.data())}};
    view<index_t, 1> count(&applied, dims<1>(1));
    rule.step(exec, window(p.data()), window(g.data()), state, count, args);
    exec.synchronize();
  }
};

template <class T>
bool same_bits(std::vector<T> const& a, std::vector<T> const& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

template <class T>
std::vector<T> wave(std::size_t n, double scale) {
  std::vector<T> out(n);
  for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<T>(scale * (static_cast<double>((i * 37 + 11) % 101) - 50));
  return out;
}
}  // namespace

TEMPLATE_LIST_TEST_CASE("epsilon stands outside the root and outside the correction", "[optim]",
                        test::executor_cases) {
  TestType setup;
  leaf<double> d({0.0});
  d.step(setup.exec, optim::adamw(), {1e-8}, {.lr = 1.0});
  CHECK(d.p[0] == Approx(-0.5).epsilon(1e-5));
  leaf<float> f({0.0f});
  f.step(setup.exec, optim::adamw(), {1e-8f}, {.lr = 1.0});
  CHECK(f.p[0] == Approx(-0.5).epsilon(1e-5));
  CHECK(f.applied == 1);
}

TEMPLATE_LIST_TEST_CASE("decoupled decay comes before the step, L2 goes through the gradient", "[optim]",
                        test::executor_cases) {
  TestType setup;
  optim::step_args<double> const args{.lr = 0.1, .weight_decay = 0.5};
  leaf<double> w({2.0});
  w.step(setup.exec, optim::adamw(), {0.5}, args);
  CHECK(w.p[0] == Approx(1.800000002).epsilon(1e-9));
  w.step(setup.exec, optim::adamw(), {-1.0}, args);
  CHECK(w.p[0] == Approx(1.7466103541405653).epsilon(1e-12));
  leaf<double> l({2.0});
  l.step(setup.exec, optim::adam{.mode = optim::decay_mode::l2}, {0.5}, args);
  CHECK(l.p[0] == Approx(1.9000000006666666).epsilon(1e-12));
}

TEST_CASE("two AdamW steps to four ulp", "[optim]") {
  serial_executor exec;
  // Expected values are exact for the doubles nearest to 0.9 and 0.999; the decimals 0.02 and 3.1225e-4 are not.
  auto near = [](double got, double want) {
    double const ulp = std::numeric_limits<double>::epsilon() * want;
    return got >= want - 4 * ulp && got <= want + 4 * ulp;
  };
  optim::step_args<double> const args{.lr = 0.1, .weight_decay = 0.01};
  leaf<double> w({1.0});
  w.step(exec, optim::adamw(), {0.5}, args);
  CHECK(w.p[0] == Approx(0.899000002).epsilon(1e-9));
  CHECK((near(w.m[0], 0.04999999999999999) && near(w.v[0], 0.0002500000000000002)));
  w.step(exec, optim::adamw(), {-0.25}, args);
  CHECK(near(w.p[0], 0.8714672987058463));
  CHECK((near(w.m[0], 0.019999999999999997) && near(w.v[0], 0.0003122500000000003)));
  CHECK(w.applied == 2);
}

TEST_CASE("eight steps, one of them skipped, are what the formula says at the counted step", "[optim]") {
  serial_executor exec;
  struct betas {
    double m, v;
  };
  for (betas const b : {betas{0.9, 0.999}, betas{0.5, 0.75}, betas{0.0, 0.9}, betas{0.75, 0.0}})
    for (optim::decay_mode const mode : {optim::decay_mode::decoupled, optim::decay_mode::l2}) {
      optim::adam const rule{b.m, b.v, 1e-3, mode};
      optim::step_args<double> args{.lr = 0.1, .weight_decay = 0.25};
      leaf<double> got(wave<double>(9, 0.02));
      std::vector<double> p = got.p, m(9, 0.0), v(9, 0.0);
      double m_power = 1, v_power = 1;
      index_t applied = 0;
      for (int step = 0; step < 8; ++step) {
        CAPTURE(b.m, b.v, step);
        std::int32_t const skip = step == 3 ? 1 : 0;
        args.skip = &skip;
        auto const g = wave<double>(9, (step % 3 == 1 ? -0.01 : 0.004) * (step + 1));
        got.step(exec, rule, g, args);
        if (skip == 0) {
          ++applied;
          m_power *= b.m;
          v_power *= b.v;
          for (std::size_t i = 0; i < 9; ++i) {
            bool const l2 = mode == optim::decay_mode::l2;
            double const slope = g[i] + (l2 ? 0.25 * p[i] : 0);
            m[i] = b.m * m[i] + (1 - b.m) * slope;
            v[i] = b.v * v[i] + (1 - b.v) * slope * slope;
            double const move = m[i] / (1 - m_power) / (std::sqrt(v[i] / (1 - v_power)) + 1e-3);
            p[i] = p[i] * (l2 ? 1 : 1 - 0.1 * 0.25) - 0.1 * move;
          }
        }
        REQUIRE(got.applied == applied);
        // Per step some twenty roundings of numbers below 2; 1 - b^t loses up to three digits where b is near 1.
        for (std::size_t i = 0; i < 9; ++i) REQUIRE(std::abs(got.p[i] - p[i]) <= 20 * 1000 * 2 * 0x1p-53 * (step + 1));
      }
    }
}

TEMPLATE_LIST_TEST_CASE("any cut of a span gives the same bits", "[optim]", test::executor_cases) {
  TestType setup;
  std::size_t const n = static_cast<std::size_t>(2 * optim::detail::step_tile + 17);
  optim::step_args<float> const args{.lr = 0.01, .weight_decay = 0.1};
  leaf<float> whole_leaf(wave<float>(n, 0.03));
  leaf<float> cut_leaf = whole_leaf;
  for (int step = 0; step < 3; ++step) {
    auto const g = wave<float>(n, 0.001 * (step + 1));
    whole_leaf.step(setup.exec, optim::adamw(), g, args);
    index_t const before = cut_leaf.applied;
    for (index_t rank = 0; rank < 7; ++rank) {
      cut_leaf.applied = before;  // each rank has its own counter
      cut_leaf.step(setup.exec, optim::adamw(), g, args, cut(static_cast<index_t>(n), 7, rank));
    }
  }
  CHECK(same_bits(whole_leaf.p, cut_leaf.p));
  CHECK(same_bits(whole_leaf.m, cut_leaf.m));
  CHECK(same_bits(whole_leaf.v, cut_leaf.v));
  CHECK(cut_leaf.applied == 3);
}

TEMPLATE_TEST_CASE("vectors of every instruction set give the bits of the scalar formula", "[optim]", float, double) {
  isa const before = best_isa();
  for (index_t n : {1, 3, 7, 8, 15, 16, 17, 63, 1000}) {
    auto const g = wave<TestType>(static_cast<std::size_t>(n), 0.01);
    TestType const clip = static_cast<TestType>(0.3);
    optim::step_args<TestType> const args{.lr = 0.01, .weight_decay = 0.1, .clip = &clip};
    for (optim::adam const rule : {optim::adamw(), optim::adam{.mode = optim::decay_mode::l2}}) {
      leaf<TestType> const start(wave<TestType>(static_cast<std::size_t>(n), 0.3));
      leaf<TestType> want = start;
      reference_executor plain;
      for (int step = 0; step < 2; ++step) want.step(plain, rule, g, args);
      for (int set = 0; set <= static_cast<int>(machine_isa()); ++set) {
        force_isa(static_cast<isa>(set));
        serial_executor exec;
        leaf<TestType> got = start;
        for (int step = 0; step < 2; ++step) got.step(exec, rule, g, args);
        CHECK((same_bits(got.p, want.p) && same_bits(got.m, want.m) && same_bits(got.v, want.v)));
      }
    }
  }
  force_isa(before);
}

TEMPLATE_LIST_TEST_CASE("a skipped step changes nothing and counts nothing; a clip factor scales", "[optim]",
                        test::executor_cases) {
  TestType setup;
  std::int32_t skip = 1;
  double clip = 0.5;
  leaf<double> a(wave<double>(33, 0.1)), b = a;
  a.step(setup.exec, optim::adamw(), wave<double>(33, 7.0), {.lr = 0.1, .weight_decay = 0.3, .skip = &skip});
  CHECK(same_bits(a.p, b.p));
  CHECK(a.applied == 0);
  skip = 0;
  a.step(setup.exec, optim::adamw(), wave<double>(33, 2.0), {.lr = 0.1, .clip = &clip, .skip = &skip});
  b.step(setup.exec, optim::adamw(), wave<double>(33, 1.0), {.lr = 0.1});
  CHECK(same_bits(a.p, b.p));
  CHECK(a.applied == 1);
}

TEMPLATE_LIST_TEST_CASE("an empty span steps, and a wrong one is refused", "[optim]", test::executor_cases) {
  TestType setup;
  leaf<float> none({});
  none.step(setup.exec, optim::adamw(), {}, {});
  CHECK(none.applied == 1);
  leaf<float> three({1, 2, 3});
  three.m.resize(2);
  index_t applied = 0;
  float g[3] = {};
  optim::state_views<float, 2> state{
      {view<float, 1>(three.m.data(), dims<1>(2)), view<float, 1>(three.v.data(), dims<1>(3))}};
  view<float, 1> p(three.p.data(), dims<1>(3));
  view<float const, 1> gradient(g, dims<1>(3));
  view<index_t, 1> count(&applied, dims<1>(1));
  CHECK_THROWS_AS(optim::adamw().step(setup.exec, p, gradient, state, count, optim::step_args<float>{}),
                  contract_error);
  CHECK_THROWS_AS(optim::adamw(1.0).step(setup.exec, p, gradient, state, count, optim::step_args<float>{}),
                  contract_error);
  STATIC_REQUIRE(optim::update_rule_for<optim::adam, serial_executor, float>);
}
