// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support.hpp"

#include <heddle/algorithm/reduce.hpp>
#include <heddle/comm/operations.hpp>
#include <heddle/comm/reductions.hpp>

#include <support/executors.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <utility>

using namespace heddle;
using namespace heddle::test;

namespace {

float value(int rank, index_t i) {
  return static_cast<float>((i * 7 + rank * 31) % 101) * 0.37f - 11.0f * static_cast<float>(rank);
}

std::vector<float> input_of(int rank, index_t n) {
  std::vector<float> v(static_cast<std::size_t>(n));
  for (index_t i = 0; i < n; ++i) v[static_cast<std::size_t>(i)] = value(rank, i);
  return v;
}

/// T(p) over ranks, as the definition reads: pairs of the first 2f ranks, then a perfect tree.
template <class A, class Leaf, class Op>
A tree(int p, Leaf const& leaf, Op const& op) {
  int q = 1;
  while (2 * q <= p) q *= 2;
  int const f = p - q;
  std::vector<A> v;
  for (int i = 0; i < q; ++i) v.push_back(i < f ? op(leaf(2 * i), leaf(2 * i + 1)) : leaf(i + f));
  while (v.size() > 1) {
    std::vector<A> next;
    for (std::size_t i = 0; i + 1 < v.size(); i += 2) next.push_back(op(v[i], v[i + 1]));
    v = next;
  }
  return v[0];
}

template <class T>
std::uint64_t bits(T x) {
  std::uint64_t b = 0;
  std::memcpy(&b, &x, sizeof x);
  return b;
}

/// All ranks hold one value each, in every element; returns the result, or fails where elements or ranks differ.
template <class T, class Op>
T reduce_constant(std::vector<T> const& values, index_t n, Op const& op, rank_checks& check) {
  T result{};
  on_every_transport(static_cast<int>(values.size()), [&](auto& comm) {
    serial_executor exec;
    std::vector<T> in = filled(n, values[static_cast<std::size_t>(comm.rank())]), out(in.size());
    all_reduce(comm, exec, as_view(in), as_view(out), op);
    bool same = true;
    for (T const& x : out) same = same && bits(x) == bits(out[0]);
    check(same, "all elements are equal");
    std::vector<T> all(static_cast<std::size_t>(comm.size()));
    all_gather(comm, exec, slice(as_view(out), 0, 0, 1), as_view(all));
    for (T const& x : all) check(bits(x) == bits(out[0]), "all ranks are equal");
    if (comm.rank() == 0) result = out[0];
  });
  return result;
}

/// 2 by 2 matrices under multiplication modulo 2^32: associative, not commutative.
struct matrix {
  std::uint32_t a, b, c, d;
  bool operator==(matrix const&) const = default;
};
struct matrix_product {
  matrix operator()(matrix x, matrix y) const noexcept {
    return {x.a * y.a + x.b * y.c, x.a * y.b + x.b * y.d, x.c * y.a + x.d * y.c, x.c * y.b + x.d * y.d};
  }
};

struct product_monoid {
  using value_type = matrix;
  static constexpr bool commutative = false, exact = true;
  matrix identity() const { return {1, 0, 0, 1}; }
  matrix combine(matrix const& x, matrix const& y) const noexcept { return matrix_product{}(x, y); }
};

}  // namespace

TEST_CASE("reductions follow T(p) on every transport", "[comm]") {
  for (int p : rank_counts) {
    rank_checks check;
    on_every_transport(p, [&](auto& comm) {
      serial_executor exec;
      for (index_t n : test::sampled(element_counts)) {
        std::vector<float> in = input_of(comm.rank(), n), out = filled(n, __builtin_nanf("")), right(in.size());
        for (index_t i = 0; i < n; ++i)
          right[static_cast<std::size_t>(i)] = tree<float>(p, [&](int r) { return value(r, i); }, plus{});
        all_reduce(comm, exec, as_view(in), as_view(out));
        check(out == right, "all_reduce p " + std::to_string(p) + " n " + std::to_string(n));
        int const root = static_cast<int>((n + 1) % p);
        std::vector<float> at_root = filled(comm.rank() == root ? n : 0, __builtin_nanf(""));
        reduce_to_root(comm, exec, as_view(in), as_view(at_root), root);
        check(comm.rank() != root || at_root == right, "reduce_to_root");
        part const mine = balanced_part(n, p, comm.rank());
        std::vector<float> block = filled(mine.size, __builtin_nanf(""));
        reduce_scatter(comm, exec, as_view(in), as_view(block));
        check(std::equal(block.begin(), block.end(), right.begin() + mine.offset), "reduce_scatter");
        std::vector<float> again = in;
        reduce_scatter(comm, exec, as_view(again), slice(as_view(again), 0, mine.offset, mine.end()));
        check(std::equal(block.begin(), block.end(), again.begin() + mine.offset), "reduce_scatter in place");
        all_reduce(comm, exec, as_view(in), as_view(in));
        check(in == right, "all_reduce in place");
      }
    });
    check.finish();
  }
}

