// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/model/decoder.hpp>
#include <heddle/nn/plan.hpp>

#include <support/catch.hpp>

#include <cstring>
#include <vector>

namespace heddle {
namespace {

using nn::life;
using nn::planner;
using nn::slot;

constexpr life all_lives[] = {life::fwd, life::saved, life::kept, life::bwd, life::deferred};

/// A slot, and the places of its ancestors' own slots in the list.
struct found {
  slot s;
  std::vector<std::size_t> above;
};

/// Every slot of a plan, found by the names that plans give them: parents before children.
class walk {
 public:
  std::vector<found> all;

  template <class Plan>
  void operator()(Plan const& p) {
    std::size_t const before = above_.size();
    if constexpr (requires { p.middle; }) own(p.middle), own(p.d_middle);
    if constexpr (requires { p.branch; }) own(p.branch);
    if constexpr (requires { p.d_second; }) own(p.d_second);
    if constexpr (requires { p.mean; }) own(p.mean);
    if constexpr (requires { p.rstd; }) own(p.rstd);
    if constexpr (requires { p.lse; }) own(p.lse);
    if constexpr (requires { p.loss; }) own(p.loss);
    if constexpr (requires { p.logits; }) own(p.x), own(p.dx), own(p.y), own(p.dy), own(p.logits);
    if constexpr (requires { p.between; }) own_all(p.between), own_all(p.d_between);
    if constexpr (requires { p.forward; }) own(p.y);
    if constexpr (requires { p.first; }) (*this)(p.first);
    if constexpr (requires { p.second; }) (*this)(p.second);
    if constexpr (requires { p.rest; }) (*this)(p.rest);
    if constexpr (requires { p.inner; }) (*this)(p.inner);
    if constexpr (requires { p.backward; }) (*this)(p.backward);  // without recomputation there is but one plan
    if constexpr (requires { p.logits; }) (*this)(p.blocks), (*this)(p.back), (*this)(p.sink);
    if constexpr (requires { p.each; })
      for (auto const& one : p.each) (*this)(one);
    above_.resize(before);
  }

