// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/backend/cpu/tile_context.hpp>
#include <heddle/exec/queued.hpp>
#include <heddle/exec/serial_executor.hpp>
#include <heddle/optim/adam.hpp>
#include <heddle/optim/sgd.hpp>
#include <heddle/optim/shard.hpp>

#include <support/catch.hpp>
#include <support/random.hpp>

#include <cstring>
#include <tuple>
#include <vector>

namespace heddle {
namespace {

using optim::flat_layout;
using optim::shard_parameter;
using optim::step_args;

template <class T, class Exec>
using adam_shard = optim::optimizer_shard<optim::adam, T, Exec>;
using exec_types = std::tuple<serial_executor, queued<serial_executor>>;

/// Six parameters in three buckets; the second is empty, the third and fifth don't decay.
std::vector<flat_layout::parameter> const sizes = {{1000, 0}, {0, 0}, {7, 0}, {33, 1}, {5, 1}, {2, 2}};

std::vector<shard_parameter> parameters_of(flat_layout const& l) {
  std::vector<shard_parameter> all;
  for (index_t p = 0; p < l.parameters(); ++p)
    all.push_back({p != 2 && p != 4, l.place(p).lo, l.place(p).lo, true});
  return all;
}
template <class T>
std::vector<T> random_numbers(index_t n, std::uint64_t seed) {
  std::vector<T> v(static_cast<std::size_t>(n));
  test::fill_random(v.data(), n, seed);
  return v;
}
/// Masters equal to the stored parameters.
template <class Exec, class Shard, class T>
void take_masters(Exec& exec, Shard& shard, flat_layout const& l, std::vector<T> const& p) {
  exec.synchronize();
  for (index_t i = 0; i < l.parameters(); ++i)
    shard.fill_masters(i, [&](index_t e) { return float(p[static_cast<std::size_t>(l.place(i).lo + e)]); });
}
step_args<float> usual() {
  step_args<float> a;
  a.lr = 0.01;
  a.weight_decay = 0.1;
  return a;
}

/// The parameters after three steps of all shards of `ranks` ranks.
template <class T, class Exec>
std::vector<T> after_steps(index_t ranks, std::vector<std::vector<index_t>>* applied = nullptr) {
  flat_layout const layout(sizes, ranks);
  std::vector<T> p = random_numbers<T>(layout.size(), 1);
  for (index_t r = 0; r < ranks; ++r) {
    host_space space;
    Exec exec;
    adam_shard<T, Exec> shard(exec, space, optim::adamw(), layout, r, parameters_of(layout));
    CHECK(space.counts().live == static_cast<index_t>(adam_shard<T, Exec>::bytes(layout, r)));
    take_masters(exec, shard, layout, p);
    for (int s = 0; s < 3; ++s) {
      std::vector<float> const g = random_numbers<float>(layout.size(), 10 + static_cast<std::uint64_t>(s));
      shard.step(p.data(), g.data(), usual());
      exec.synchronize();
    }
    if (applied) applied->push_back({shard.applied().data(), shard.applied().data() + layout.parameters()});
    CHECK(space.counts().allocations == 2);
  }
  return p;
}

template <class T>
bool same(std::vector<T> const& a, std::vector<T> const& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("a step that is cut over ranks gives the bits of one rank", "[optim]", exec_types) {
  std::vector<float> const one = after_steps<float, TestType>(1);
  CHECK_FALSE(same(one, random_numbers<float>(1047, 1)));
  for (index_t ranks : {2, 3, 5, 64}) {
    CAPTURE(ranks);
    std::vector<std::vector<index_t>> applied;
    CHECK(same(after_steps<float, TestType>(ranks, &applied), one));
    // A rank counts the steps of what it holds a piece of.
    flat_layout const layout(sizes, ranks);
    for (index_t r = 0; r < ranks; ++r) {
      std::vector<index_t> want(6, 0);
      layout.for_each_owned(r, [&](optim::flat_piece const& p) { want[static_cast<std::size_t>(p.parameter)] = 3; });
      CHECK(applied[static_cast<std::size_t>(r)] == want);
    }
  }
  std::vector<bf16> const narrow = after_steps<bf16, TestType>(1);
  CHECK(same(after_steps<bf16, TestType>(3), narrow));
}

TEMPLATE_LIST_TEST_CASE("narrow parameters follow fp32 masters", "[optim]", exec_types) {
  flat_layout const layout(sizes, 1);
  index_t const n = layout.size();
  std::vector<bf16> p = random_numbers<bf16>(n, 1);
  std::vector<float> wide(p.begin(), p.end());
  TestType exec;
  adam_shard<bf16, TestType> shard(exec, default_host_space, optim::adamw(), layout, 0, parameters_of(layout));
  adam_shard<float, TestType> exact(exec, default_host_space, optim::adamw(), layout, 0, parameters_of(layout));
  take_masters(exec, shard, layout, p);
  step_args<float> small = usual();
  small.lr = 1e-5;  // one step alone is lost in bf16; fifty are not
  for (int s = 0; s < 50; ++s) {
    std::vector<float> const g(static_cast<std::size_t>(n), 1.0f);
    shard.step(p.data(), g.data(), small);
    exact.step(wide.data(), g.data(), small);
    exec.synchronize();
  }
  int wrong = 0, moved = 0;
  std::vector<bf16> const start = random_numbers<bf16>(n, 1);
  for (index_t i = 0; i < n; ++i) {
    std::size_t const at = static_cast<std::size_t>(i);
    wrong += shard.array(2).data()[i] != wide[at] || p[at].bits != bf16(wide[at]).bits;
    moved += p[at].bits != start[at].bits;
  }
  CHECK(wrong == 0);
  CHECK(moved > 0);
}

TEST_CASE("another use of a tied parameter is not stepped", "[optim]") {
  // The last parameter is an alias of the first: one storage, two places among the gradients.
  flat_layout const layout({{4, 0}, {3, 1}, {4, 2}}, 1);
  serial_executor exec;
  adam_shard<float, serial_executor> shard(exec, default_host_space, optim::adamw(), layout, 0,
                                           {{true, 0, 0, true}, {true, 4, 4, true}, {true, 0, 7, false}});
  adam_shard<float, serial_executor> alone(exec, default_host_space, optim::adamw(), flat_layout({{4, 0}, {3, 1}}, 1),
                                           0, {{true, 0, 0, true}, {true, 4, 4, true}});
  std::vector<float> p = random_numbers<float>(7, 1), q = p, g = random_numbers<float>(11, 2);
  for (std::size_t i = 7; i < 11; ++i) g[i] = 1e30f;  // must not be read
  shard.step(p.data(), g.data(), usual());
  alone.step(q.data(), g.data(), usual());
  CHECK(same(p, q));
  CHECK(shard.applied().data()[0] == 1);
  CHECK(shard.applied().data()[2] == 0);
  for (optim::flat_piece const& piece : shard.pieces()) {
    CHECK(shard.stored(piece) == (piece.parameter != 2));
    if (piece.parameter != 2) continue;
    CHECK(shard.stored_at(piece) == 0);
    CHECK(shard.place(piece) == 7);
  }
}

TEST_CASE("decay shrinks only what asks for it", "[optim]") {
  flat_layout const layout(sizes, 2);
  std::vector<float> p(static_cast<std::size_t>(layout.size()), 2.0f), g(p.size(), 0.0f);
  serial_executor exec;
  for (index_t r = 0; r < 2; ++r) {
    adam_shard<float, serial_executor> shard(exec, default_host_space, optim::adamw(), layout, r,
                                             parameters_of(layout));
    shard.step(p.data(), g.data(), usual());
  }
  int wrong = 0;
  for (index_t parameter = 0; parameter < layout.parameters(); ++parameter)
    for (index_t e = layout.place(parameter).lo; e < layout.place(parameter).hi; ++e) {
      float const want = parameter == 2 || parameter == 4 ? 2.0f : 2.0f * static_cast<float>(1 - 0.01 * 0.1);
      wrong += p[static_cast<std::size_t>(e)] != want;
    }
  CHECK(wrong == 0);
}

TEMPLATE_LIST_TEST_CASE("a step that is skipped changes nothing", "[optim]", exec_types) {
  flat_layout const layout(sizes, 1);
  TestType exec;
  adam_shard<bf16, TestType> shard(exec, default_host_space, optim::adamw(), layout, 0, parameters_of(layout));
  std::vector<bf16> p = random_numbers<bf16>(layout.size(), 1), before = p;
  std::vector<float> const bad(p.size(), __builtin_nanf(""));
  std::int32_t const skip = 1;
  step_args<float> args = usual();
  args.skip = &skip;
  take_masters(exec, shard, layout, p);
  shard.step(p.data(), bad.data(), args);
  exec.synchronize();
  CHECK(same(p, before));
  for (index_t i = 0; i < 6; ++i) CHECK(shard.applied().data()[i] == 0);
  for (int a = 0; a < 2; ++a)
    for (index_t i = 0; i < shard.size(); ++i) REQUIRE(shard.array(a).data()[i] == 0);
}

// OP-4.
TEST_CASE("empty parameters and ranks that own nothing are legal", "[optim]") {
  serial_executor exec;
  flat_layout const three({{6, 0}, {0, 0}, {10, 0}}, 2);
  adam_shard<float, serial_executor> first(exec, default_host_space, optim::adamw(), three, 0, parameters_of(three)),
      second(exec, default_host_space, optim::adamw(), three, 1, parameters_of(three));
  CHECK(first.size() == 8);
  CHECK(first.pieces() == std::vector<optim::flat_piece>{{0, {0, 6}, 0}, {2, {0, 2}, 6}});
  CHECK(second.pieces() == std::vector<optim::flat_piece>{{2, {2, 10}, 0}});

  flat_layout const few({{3, 0}}, 4);
  adam_shard<float, serial_executor> nothing(exec, default_host_space, optim::adamw(), few, 3, parameters_of(few));
  CHECK(nothing.size() == 0);
  CHECK(nothing.pieces().empty());
  float p[] = {1, 2, 3}, g[] = {4, 5, 6};
  nothing.step(p, g, usual());
  CHECK(p[2] == 3);
  CHECK(adam_shard<bf16, serial_executor>::bytes(few, 0) == 3 * sizeof(float) + sizeof(index_t));
  CHECK(optim::optimizer_shard<optim::sgd, float, serial_executor>::bytes(few, 0) == sizeof(float) + sizeof(index_t));
}

}  // namespace heddle
