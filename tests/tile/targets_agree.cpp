// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/algorithm/reduce.hpp>
#include <heddle/linalg/tile_matmul.hpp>
#include <heddle/nn/softmax.hpp>

#include <support/catch.hpp>
#include <support/executors.hpp>
#include <support/numbers.hpp>

using namespace heddle;

namespace {
struct results {
  std::vector<float> softmax, matmul, narrow, sums;
  bool operator==(results const& o) const {
    return test::same_bits(softmax, o.softmax) && test::same_bits(matmul, o.matmul) &&
           test::same_bits(narrow, o.narrow) && test::same_bits(sums, o.sums);
  }
};

template <class E>
results run_all(E& exec) {
  index_t const rows = 37, columns = 203;
  std::vector<float> const x = test::random_floats(rows * columns, 1, 9);
  results r;
  r.softmax.resize(x.size());
  r.matmul.resize(rows * rows);
  r.narrow.resize(x.size());
  r.sums.resize(2);
  view<float const, 2> const v(x.data(), dims<2>(rows, columns));
  nn::softmax(exec, v, view<float, 2>(r.softmax.data(), dims<2>(rows, columns)));
  linalg::tile_matmul(exec, v, transpose(v), view<float, 2>(r.matmul.data(), dims<2>(rows, rows)));
  std::vector<bf16> half(x.size());
  nn::softmax(exec, v, view<bf16, 2>(half.data(), dims<2>(rows, columns)));
  reduce(exec, v, view<float, 1>(r.sums.data(), dims<1>(1)), plus<float>{});
  transform_reduce(exec, view<float, 1>(r.sums.data() + 1, dims<1>(1)), plus<float>{}, multiplies<>{}, v, v);
  exec.synchronize();
  for (std::size_t i = 0; i < half.size(); ++i) r.narrow[i] = float(half[i]);
  return r;
}
}  // namespace

TEST_CASE("the instruction sets and the simulator agree to the bit", "[tile]") {
  reference_executor oracle;
  results const want = run_all(oracle);
  int sets = 0;
  test::for_each_isa([&](isa) {
    serial_executor exec;
    REQUIRE(run_all(exec) == want);
    ++sets;
  });
  REQUIRE(sets >= 1);
  sim_executor sim;
  REQUIRE(run_all(sim) == want);
  // One number for all results: it is the same for every compiler and every set of flags.
  std::vector<float> all = want.softmax;
  for (auto* part : {&want.matmul, &want.narrow, &want.sums}) all.insert(all.end(), part->begin(), part->end());
  REQUIRE(test::digest(all) == 0x354671228ad5ab86u);
}