TEST_CASE("every root of reduce_to_root gets the same bits", "[comm]") {
  for (int p : rank_counts) {
    rank_checks check;
    on_every_transport(p, [&](auto& comm) {
      serial_executor exec;
      std::vector<float> const in = input_of(comm.rank(), 50);
      std::vector<float> right(50);
      for (index_t i = 0; i < 50; ++i)
        right[static_cast<std::size_t>(i)] = tree<float>(p, [&](int r) { return value(r, i); }, plus{});
      for (int root = 0; root < p; ++root) {
        std::vector<float> out = filled(comm.rank() == root ? 50 : 0, 0.0f);
        reduce_to_root(comm, exec, as_view(in), as_view(out), root);
        check(comm.rank() != root || out == right, "root " + std::to_string(root));
      }
    });
    check.finish();
  }
}

TEST_CASE("a value that is the same everywhere gives one result everywhere", "[comm]") {
  rank_checks check;
  for (index_t n : {1, 8, 64, 1024, 1500, 5000, 20000}) {
    CAPTURE(n);
    REQUIRE(reduce_constant<float>({1e8f, 1, -1e8f}, n, plus{}, check) == 0.0f);
    REQUIRE(reduce_constant<float>({1e8f, 1, -1e8f, 1}, n, plus{}, check) == 0.0f);
    REQUIRE(reduce_constant<float>({1e8f, 1, -1e8f, 1, 1}, n, plus{}, check) == 2.0f);
  }
  float const u = std::ldexp(1.0f, -24);
  REQUIRE(bits(reduce_constant<float>({1, u, u, u, u, u, u, u}, 3, plus{}, check)) == 0x3F800003u);
  check.finish();
}

TEMPLATE_TEST_CASE("CO-4: NaN wins in minimum and maximum at every place", "[comm]", float, double, bf16, fp16) {
  rank_checks check;
  float const nan = __builtin_nanf("");
  std::vector<float> values = {2, nan, 5, 7};
  std::vector<int> places = {0, 1, 2, 3};
  do {
    std::vector<TestType> v;
    for (int i : places) v.push_back(TestType(values[static_cast<std::size_t>(i)]));
    REQUIRE(std::isnan(static_cast<float>(reduce_constant(v, 33, minimum{}, check))));
    REQUIRE(std::isnan(static_cast<float>(reduce_constant(v, 3000, maximum{}, check))));
  } while (std::next_permutation(places.begin(), places.end()));
  std::vector<TestType> const all = {TestType(nan), TestType(-nan), TestType(nan)};
  REQUIRE(bits(reduce_constant(all, 17, minimum{}, check)) == bits(TestType(nan)));
  REQUIRE(bits(reduce_constant(all, 17, plus{}, check)) == bits(TestType(nan)));
  check.finish();
}

TEST_CASE("zeros, infinities and overflow", "[comm]") {
  rank_checks check;
  float const inf = std::numeric_limits<float>::infinity();
  REQUIRE(std::signbit(reduce_constant<float>({0.0f, -0.0f}, 5, minimum{}, check)));
  REQUIRE(std::signbit(reduce_constant<float>({-0.0f, 0.0f}, 5, minimum{}, check)));
  REQUIRE(!std::signbit(reduce_constant<float>({-0.0f, 0.0f}, 5, maximum{}, check)));
  REQUIRE(!std::signbit(reduce_constant<float>({0.0f, -0.0f}, 5, maximum{}, check)));
  REQUIRE(bits(reduce_constant<float>({inf, -inf}, 5, plus{}, check)) == 0x7FC00000u);
  REQUIRE(std::isnan(reduce_constant<float>({3e38f, 3e38f, -3e38f, -3e38f}, 5, plus{}, check)));
  REQUIRE(reduce_constant<float>({3e38f, -3e38f, 3e38f, -3e38f}, 5, plus{}, check) == 0);
  check.finish();
}