 private:
  void own(slot const& s) {
    if (s.rows * s.columns == 0) return;
    all.push_back({s, above_});
    above_.push_back(all.size() - 1);
  }
  void own_all(std::vector<slot> const& slots) {
    for (slot const& s : slots) own(s);
  }
  std::vector<std::size_t> above_;
};

std::size_t end_of(slot const& s) { return s.offset + static_cast<std::size_t>(s.rows * s.columns) * sizeof(float); }
bool overlap(slot const& a, slot const& b) {
  return a.where == b.where && a.offset < end_of(b) && b.offset < end_of(a);
}

model::decoder_sizes sizes(bool recompute) {
  model::decoder_sizes s;
  s.width = 12;
  s.heads = 3;
  s.key_heads = 1;
  s.hidden = 20;
  s.recompute = recompute;
  return s;
}
constexpr nn::layer_shape shape{2, 5, 12};

}  // namespace

TEST_CASE("stacks give back at the end of a scope, the other lives only grow", "[nn]") {
  planner p(2);
  slot const first = p.take_activation(life::fwd, 3, 5);  // 30 bytes
  CHECK(first.offset == 0);
  {
    planner::scope scope(p);
    CHECK(p.take_activation(life::fwd, 40, 1).offset == 64);
    CHECK(p.take_activation(life::fwd, 1, 1).offset == 192);
    CHECK(p.take_activation(life::saved, 1, 1).offset == 0);
    CHECK(p.take_activation(life::bwd, 1, 1).offset == 0);
  }
  CHECK(p.take_activation(life::fwd, 1, 1).offset == 64);
  CHECK(p.take_activation(life::bwd, 1, 1).offset == 0);
  CHECK(p.take_activation(life::saved, 1, 1).offset == 64);
  CHECK(p.bytes(life::fwd) == 256);
  CHECK(p.bytes(life::saved) == 128);
  CHECK(p.bytes(life::bwd) == 64);
  CHECK(p.bytes(life::kept) == 0);
}

TEST_CASE("slots begin at multiples of 64 bytes and hold what was asked for", "[nn]") {
  planner p(2);
  for (index_t n : {0, 1, 31, 32, 33, 1000}) {
    std::size_t const before = p.bytes(life::kept);
    slot const s = p.take_activation(life::kept, n, 1);
    CHECK(s.offset == before);
    CHECK(s.offset % 64 == 0);
    CHECK(p.bytes(life::kept) - before == (static_cast<std::size_t>(n) * 2 + 63) / 64 * 64);
  }
  planner wide(8), narrow(2);
  wide.take_statistics(life::saved, 9);
  narrow.take_statistics(life::saved, 17);
  CHECK(wide.bytes(life::saved) == 128);    // fp64
  CHECK(narrow.bytes(life::saved) == 128);  // fp32
  wide.take_values<std::int64_t>(life::deferred, 3, 3);
  CHECK(wide.bytes(life::deferred) == 128);
  CHECK(wide.activation_bytes() == 8);
}

TEST_CASE("a throwaway forward keeps nothing and plans no backward", "[nn]") {
  planner p(4);
  {
    planner::throwaway const away(p);
    CHECK(p.take_activation(life::saved, 16, 1).where == life::fwd);
    CHECK(p.take_activation(life::kept, 16, 1).offset == 64);
    CHECK(p.take_activation(life::fwd, 16, 1).offset == 128);
    CHECK(p.take_activation(life::bwd, 16, 1).where == life::nowhere);
    CHECK(p.take_activation(life::deferred, 16, 1).where == life::nowhere);
  }
  CHECK(p.bytes(life::fwd) == 192);
  for (life l : {life::saved, life::kept, life::bwd, life::deferred}) CHECK(p.bytes(l) == 0);
  CHECK(p.take_activation(life::saved, 16, 1).where == life::saved);
}

TEST_CASE("a replayed forward lies under the stack of B, or lives from B to W", "[nn]") {
  planner p(4);
  planner::scope scope(p);
  {
    planner::replay const again(p, 128);
    slot saved, other;
    {
      planner::scope inner(p);
      CHECK(p.take_activation(life::fwd, 16, 1).offset == 128);
      saved = p.take_activation(life::saved, 16, 1);
    }
    other = p.take_activation(life::saved, 16, 1);
    CHECK(saved.where == life::bwd);
    CHECK(saved.offset == 0);
    CHECK(other.offset == 64);  // it outlives the scope of the first
    CHECK(p.take_activation(life::bwd, 16, 1).offset == 128);
    CHECK(p.take_activation(life::kept, 16, 1).where == life::deferred);
    CHECK(p.take_activation(life::deferred, 16, 1).offset == 64);
  }
  CHECK(p.bytes(life::bwd) == 192);
  CHECK(p.bytes(life::deferred) == 128);
  for (life l : {life::fwd, life::saved, life::kept}) CHECK(p.bytes(l) == 0);
}

TEST_CASE("the longer of two lives", "[nn]") {
  CHECK(nn::longer(life::fwd, life::saved) == life::saved);
  CHECK(nn::longer(life::kept, life::saved) == life::kept);
  CHECK(nn::longer(life::bwd, life::deferred) == life::deferred);
}

TEST_CASE("slots that are alive together never overlap, and every region is used to its end", "[nn]") {
  auto const check = [](auto const& layer, nn::layer_shape const& input) {
    planner p(sizeof(float));
    auto const plan = layer.make_plan(p, input);
    walk found_slots;
    found_slots(plan);
    auto const& all = found_slots.all;
    int overlaps = 0;
    std::size_t end[nn::lives] = {};
    for (std::size_t i = 0; i < all.size(); ++i) {
      slot const& s = all[i].s;
      REQUIRE(static_cast<int>(s.where) < nn::lives);
      std::size_t& e = end[static_cast<int>(s.where)];
      if (end_of(s) > e) e = end_of(s);
      bool const stack = s.where == life::fwd || s.where == life::bwd;
      if (stack)
        for (std::size_t j : all[i].above) overlaps += overlap(s, all[j].s);
      else
        for (std::size_t j = 0; j < i; ++j) overlaps += overlap(s, all[j].s);
    }
    CHECK(overlaps == 0);
    for (life l : all_lives) {
      CAPTURE(static_cast<int>(l));
      CHECK((end[static_cast<int>(l)] + 63) / 64 * 64 == p.bytes(l));
    }
    return all.size();
  };
  CHECK(check(model::detail::gpt2_block(sizes(false)), shape) >= 10);
  CHECK(check(model::detail::llama_block(sizes(false)), shape) >= 10);
  model::decoder_sizes s = sizes(false);
  s.layers = 3;
  for (index_t stages : {1, 2, 3, 5})
    for (index_t stage = 0; stage < stages; ++stage) {
      CAPTURE(stages, stage);
      CHECK(check(model::llama(s).cut(stage, stages), shape) >= 2);
    }
}

TEST_CASE("patterns written to every lasting slot of a block stay apart", "[nn]") {
  auto const block = model::detail::llama_block(sizes(false));
  planner p(sizeof(float));
  auto const plan = block.make_plan(p, shape);
  walk found_slots;
  found_slots(plan.backward);
  std::vector<std::byte> memory[nn::lives];
  nn::frame frame;
  for (life l : all_lives) {
    memory[static_cast<int>(l)].assign(p.bytes(l), std::byte{0xEE});
    frame.base[static_cast<int>(l)] = memory[static_cast<int>(l)].data();
  }
  auto const lasting = [](slot const& s) { return s.where != life::fwd && s.where != life::bwd; };
  for (std::size_t i = 0; i < found_slots.all.size(); ++i) {
    slot const& s = found_slots.all[i].s;
    if (!lasting(s)) continue;
    view<float, 2> const v = frame.at<float>(s);
    REQUIRE(v.extent(0) * v.extent(1) == s.rows * s.columns);
    REQUIRE(frame.vector_at<float>(s).data() == v.data());
    for (index_t e = 0; e < v.size(); ++e) v.data()[e] = static_cast<float>(i);
  }
  int damaged = 0;
  for (std::size_t i = 0; i < found_slots.all.size(); ++i) {
    slot const& s = found_slots.all[i].s;
    if (!lasting(s)) continue;
    for (index_t e = 0; e < s.rows * s.columns; ++e) damaged += frame.at<float>(s).data()[e] != static_cast<float>(i);
  }
  CHECK(damaged == 0);
}

TEST_CASE("a replayed block keeps what it saves clear of every stack slot of B", "[nn]") {
  auto const check = [](auto const& plain, auto const& again) {
    planner p(sizeof(float)), q(sizeof(float));
    auto const plan = plain.make_plan(p, shape);
    auto const replayed = again.make_plan(q, shape);
    walk before, after, first;
    before(plan.backward);
    after(replayed.backward);
    first(replayed.forward);
    CHECK(q.bytes(life::saved) == 0);
    CHECK(q.bytes(life::kept) == 0);
    CHECK(q.bytes(life::deferred) == p.bytes(life::kept) + p.bytes(life::deferred));
    REQUIRE(before.all.size() == after.all.size());
    int overlaps = 0;
    for (std::size_t i = 0; i < after.all.size(); ++i) {
      if (before.all[i].s.where != life::saved) continue;
      CHECK(after.all[i].s.where == life::bwd);
      for (std::size_t j = 0; j < after.all.size(); ++j) overlaps += j != i && overlap(after.all[i].s, after.all[j].s);
    }
    CHECK(overlaps == 0);
    for (found const& f : first.all) CHECK((f.s.where == life::fwd || f.s.where == life::nowhere));
  };
  check(model::detail::gpt2_block(sizes(false)), model::detail::gpt2_block(sizes(true)));
  check(model::detail::llama_block(sizes(false)), model::detail::llama_block(sizes(true)));
}

}  // namespace heddle
