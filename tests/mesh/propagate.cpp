// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/mesh/box.hpp>
#include <heddle/mesh/propagate.hpp>

#include <support/catch.hpp>

#include <vector>

using namespace heddle;

namespace {
struct matrix {
  index_t rows = 0, columns = 0;
  std::vector<long> v;
  matrix(index_t r, index_t c) : rows(r), columns(c), v(static_cast<std::size_t>(r * c)) {}
  long& at(index_t i, index_t j) { return v[static_cast<std::size_t>(i * columns + j)]; }
  long at(index_t i, index_t j) const { return v[static_cast<std::size_t>(i * columns + j)]; }
  friend bool operator==(matrix const&, matrix const&) = default;
};
using ranks = std::vector<matrix>;

matrix filled(index_t r, index_t c, long seed) {
  matrix m(r, c);
  for (long& x : m.v) x = (seed = (seed * 75 + 74) % 65537) % 7 - 3;
  return m;
}
matrix product(matrix const& a, matrix const& b) {
  matrix c(a.rows, b.columns);
  for (index_t i = 0; i < a.rows; ++i)
    for (index_t j = 0; j < b.columns; ++j)
      for (index_t k = 0; k < a.columns; ++k) c.at(i, j) += a.at(i, k) * b.at(k, j);
  return c;
}
matrix turned(matrix const& a) {
  matrix t(a.columns, a.rows);
  for (index_t i = 0; i < a.rows; ++i)
    for (index_t j = 0; j < a.columns; ++j) t.at(j, i) = a.at(i, j);
  return t;
}

// What each of n ranks holds of a whole matrix under a placement; terms of a sum are split at random.
template <class P>
ranks split(matrix const& whole_one, index_t n) {
  ranks out;
  matrix rest = whole_one;
  for (index_t r = 0; r < n; ++r) {
    if constexpr (heddle::detail::is_shard<P>) {
      auto const b = shard_of(whole(dims<2>(whole_one.rows, whole_one.columns)), P::dim, n, r);
      matrix m(b.extent(0), b.extent(1));
      for (index_t i = 0; i < m.rows; ++i)
        for (index_t j = 0; j < m.columns; ++j) m.at(i, j) = whole_one.at(b.lo[0] + i, b.lo[1] + j);
      out.push_back(m);
    } else if constexpr (heddle::detail::is_sum<P>) {
      matrix const term = r + 1 < n ? filled(whole_one.rows, whole_one.columns, 11 + 5 * r) : rest;
      for (std::size_t k = 0; k < rest.v.size(); ++k) rest.v[k] -= term.v[k];
      out.push_back(term);
    } else {
      out.push_back(whole_one);
    }
  }
  return out;
}
// Whether the parts are a whole matrix under a placement.
template <class P>
bool forms(ranks const& parts, matrix const& want) {
  if constexpr (heddle::detail::is_sum<P>) {
    matrix sum(want.rows, want.columns);
    for (matrix const& m : parts) {
      if (m.rows != want.rows || m.columns != want.columns) return false;
      for (std::size_t k = 0; k < sum.v.size(); ++k) sum.v[k] += m.v[k];
    }
    return sum == want;
  } else {
    return parts == split<P>(want, static_cast<index_t>(parts.size()));
  }
}

// Whether out = a·b holds for local products, and both gradients for local vector-Jacobian products.
template <class A, class B, class C>
bool sound() {
  for (index_t n : {2, 3}) {
    matrix const a = filled(5, 4, 1), b = filled(4, 7, 2), g = filled(5, 7, 3);
    ranks const as = split<A>(a, n), bs = split<B>(b, n), gs = split<dual<C>>(g, n);
    ranks cs, das, dbs;
    for (std::size_t r = 0; r < as.size(); ++r) {
      if (as[r].columns != bs[r].rows) return false;
      cs.push_back(product(as[r], bs[r]));
      if (gs[r].rows != as[r].rows || gs[r].columns != bs[r].columns) return false;
      das.push_back(product(gs[r], turned(bs[r])));
      dbs.push_back(product(turned(as[r]), gs[r]));
    }
    if (!forms<C>(cs, product(a, b)) || !forms<dual<A>>(das, product(g, turned(b))) ||
        !forms<dual<B>>(dbs, product(turned(a), g)))
      return false;
  }
  return true;
}

using sum_of = partial<red::sum>;
template <class... P>
struct list {};
using all = list<replicated, varying, shard<0>, shard<1>, sum_of>;

template <class A, class B, class... C>
int judge(list<C...>) {
  if constexpr (matmul_refusal<A, B> == refusal::none)
    return !sound<A, B, matmul_placement<A, B>>();
  else
    return (sound<A, B, C>() + ...);  // what is refused must be wrong for every placement of the result
}
template <class A, class... B>
int judge_row(list<B...>) {
  return (judge<A, B>(all{}) + ...);
}
template <class... A>
int judge_all(list<A...>) {
  return (judge_row<A>(all{}) + ...);
}

// Whether the gradients of a legal product are legal products of the table with the dual placements.
template <class A, class B>
constexpr bool closed() {
  if constexpr (matmul_refusal<A, B> != refusal::none) {
    return true;
  } else {
    using dc = dual<matmul_placement<A, B>>;
    return std::is_same_v<matmul_placement<dc, transposed<B>>, dual<A>> &&
           std::is_same_v<matmul_placement<transposed<A>, dc>, dual<B>>;
  }
}
template <class A, class... B>
constexpr bool closed_row(list<B...>) {
  return (closed<A, B>() && ...);
}
template <class... A>
constexpr bool closed_all(list<A...>) {
  return (closed_row<A>(all{}) && ...);
}
}  // namespace

