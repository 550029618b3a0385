// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/model/decoder.hpp>
#include <heddle/parallel/parameter_list.hpp>

#include <support/catch.hpp>

#include <string>
#include <vector>

namespace heddle {
namespace {

using parallel::parameter_list;
using parallel::tied_use;

auto model_of(bool tied) {
  model::decoder_sizes s;
  s.vocabulary = 11;
  s.layers = 3;
  s.width = 4;
  s.heads = s.key_heads = 2;
  s.hidden = 6;
  s.positions = 5;
  s.tied = tied;
  return model::gpt2(s);
}
constexpr index_t table = 11 * 4, positions = 5 * 4;
constexpr index_t block = 8 + (4 * 12 + 12) + (4 * 4 + 4) + 8 + (4 * 6 + 6) + (6 * 4 + 4);

std::vector<index_t> bucket_sizes(parameter_list const& l) {
  std::vector<index_t> sizes;
  for (int b = 0; b < l.buckets(); ++b) sizes.push_back(l.layout().bucket(b).size);
  return sizes;
}

/// Every leaf of a bound tree with its place in the flat buffer.
struct place {
  std::string name;
  index_t at, size;
};
template <class Stage, class Tree>
std::vector<place> places(Stage const& stage, Tree& tree, float const* flat) {
  std::vector<place> all;
  nn::for_each_leaf(
      stage,
      [&](char const* name, auto const&, nn::leaf_options const&, auto& leaf) {
        all.push_back({name, leaf.local.data() - flat, leaf.local.size()});
      },
      tree);
  return all;
}

/// A description of leaves of one number, each in its bucket: what a stage says, without a stage.
struct named_leaves {
  std::vector<std::pair<int, char const*>> leaves;
  bool first = true, last = true;

