// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/parallel/gradient_sum.hpp>

#include <support/catch.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace heddle {
namespace {

using parallel::gradient_sum;
using texts = std::vector<std::string>;

std::string joined(std::string const& a, std::string const& b) { return "(" + a + "+" + b + ")"; }
std::string leaf(index_t m) { return "<" + std::to_string(m) + ">"; }

/// Runs the steps of a sum on texts: what is left in its slots says which additions were made, in which order.
texts run(gradient_sum const& sum, index_t lo) {
  texts slots(static_cast<std::size_t>(sum.slots()), "never");
  for (int i = 0; i < sum.microbatches(); ++i) {
    parallel::gradient_step const step = sum.step(i);
    REQUIRE(step.slot < sum.slots());
    slots[static_cast<std::size_t>(step.slot)] = leaf(lo + i);
    for (int s = step.slot; s > step.slot - step.merges; --s) {
      REQUIRE(s >= 1);
      std::string& to = slots[static_cast<std::size_t>(s) - 1];
      to = joined(to, slots[static_cast<std::size_t>(s)]);
      slots[static_cast<std::size_t>(s)] = "merged";
    }
  }
  slots.resize(static_cast<std::size_t>(sum.pieces()));
  return slots;
}

}  // namespace

TEST_CASE("repeatable sums ascend into one buffer", "[parallel]") {
  for (order_policy order : {order_policy::repeatable, order_policy::relaxed}) {
    CHECK(run(gradient_sum(order, 9, 3, 4), 3) == texts{"<3>"});
    CHECK(gradient_sum(order, 9, 3, 4).slots() == 1);
    CHECK(run(gradient_sum(order, 9, 3, 7), 3) == texts{"(((<3>+<4>)+<5>)+<6>)"});
    CHECK(gradient_sum(order, 9, 3, 7).slots() == 2);
    gradient_sum const none(order, 9, 3, 3);
    CHECK(none.slots() == 0);
    CHECK(none.pieces() == 0);
    CHECK(none.microbatches() == 0);
  }
}

TEST_CASE("an elastic sum of all microbatches is the tree over them", "[parallel]") {
  for (index_t all = 1; all <= 33; ++all) {
    CAPTURE(all);
    gradient_sum const sum(order_policy::elastic, all, 0, all);
    std::string const tree = tree_reduce(all, [](index_t m) { return leaf(m); }, joined);
    CHECK(run(sum, 0) == texts{tree});
    int bits = 0;
    while ((index_t{1} << bits) < all) ++bits;
    CHECK(sum.slots() <= bits + 1);
  }
}

TEST_CASE("elastic pieces of every rank are whole nodes of the one tree, in order", "[parallel]") {
  for (index_t all = 1; all <= 17; ++all) {
    std::string const tree = tree_reduce(all, [](index_t m) { return leaf(m); }, joined);
    for (index_t lo = 0; lo <= all; ++lo)
      for (index_t hi = lo; hi <= all; ++hi) {
        CAPTURE(all, lo, hi);
        gradient_sum const sum(order_policy::elastic, all, lo, hi);
        texts const pieces = run(sum, lo);
        REQUIRE(static_cast<index_t>(pieces.size()) == tree_piece_count(all, lo, hi));
        REQUIRE(sum.slots() == tree_slots(all, lo, hi));
        std::size_t at = 0;
        index_t leaves = 0;
        for (std::string const& piece : pieces) {
          at = tree.find(piece, at);
          REQUIRE(at != std::string::npos);
          leaves += std::count(piece.begin(), piece.end(), '<');
        }
        REQUIRE(leaves == hi - lo);
      }
  }
}

TEST_CASE("microbatches outside the step are refused, and sums can be copied", "[parallel]") {
  CHECK_THROWS_AS(gradient_sum(order_policy::elastic, 4, 2, 5), contract_error);
  CHECK_THROWS_AS(gradient_sum(order_policy::elastic, 0, 0, 0), contract_error);
  gradient_sum const sum(order_policy::elastic, 6, 1, 6);
  gradient_sum copy(order_policy::repeatable, 1, 0, 1);
  copy = sum;
  CHECK(run(copy, 1) == run(gradient_sum(sum), 1));
  CHECK(copy.slots() == sum.slots());
}

}  // namespace heddle
