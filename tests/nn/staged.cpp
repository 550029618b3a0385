// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/model/decoder.hpp>
#include <heddle/nn/staged.hpp>

#include <support/catch.hpp>

#include <string>
#include <vector>

namespace heddle {
namespace {

using names = std::vector<std::string>;

/// Names with the bucket that each stands in.
struct listing {
  names* all;
  std::vector<int>* buckets;
  int now = -1;

  void bucket(int b) { now = b; }
  template <class E>
  void operator()(char const* name, E const&, nn::leaf_options const&) {
    all->push_back(name);
    buckets->push_back(now);
  }
};
template <class Stage>
names names_of(Stage const& stage, std::vector<int>& buckets) {
  names all;
  listing list{&all, &buckets};
  nn::for_each_leaf(stage, list);
  return all;
}

auto model_of(index_t layers) {
  model::decoder_sizes s;
  s.vocabulary = 11;
  s.layers = layers;
  s.width = 8;
  s.heads = s.key_heads = 2;
  s.hidden = 12;
  s.positions = 6;
  return model::gpt2(s);
}

}  // namespace

TEST_CASE("the parts of a cut hold every leaf once, with the names of the whole", "[nn]") {
  for (index_t layers : {1, 3, 5, 11}) {
    auto const whole = model_of(layers);
    std::vector<int> ignored;
    names const all = names_of(whole, ignored);
    for (index_t stages = 1; stages <= 8; ++stages) {
      CAPTURE(layers, stages);
      names joined;
      index_t next = 0;
      for (index_t s = 0; s < stages; ++s) {
        auto const part = whole.cut(s, stages);
        CHECK(part.blocks.first == next);
        next += part.blocks.count;
        CHECK(part.blocks.count >= layers / stages);
        CHECK(part.blocks.count <= (layers + stages - 1) / stages);
        CHECK(part.first == (s == 0));
        CHECK(part.last == (s + 1 == stages));
        for (std::string const& n : names_of(part, ignored)) joined.push_back(n);
      }
      CHECK(next == layers);
      CHECK(joined == all);
    }
  }
}

TEST_CASE("a part can be cut again", "[nn]") {
  auto const whole = model_of(7);
  auto const second = whole.cut(1, 2);  // blocks 4, 5, 6
  auto const last = second.cut(1, 2);
  CHECK(last.blocks.first == 6);
  CHECK(last.blocks.count == 1);
  CHECK_THROWS_AS(whole.cut(2, 2), contract_error);
  CHECK_THROWS_AS(whole.cut(-1, 2), contract_error);
  CHECK_THROWS_AS(whole.cut(0, 0), contract_error);
}

TEST_CASE("a stage's leaves come in its buckets: source, each block, what follows", "[nn]") {
  auto const whole = model_of(3);
  std::vector<int> buckets;
  names const all = names_of(whole, buckets);
  CHECK(whole.buckets() == 5);
  for (std::size_t i = 0; i < all.size(); ++i) {
    CAPTURE(all[i]);
    int const want = all[i].rfind("h.", 0) == 0 ? all[i][2] - '0' + 1 : i < 2 ? 0 : 4;
    CHECK(buckets[i] == want);
  }
  auto const middle = whole.cut(1, 3);
  buckets.clear();
  names const one = names_of(middle, buckets);
  CHECK(middle.buckets() == 3);
  CHECK(one.front() == "h.1.ln_1.weight");  // the global index, in the stage's own second bucket
  for (int b : buckets) CHECK(b == 1);
}

TEST_CASE("the plan of a part holds what the stage needs and nothing else", "[nn]") {
  auto const whole = model_of(4);
  nn::layer_shape const shape{2, 6, 8};
  std::size_t const activation = 12 * 8 * sizeof(float), logits = (12 * 11 * sizeof(float) + 63) / 64 * 64;
  nn::planner one(sizeof(float)), first(one), middle(one), last(one), empty(one);
  whole.make_plan(one, shape);
  whole.cut(0, 4).make_plan(first, shape);
  whole.cut(1, 4).make_plan(middle, shape);
  whole.cut(3, 4).make_plan(last, shape);
  whole.cut(5, 8).make_plan(empty, shape);
  using nn::life;
  // The first stage keeps the cotangent of the embedding for W.
  CHECK(first.bytes(life::deferred) == middle.bytes(life::deferred) + activation);
  CHECK(first.bytes(life::kept) == middle.bytes(life::kept));
  // The last one has one buffer for logits, from F to B, and for their cotangent, from B to W.
  nn::planner again(one);
  auto const plan = whole.cut(3, 4).make_plan(again, shape);
  CHECK(plan.logits.where == life::kept);
  CHECK((plan.d_logits.where == life::kept && plan.d_logits.offset == plan.logits.offset));
  CHECK(last.bytes(life::kept) >= middle.bytes(life::kept) + logits);
  CHECK(last.bytes(life::deferred) < middle.bytes(life::deferred) + logits);
  CHECK(one.bytes(life::kept) == first.bytes(life::kept) + 2 * middle.bytes(life::kept) + last.bytes(life::kept));
  // A stage without blocks copies: its input on the stack of F, its cotangent on that of B.
  CHECK(empty.bytes(life::saved) + empty.bytes(life::kept) + empty.bytes(life::deferred) == 0);
  CHECK(empty.bytes(life::fwd) == activation);
  CHECK(empty.bytes(life::bwd) == activation);
}

}  // namespace heddle