TEST_CASE("16-bit floats accumulate in fp32 and round once", "[comm]") {
  rank_checks check;
  for (index_t n : {1, 5000}) {
    std::vector<bf16> const v = {bf16(256.0f), bf16(1.0f), bf16(1.0f), bf16(1.0f),
                                 bf16(1.0f),   bf16(1.0f), bf16(1.0f), bf16(1.0f)};
    REQUIRE(float(reduce_constant(v, n, plus{}, check)) == 264);
    REQUIRE(float(reduce_constant(v, n, mean{}, check)) == 33);
    REQUIRE(float(reduce_constant<fp16>({fp16(60000.0f), fp16(60000.0f)}, n, mean{}, check)) ==
            float(fp16(60000.0f)));
    REQUIRE(std::isinf(reduce_constant<float>({3e38f, 3e38f}, n, mean{}, check)));
  }
  check.finish();
}

TEST_CASE("integers wrap, and their mean goes toward zero", "[comm]") {
  rank_checks check;
  for (index_t n : {2, 9000}) {
    REQUIRE(reduce_constant<std::int16_t>({16384, 16384, 16384}, n, plus{}, check) == -16384);
    REQUIRE(reduce_constant<std::int32_t>({INT32_MAX, 1}, n, plus{}, check) == INT32_MIN);
    REQUIRE(reduce_constant<std::int32_t>({INT32_MAX, INT32_MAX}, n, mean{}, check) == INT32_MAX);
    REQUIRE(reduce_constant<std::int32_t>({-3, -4}, n, mean{}, check) == -3);
    REQUIRE(reduce_constant<std::int8_t>({16, 16, 3}, n, multiplies{}, check) == 0);
    REQUIRE(reduce_constant<std::uint8_t>({200, 100}, n, maximum{}, check) == 200);
    REQUIRE(reduce_constant<double>({0.5, 0.25, 3}, n, multiplies{}, check) == 0.375);
  }
  check.finish();
}

TEST_CASE("a monoid reduces in its value type and needs no other member", "[comm]") {
  rank_checks check;
  on_every_transport(3, [&](auto& comm) {
    serial_executor exec;
    for (index_t n : {1, 5000}) {
      // In float 1e8 + 1 is 1e8.
      std::vector<float> v = filled(n, comm.rank() == 0 ? 1e8f : comm.rank() == 1 ? 1.0f : -1e8f), out = v;
      all_reduce(comm, exec, as_view(v), as_view(out), plus<double>{});
      check(out == filled(n, 1.0f), "plus<double> over float");
      std::vector<matrix> in(static_cast<std::size_t>(n)), product = in;
      for (matrix& m : in) m = {1, static_cast<std::uint32_t>(comm.rank()), 2, 3};
      all_reduce(comm, exec, as_view(in), as_view(product), product_monoid{});
      auto const leaf = [](std::uint32_t r) { return matrix{1, r, 2, 3}; };
      matrix const right = matrix_product{}(matrix_product{}(leaf(0), leaf(1)), leaf(2));
      check(product.front() == right && product.back() == right, "matrices in the order of ranks");
    }
  });
  check.finish();
}

TEST_CASE("fewer elements than ranks", "[comm]") {
  for (int p : {5, 7, 8})
    for (index_t n : {1, 2, p - 1}) {
      rank_checks check;
      on_every_transport(p, [&](auto& comm) {
        serial_executor exec;
        std::vector<int> v = filled(n, comm.rank() + 1);
        all_reduce(comm, exec, as_view(v), as_view(v));
        check(v == filled(n, p * (p + 1) / 2), "sum of ranks");
      });
      check.finish();
    }
}

TEST_CASE("reduce_scatter_v with uneven counts", "[comm]") {
  rank_checks check;
  on_every_transport(4, [&](auto& comm) {
    serial_executor exec;
    std::vector<int> in(73);
    for (int i = 0; i < 73; ++i) in[static_cast<std::size_t>(i)] = i + 1000 * comm.rank();
    std::vector<int> block = filled(balanced_part(73, 4, comm.rank()).size, -1);
    reduce_scatter(comm, exec, as_view(in), as_view(block));
    check(comm.rank() != 1 || (block.size() == 18 && block.front() == 6076 && block.back() == 6144), "balanced");
    std::vector<index_t> const counts = {18, 19, 18, 18};
    std::vector<int> other = filled(counts[static_cast<std::size_t>(comm.rank())], -1);
    reduce_scatter_v(comm, exec, as_view(in), as_view(other), as_view(counts));
    check(comm.rank() != 1 || (other.size() == 19 && other.front() == 6072 && other.back() == 6144), "by counts");
    std::vector<index_t> const wrong = {18, 18, 18, 18};
    std::string what;
    int const got = code_of([&] { reduce_scatter_v(comm, exec, as_view(in), as_view(other), as_view(wrong)); }, &what);
    check(got == contract && what.find("add up") != std::string::npos, "counts that don't add up: " + what);
    all_reduce(comm, exec, as_view(in), as_view(in));
    check(in[5] == 4 * 5 + 6000, "the communicator is still usable");
  });
  check.finish();
}