  int buckets() const { return 4; }
  template <class Visitor>
  void describe(Visitor& v) const {
    for (auto const& [bucket, name] : leaves) {
      v.bucket(bucket);
      v.leaf(name, dims<1>(1), nn::leaf_options{});
    }
  }
};

}  // namespace

TEST_CASE("a tie that two buckets can't hold is refused", "[parallel]") {
  auto const list_of = [](named_leaves const& l) { return parameter_list(l, l, 1); };
  CHECK(list_of({{{0, "w"}, {1, "a"}, {2, "b"}, {3, "w"}}}).aliased());
  CHECK_THROWS_AS(list_of({{{0, "e"}, {1, "w"}, {2, "w"}, {3, "h"}}}), contract_error);  // between blocks
  CHECK_THROWS_AS(list_of({{{0, "w"}, {1, "w"}}}), contract_error);                       // with a block
  CHECK_THROWS_AS(list_of({{{0, "w"}, {0, "w"}}}), contract_error);                       // inside the source
  CHECK_THROWS_AS(list_of({{{0, "w"}, {3, "w"}, {3, "w"}}}), contract_error);             // three uses
}

TEST_CASE("a tied table is stored once where one stage holds both uses, with two gradients", "[parallel]") {
  auto const whole = model_of(true);
  parameter_list const l(whole, whole, 2);
  CHECK(bucket_sizes(l) == std::vector<index_t>{table, positions, block, block, block, 8, table});
  CHECK(l.records().size() == 2 + 36 + 2 + 1);
  CHECK(l.records().front().name == "wte.weight");
  CHECK(l.records().front().use == tied_use::source);
  CHECK(l.records().front().extents == std::vector<index_t>{11, 4});
  CHECK(l.records().back().use == tied_use::back);
  CHECK(l.records()[1].use == tied_use::none);
  CHECK(l.tied_here());
  CHECK(l.aliased());
  CHECK(l.layout().size() == 2 * table + positions + 3 * block + 8);
  CHECK(l.stored_size() == l.layout().size() - table);
  CHECK(l.stored_at(0) == 0);
  CHECK(l.stored_at(l.records().size() - 1) == 0);

  std::vector<float> flat(static_cast<std::size_t>(l.layout().size()));
  auto weights = whole.tree<nn::in_use<float>>();
  auto gradients = whole.tree<nn::gradient<float>>();
  l.bind(whole, weights, static_cast<float const*>(flat.data()), false);
  l.bind(whole, gradients, flat.data(), true);
  std::vector<place> const w = places(whole, weights, flat.data()), g = places(whole, gradients, flat.data());
  CHECK(w.front().at == 0);
  CHECK(w.back().at == 0);  // the head reads the token table
  CHECK(g.front().at == 0);
  CHECK(g.back().at == l.layout().size() - table);
  // Gradients lie one after the other without gaps.
  index_t next = 0;
  for (std::size_t i = 0; i < g.size(); ++i) {
    CAPTURE(g[i].name);
    CHECK(g[i].at == next);
    next += g[i].size;
    if (i + 1 < g.size()) CHECK(w[i].at == g[i].at);
  }
  CHECK(next == l.layout().size());
}

TEST_CASE("a tied table has the same cut on both of its stages", "[parallel]") {
  auto const whole = model_of(true);
  for (index_t ranks : {1, 2, 3}) {
    parameter_list const first(whole.cut(0, 2), whole, ranks), last(whole.cut(1, 2), whole, ranks);
    CHECK(bucket_sizes(first) == std::vector<index_t>{table, positions, block, block, 0, 0});
    CHECK(bucket_sizes(last) == std::vector<index_t>{0, 0, block, 8, table});
    CHECK(first.has(tied_use::source));
    CHECK_FALSE(first.has(tied_use::back));
    CHECK(last.has(tied_use::back));
    CHECK_FALSE(first.aliased());
    CHECK_FALSE(last.aliased());
    CHECK(first.stored_size() == first.layout().size());
    for (index_t r = 0; r < ranks; ++r)
      CHECK(first.layout().owned(first.source_tie_bucket(), r) == last.layout().owned(last.back_tie_bucket(), r));
  }
}

TEST_CASE("a stage in the middle has neither end, and none has blocks where there are too few", "[parallel]") {
  auto const whole = model_of(true);
  parameter_list const middle(whole.cut(1, 3), whole, 1), empty(whole.cut(3, 5), whole, 2);
  CHECK(bucket_sizes(middle) == std::vector<index_t>{0, 0, block, 0, 0});
  CHECK(middle.records().front().name == "h.1.ln_1.weight");
  CHECK_FALSE(middle.tied_here());
  CHECK(bucket_sizes(empty) == std::vector<index_t>{0, 0, 0, 0});
  CHECK(empty.records().empty());
  CHECK(empty.stored_size() == 0);
}

TEST_CASE("without a tie the two tables are two parameters", "[parallel]") {
  auto const whole = model_of(false);
  parameter_list const l(whole, whole, 1);
  CHECK(bucket_sizes(l) == std::vector<index_t>{0, table + positions, block, block, block, 8 + table, 0});
  CHECK(l.records().back().name == "lm_head.weight");
  CHECK_FALSE(l.tied_here());
  CHECK_FALSE(l.aliased());
  CHECK(l.stored_size() == l.layout().size());
}

TEST_CASE("buckets of the layout are ready with those of the stage, the last first", "[parallel]") {
  auto const whole = model_of(true);
  parameter_list const l(whole, whole, 1);
  std::vector<int> order;
  for (int b = whole.buckets() - 1; b >= 0; --b) l.for_each_ready(b, [&](int ready) { order.push_back(ready); });
  CHECK(order == std::vector<int>{6, 5, 4, 3, 2, 1, 0});
}

TEST_CASE("decay and initial values travel with the records", "[parallel]") {
  auto const whole = model_of(true);
  parameter_list const l(whole, whole, 1);
  for (auto const& r : l.records()) {
    CAPTURE(r.name);
    CHECK(r.options.decay == (r.extents.size() == 2));
    index_t size = 1;
    for (index_t e : r.extents) size *= e;
    CHECK(r.size == size);
  }
}

}  // namespace heddle
