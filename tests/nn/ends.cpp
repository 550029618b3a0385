// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/backend/reference/tile_context.hpp>
#include <heddle/exec/context.hpp>
#include <heddle/exec/reference_executor.hpp>
#include <heddle/nn/ends.hpp>

#include <support/catch.hpp>

#include <cmath>
#include <string>
#include <vector>

namespace heddle {
namespace {

using source_type = nn::token_source<"tokens", "positions">;
static_assert(nn::source_layer<source_type>);
static_assert(nn::sink_layer<nn::cross_entropy_sink>);
static_assert(!nn::source_layer<nn::cross_entropy_sink> && !nn::sink_layer<source_type>);

using context_type = context<reference_executor>;

struct fixture {
  reference_executor exec;
  context_type run{exec};
  call<context_type> c{&run};
  std::int32_t tokens[6] = {0, 2, 1, 2, 2, 0}, targets[6] = {1, 0, -100, 2, 1, 0};
  nn::token_batch batch{{tokens, dims<1>(6)}, {targets, dims<1>(6)}, 3};
};

std::vector<std::string> names_of(source_type const& s) {
  std::vector<std::string> all;
  nn::for_each_leaf(s, [&](char const* name, auto const&, nn::leaf_options const& o) {
    CHECK(o.decay);
    CHECK(o.init.scale == 0.02);
    all.push_back(name);
  });
  return all;
}

}  // namespace

TEST_CASE("a source has a table of tokens, and one of positions where it is asked for", "[nn]") {
  CHECK(names_of({5, 3, 0, 0.02}) == std::vector<std::string>{"tokens.weight"});
  CHECK(names_of({5, 3, 4, 0.02}) == std::vector<std::string>{"tokens.weight", "positions.weight"});
  CHECK(source_type{5, 3, 4, 0.02}.width() == 3);
}

TEST_CASE("a source adds rows of its tables, and its backward sums them", "[nn]") {
  fixture f;
  source_type const source{3, 2, 4, 0.02};
  float const table[] = {10, 11, 20, 21, 30, 31}, positions[] = {1, 2, 3, 4, 5, 6, 7, 8};
  auto w = source.tree<nn::in_use<float>>();
  w.tokens.local = {table, dims<2>(3, 2)};
  w.positions.local = {positions, dims<2>(4, 2)};
  float y[12];
  source.forward(f.c, w, f.batch, view<float, 2>(y, dims<2>(6, 2)));
  float const want[] = {11, 13, 33, 35, 25, 27, 31, 33, 33, 35, 15, 17};
  for (int i = 0; i < 12; ++i) CHECK(y[i] == want[i]);

  float const dy[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048};
  float d_table[6], d_positions[8];
  for (float& v : d_table) v = 99;
  for (float& v : d_positions) v = 99;
  auto g = source.tree<nn::gradient<float>>();
  g.tokens.local = {d_table, dims<2>(3, 2)};
  g.positions.local = {d_positions, dims<2>(4, 2)};
  source.backward_weight(f.c, f.batch, view<float const, 2>(dy, dims<2>(6, 2)), g);
  float const want_table[] = {1025, 2050, 16, 32, 324, 648}, want_positions[] = {65, 130, 260, 520, 1040, 2080, 0, 0};
  for (int i = 0; i < 6; ++i) CHECK(d_table[i] == want_table[i]);
  for (int i = 0; i < 8; ++i) CHECK(d_positions[i] == want_positions[i]);
}

TEST_CASE("a source without positions leaves that leaf alone", "[nn]") {
  fixture f;
  source_type const source{3, 1, 0, 0.02};
  float const table[] = {10, 20, 30}, dy[] = {1, 1, 1, 1, 1, 1};
  auto w = source.tree<nn::in_use<float>>();
  w.tokens.local = {table, dims<2>(3, 1)};
  float y[6], d_table[3];
  source.forward(f.c, w, f.batch, view<float, 2>(y, dims<2>(6, 1)));
  CHECK(y[4] == 30);
  auto g = source.tree<nn::gradient<float>>();
  g.tokens.local = {d_table, dims<2>(3, 1)};
  source.backward_weight(f.c, f.batch, view<float const, 2>(dy, dims<2>(6, 1)), g);
  CHECK(d_table[0] == 2);
  CHECK(d_table[1] == 1);
  CHECK(d_table[2] == 3);
}

TEST_CASE("a sink sums the loss of rows that count, and scales its gradient", "[nn]") {
  fixture f;
  nn::cross_entropy_sink const sink{};
  CHECK(sink.counts(0));
  CHECK_FALSE(sink.counts(-100));
  nn::planner p(sizeof(float));
  auto const plan = sink.make_plan(p, {2, 3, 3});
  CHECK(plan.lse.where == nn::life::saved);
  CHECK(p.bytes(nn::life::saved) == 64);  // six numbers
  CHECK(p.bytes(nn::life::fwd) == 64);
  CHECK(p.bytes(nn::life::kept) + p.bytes(nn::life::bwd) + p.bytes(nn::life::deferred) == 0);
  alignas(64) std::byte saved[64], stack[64];
  nn::frame frame;
  frame.base[static_cast<int>(nn::life::saved)] = saved;
  frame.base[static_cast<int>(nn::life::fwd)] = stack;

  float const x[18] = {1, 2, 3, 0, 0, 0, 9, 9, 9, 2, 1, 0, -1, 1, 0, 3, 3, 3};
  float sum = -1, dx[18];
  std::int64_t count = -1;
  nn::loss_views const loss{view<float, 1>(&sum, dims<1>(1)), view<std::int64_t, 1>(&count, dims<1>(1))};
  view<float const, 2> const logits(x, dims<2>(6, 3));
  sink.forward(f.c, logits, f.batch, loss, plan, frame);
  CHECK(count == 5);
  double want = 0;
  double gradient[18] = {};
  float const scale = 0.25f;
  for (int r = 0; r < 6; ++r) {
    if (f.targets[r] < 0) continue;
    double total = 0;
    for (int c = 0; c < 3; ++c) total += std::exp(x[r * 3 + c]);
    want += std::log(total) - x[r * 3 + f.targets[r]];
    for (int c = 0; c < 3; ++c) gradient[r * 3 + c] = 0.25 * (std::exp(x[r * 3 + c]) / total - (c == f.targets[r]));
  }
  CHECK(std::abs(sum - want) <= 1e-6 * want);
  __builtin_memset(stack, 0xFF, sizeof stack);  // the stack of F is gone; what was saved is enough
  sink.backward_input(f.c, logits, f.batch, view<float const, 1>(&scale, dims<1>(1)), view<float, 2>(dx, dims<2>(6, 3)),
                      plan, frame);
  for (int i = 0; i < 18; ++i) CHECK(std::abs(dx[i] - gradient[i]) <= 1e-7);
}

}  // namespace heddle
