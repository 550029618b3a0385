// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The tools that other tests lean on: guarded buffers and seeded values.

#include <support/buffer.hpp>
#include <support/catch.hpp>
#include <support/random.hpp>

#include <cerrno>

#include <unistd.h>

using namespace heddle;

TEST_CASE("a buffer starts poisoned and notices writes on both sides", "[exec]") {
  for (test::guard g : {test::guard::canary, test::guard::page}) {
    for (index_t n : {0, 1, 7, 1024}) {
      test::buffer<float> b(n, g);
      index_t numbers = 0;
      for (float x : b) numbers += x == x;
      CHECK(numbers == 0);
      CHECK(b.intact());
      for (float& x : b) x = 1;
      CHECK(b.intact());
      b.data()[-1] = 0;
      CHECK(!b.intact());
    }
  }
  test::buffer<double> b(3);
  b.data()[3] = 0;
  CHECK(!b.intact());
}

TEST_CASE("a page guard ends exactly at the last element", "[exec]") {
  int pipe_ends[2];
  REQUIRE(::pipe(pipe_ends) == 0);
  for (index_t n : {1, 5, 4096, 5000}) {
    test::buffer<char> b(n, test::guard::page);
    CHECK(::write(pipe_ends[1], b.data() + n - 1, 1) == 1);
    // The kernel refuses to read what the program may not, without a signal.
    CHECK(::write(pipe_ends[1], b.data() + n, 1) == -1);
    CHECK(errno == EFAULT);
  }
  ::close(pipe_ends[0]);
  ::close(pipe_ends[1]);
}

TEST_CASE("views of a buffer are row-major and fit", "[exec]") {
  test::buffer<int> b(12);
  auto const v = b.view(3, 4);
  v(1, 2) = 5;
  CHECK(b[6] == 5);
  CHECK(b.view().size() == 12);
  CHECK_THROWS_AS(b.view(4, 4), contract_error);
}

TEST_CASE("random values are fixed by seed and index, in range and spread", "[exec]") {
  CHECK(test::random_bits(1, 0) != test::random_bits(1, 1));
  CHECK(test::random_bits(1, 0) != test::random_bits(2, 0));
  CHECK(test::random_bits(7, 3) == test::random_bits(7, 3));
  int outside = 0, low = 0;
  index_t counts[10] = {};
  for (index_t i = 0; i < 10000; ++i) {
    double const x = test::random_value(5, i, -2, 3);
    outside += x < -2 || x >= 3;
    low += x < 0.5;
    ++counts[test::random_below(9, i, 10)];
  }
  CHECK(outside == 0);
  CHECK(low > 4700);
  CHECK(low < 5300);
  for (index_t c : counts) {
    CHECK(c > 850);
    CHECK(c < 1150);
  }
}

TEST_CASE("a strided view is filled in the same order as a dense one", "[exec]") {
  test::buffer<float> dense(6), turned(6);
  test::fill_random(dense.view(2, 3), 4);
  test::fill_random(transpose(turned.view(3, 2)), 4);
  int wrong = 0;
  for (index_t i = 0; i < 2; ++i)
    for (index_t j = 0; j < 3; ++j) wrong += dense[i * 3 + j] != turned[j * 2 + i];
  CHECK(wrong == 0);
}
