// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/core/tree.hpp>

#include "support/catch.hpp"

#include <string>
#include <vector>

using heddle::index_t;
using heddle::part;

namespace {

// T(n) as text, straight from its definition.
std::string tree_text(index_t n) {
  index_t q = 1;
  while (2 * q <= n) q *= 2;
  index_t const f = n - q;
  std::vector<std::string> v;
  for (index_t i = 0; i < q; ++i)
    v.push_back(i < f ? "(" + std::to_string(2 * i) + "+" + std::to_string(2 * i + 1) + ")" : std::to_string(i + f));
  while (v.size() > 1) {
    std::vector<std::string> w;
    for (std::size_t i = 0; i < v.size(); i += 2) w.push_back("(" + v[i] + "+" + v[i + 1] + ")");
    v = w;
  }
  return v[0];
}

struct node {
  index_t lo, hi;
  bool operator==(node const& o) const { return lo == o.lo && hi == o.hi; }
};

// All nodes of T(n), leaves included, from its definition.
std::vector<node> all_nodes(index_t n) {
  index_t q = 1;
  while (2 * q <= n) q *= 2;
  index_t const f = n - q;
  std::vector<node> nodes, level;
  for (index_t i = 0; i < n; ++i) nodes.push_back({i, i + 1});
  for (index_t i = 0; i < q; ++i) level.push_back(i < f ? node{2 * i, 2 * i + 2} : node{i + f, i + f + 1});
  for (;;) {
    for (auto const& x : level)
      if (x.hi - x.lo > 1) nodes.push_back(x);
    if (level.size() == 1) return nodes;
    std::vector<node> up;
    for (std::size_t i = 0; i < level.size(); i += 2) up.push_back({level[i].lo, level[i + 1].hi});
    level = up;
  }
}

// The nodes inside [lo, hi) that no other node inside it contains.
std::vector<node> maximal_nodes(std::vector<node> const& nodes, index_t lo, index_t hi) {
  std::vector<node> result;
  for (index_t at = lo; at < hi;) {
    node best{at, at};
    for (auto const& x : nodes)
      if (x.lo == at && x.hi <= hi && x.hi > best.hi) best = x;
    result.push_back(best);
    at = best.hi;
  }
  return result;
}

std::string plus(std::string const& a, std::string const& b) { return "(" + a + "+" + b + ")"; }

}  // namespace

TEST_CASE("the canonical tree", "[core]") {
  auto const leaf = [](index_t i) { return std::to_string(i); };
  REQUIRE(heddle::tree_reduce(1, leaf, plus) == "0");
  REQUIRE(heddle::tree_reduce(3, leaf, plus) == "((0+1)+2)");
  REQUIRE(heddle::tree_reduce(5, leaf, plus) == "(((0+1)+2)+(3+4))");
  REQUIRE(heddle::tree_reduce(6, leaf, plus) == "(((0+1)+(2+3))+(4+5))");
  REQUIRE(heddle::tree_reduce(7, leaf, plus) == "(((0+1)+(2+3))+((4+5)+6))");
  for (index_t n = 1; n <= 64; ++n) REQUIRE(heddle::tree_reduce(n, leaf, plus) == tree_text(n));
  STATIC_REQUIRE(heddle::tree_reduce(
                     10, [](index_t i) { return i; }, [](index_t a, index_t b) { return a + b; }) == 45);
}

TEST_CASE("leaves are asked for in ascending order", "[core]") {
  for (index_t n : {1, 2, 3, 13, 64}) {
    index_t next = 0;
    heddle::tree_reduce(
        n, [&](index_t i) { return i == next++ ? 0 : 1; }, [](int a, int b) { return a + b; });
    REQUIRE(next == n);
  }
}

TEST_CASE("pieces are the maximal nodes inside a range", "[core]") {
  for (index_t n = 1; n <= 64; ++n) {
    auto const nodes = all_nodes(n);
    for (index_t lo = 0; lo <= n; ++lo)
      for (index_t hi = lo; hi <= n; ++hi) {
        std::vector<node> found;
        heddle::tree_pieces(n, lo, hi, [&](part p) { found.push_back({p.offset, p.end()}); });
        if (found != maximal_nodes(nodes, lo, hi)) FAIL("pieces of T(" << n << ") in [" << lo << ", " << hi << ")");
        if (heddle::tree_piece_count(n, lo, hi) != index_t(found.size())) FAIL("count");
      }
  }
  SUCCEED();
}