TEST_CASE("an operation that does not commute keeps the order of ranks", "[comm]") {
  for (int p : rank_counts)
    for (index_t n : {1, 700}) {
      rank_checks check;
      auto const leaf = [](int r) {
        std::uint32_t const x = static_cast<std::uint32_t>(r);
        return matrix{x + 1, 2 * x + 3, x * x + 1, 5 * x + 2};
      };
      matrix right = leaf(0);
      for (int r = 1; r < p; ++r) right = matrix_product{}(right, leaf(r));
      on_every_transport(p, [&](auto& comm) {
        serial_executor exec;
        std::vector<matrix> in = filled(n, leaf(comm.rank())), out(in.size());
        all_reduce(comm, exec, as_view(in), as_view(out), matrix_product{});
        check(out == filled(n, right), "all_reduce");
        for (int root = 0; root < p; ++root) {
          std::vector<matrix> at_root(comm.rank() == root ? in.size() : 0);
          reduce_to_root(comm, exec, as_view(in), as_view(at_root), root, matrix_product{});
          check(comm.rank() != root || at_root == filled(n, right), "reduce_to_root");
        }
      });
      check.finish();
    }
}

TEST_CASE("one rank gets its input back, bit for bit", "[comm]") {
  rank_checks check;
  on_every_transport(1, [&](auto& comm) {
    serial_executor exec;
    for (index_t n : {1, 4000}) {
      float odd_nan = 0;
      std::uint32_t const payload = 0x7FABCDEFu;
      std::memcpy(&odd_nan, &payload, 4);
      std::vector<float> in = filled(n, odd_nan), out = filled(n, 0.0f);
      all_reduce(comm, exec, as_view(in), as_view(out), mean{});
      check(std::memcmp(in.data(), out.data(), in.size() * 4) == 0, "mean");
      std::vector<float> scattered = filled(n, 0.0f);
      reduce_scatter(comm, exec, as_view(in), as_view(scattered));
      check(std::memcmp(in.data(), scattered.data(), in.size() * 4) == 0, "reduce_scatter");
    }
  });
  check.finish();
}

TEST_CASE("messages and shared memory give the same bits", "[comm]") {
  for (int p : {3, 5, 8}) {
    rank_checks check;
    run_test_ranks(p, [&](thread_communicator& comm) {
      serial_executor exec;
      messages_only<thread_communicator> over(comm);
      std::mt19937 random(static_cast<unsigned>(comm.rank()));
      std::vector<bf16> in(4099), a(4099), b(4099);
      for (bf16& x : in)
        x = bf16(std::ldexp(static_cast<float>(random() % 4096) - 2048, static_cast<int>(random() % 40) - 20));
      all_reduce(comm, exec, as_view(in), as_view(a), mean{});
      all_reduce(over, exec, as_view(in), as_view(b), mean{});
      check(std::memcmp(a.data(), b.data(), a.size() * 2) == 0, "bits");
      std::vector<bf16> all(a.size() * static_cast<std::size_t>(p));
      all_gather(comm, exec, as_view(a), as_view(all));
      for (int r = 0; r < p; ++r)
        check(std::memcmp(a.data(), all.data() + static_cast<std::size_t>(r) * a.size(), a.size() * 2) == 0, "ranks");
    });
    check.finish();
  }
}

TEST_CASE("SH-2: mean and maximum of rows that are cut unevenly, one part empty", "[comm]") {
  for (int rows : {5, 1}) {
    rank_checks check;
    run_test_ranks(2, [&](thread_communicator& comm) {
      serial_executor exec;
      part const mine = balanced_part(rows, 2, comm.rank());
      std::vector<double> values;
      for (index_t i = 2 * mine.offset; i < 2 * mine.end(); ++i) values.push_back(static_cast<double>(i));
      std::vector<double> sums(2, static_cast<double>(values.size())), most(1);
      reduce(exec, as_view(std::as_const(values)), view<double, 1>(sums.data(), dims<1>(1)), plus<double>{});
      for (double& v : values) v -= 100;
      reduce(exec, as_view(std::as_const(values)), as_view(most), maximum<double>{});
      all_reduce(comm, exec, as_view(std::as_const(sums)), as_view(sums));
      all_reduce(comm, exec, as_view(std::as_const(most)), as_view(most), maximum{});
      check(sums[0] / sums[1] == (rows == 5 ? 4.5 : 0.5), "mean");
      check(most[0] == (rows == 5 ? -91 : -99), "maximum");
    });
    check.finish(4);
  }
}