TEST_CASE("every legal product is right forward and backward, and every refused one is wrong", "[mesh]") {
  CHECK(judge_all(all{}) == 0);
}

TEST_CASE("the backward pass of a legal product is legal by the same table", "[mesh]") {
  STATIC_REQUIRE(closed_all(all{}));
}

TEST_CASE("refusals have a reason", "[mesh]") {
  STATIC_REQUIRE(matmul_refusal<shard<0>, replicated> == refusal::replicated_beside_others);
  STATIC_REQUIRE(matmul_refusal<sum_of, sum_of> == refusal::partial_twice);
  STATIC_REQUIRE(matmul_refusal<shard<0>, shard<1>> == refusal::two_outputs_on_one_axis);
  STATIC_REQUIRE(matmul_refusal<shard<1>, shard<1>> == refusal::contraction_not_matched);
  STATIC_REQUIRE(matmul_refusal<shard<1>, shard<0, layout::ceil>> == refusal::layouts_differ);
  STATIC_REQUIRE(add_refusal<sum_of, replicated> == refusal::partial_beside_whole);
  STATIC_REQUIRE(add_refusal<sum_of, varying> == refusal::partial_beside_whole);
  STATIC_REQUIRE(add_refusal<sum_of, sum_of> == refusal::none);
  STATIC_REQUIRE(add_refusal<shard<0>, varying> == refusal::sharded_beside_whole);
  STATIC_REQUIRE(add_refusal<replicated, varying> == refusal::replicated_beside_others);
  STATIC_REQUIRE(multiply_refusal<sum_of, varying> == refusal::none);
  STATIC_REQUIRE(multiply_refusal<sum_of, shard<0>> == refusal::partial_twice);
  STATIC_REQUIRE(nonlinear_refusal<sum_of> == refusal::partial_in_nonlinear);
  STATIC_REQUIRE(nonlinear_refusal<partial<red::max>> == refusal::not_differentiable);
  STATIC_REQUIRE(nonlinear_refusal<shard<1>> == refusal::none);
}

TEST_CASE("a column-parallel layer and the row-parallel one after it", "[mesh]") {
  using x = spec<resident, shard<0>, replicated, varying>;
  using w1 = spec<resident, varying, replicated, shard<1>>;
  using w2 = spec<resident, varying, replicated, shard<0>>;
  using h = matmul_spec<x, w1>;
  STATIC_REQUIRE(std::is_same_v<h, spec<resident, shard<0>, replicated, shard<1>, replicated>>);
  STATIC_REQUIRE(std::is_same_v<matmul_spec<h, w2>, spec<resident, shard<0>, replicated, sum_of, replicated>>);
  STATIC_REQUIRE(matmul_refusal<placement_on<x, axis::dp>, replicated> == refusal::replicated_beside_others);
}