TEST_CASE("published piece counts", "[core]") {
  auto const counts = [](index_t leaves, index_t ranks) {
    std::string s;
    for (index_t r = 0; r < ranks; ++r) {
      part const p = heddle::balanced_part(leaves, ranks, r);
      s += (r ? "," : "") + std::to_string(heddle::tree_piece_count(leaves, p.offset, p.end()));
    }
    return s;
  };
  REQUIRE(counts(64, 3) == "3,5,3");
  REQUIRE(counts(64, 5) == "3,4,5,3,2");
  REQUIRE(counts(64, 6) == "3,4,3,4,3,2");
  REQUIRE(counts(64, 7) == "2,4,3,3,4,4,2");
  REQUIRE(counts(64, 8) == "1,1,1,1,1,1,1,1");
  REQUIRE(counts(12, 2) == "2,2");
  REQUIRE(counts(12, 3) == "1,1,1");
  REQUIRE(counts(12, 5) == "2,2,1,1,1");
}

TEST_CASE("leaves merged as they arrive give the pieces of the tree", "[core]") {
  for (index_t n = 1; n <= 64; ++n)
    for (index_t ranks : {1, 2, 3, 5, 7, 8})
      for (index_t r = 0; r < ranks; ++r) {
        part const range = heddle::balanced_part(n, ranks, r);
        std::vector<std::string> slots;
        std::size_t most = 0;
        heddle::tree_accumulate merge(n, range.offset, range.end());
        while (!merge.done()) {
          if (merge.next_slot() != int(slots.size())) FAIL("slot");
          slots.push_back(std::to_string(merge.leaf()));
          if (slots.size() > most) most = slots.size();
          for (int m = merge.push(); m > 0; --m) {
            std::string const top = slots.back();
            slots.pop_back();
            slots.back() = plus(slots.back(), top);
          }
        }
        if (merge.pieces() != int(slots.size())) FAIL("pieces");
        if (index_t(most) != heddle::tree_slots(n, range.offset, range.end())) FAIL("slots");
        index_t log2 = 0;
        while ((index_t{1} << log2) < range.size) ++log2;
        if (index_t(most) > (range.offset == 0 ? log2 + 1 : 2 * log2 + 1)) FAIL("slots for " << n << ", " << ranks);
        if (ranks == 1 && (slots.size() != 1 || slots[0] != tree_text(n))) FAIL("tree");
        std::size_t i = 0;
        heddle::tree_pieces(n, range.offset, range.end(), [&](part p) {
          std::string const piece = slots[i++];
          if (tree_text(n).find(piece) == std::string::npos) FAIL(piece << " is no node");
          if (piece.find(std::to_string(p.offset)) == std::string::npos) FAIL(piece << " is elsewhere");
        });
      }
  SUCCEED();
}

TEST_CASE("balanced parts", "[core]") {
  for (index_t n : {0, 1, 2, 7, 12, 64})
    for (index_t k : {1, 2, 3, 5, 8, 13}) {
      index_t at = 0;
      for (index_t i = 0; i < k; ++i) {
        part const p = heddle::balanced_part(n, k, i);
        REQUIRE(p.offset == at);
        REQUIRE((p.size == n / k || (p.size == n / k + 1 && i < n % k)));
        for (index_t e = p.offset; e < p.end(); ++e) REQUIRE(heddle::balanced_owner(n, k, e) == i);
        at = p.end();
      }
      REQUIRE(at == n);
    }
  REQUIRE_THROWS_AS(heddle::balanced_part(5, 0, 0), heddle::contract_error);
  REQUIRE_THROWS_AS(heddle::balanced_part(5, 2, 2), heddle::contract_error);
  REQUIRE_THROWS_AS(heddle::tree_reduce(
                        0, [](index_t i) { return i; }, [](index_t a, index_t) { return a; }),
                    heddle::contract_error);
}
