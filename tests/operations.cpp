// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// What operations say of their work: the closed formulas of bytes and flops, the same from a plan and from an
/// observer.

#include <heddle/algorithm/balanced_for.hpp>
#include <heddle/algorithm/compact.hpp>
#include <heddle/algorithm/coo.hpp>
#include <heddle/algorithm/copy.hpp>
#include <heddle/algorithm/for_each.hpp>
#include <heddle/algorithm/histogram.hpp>
#include <heddle/algorithm/partition_by_key.hpp>
#include <heddle/algorithm/reduce.hpp>
#include <heddle/algorithm/rfft.hpp>
#include <heddle/algorithm/scan.hpp>
#include <heddle/algorithm/scatter.hpp>
#include <heddle/algorithm/search.hpp>
#include <heddle/algorithm/segmented.hpp>
#include <heddle/algorithm/segmented_sort.hpp>
#include <heddle/algorithm/sort_by.hpp>
#include <heddle/algorithm/sparse.hpp>
#include <heddle/algorithm/stencil.hpp>
#include <heddle/algorithm/top_k.hpp>
#include <heddle/attention/append.hpp>
#include <heddle/attention/merge.hpp>
#include <heddle/backend/reference/matmul.hpp>
#include <heddle/core/bf16.hpp>
#include <heddle/exec/observed.hpp>
#include <heddle/exec/plan.hpp>
#include <heddle/linalg/gemv.hpp>
#include <heddle/linalg/grouped_matmul.hpp>
#include <heddle/linalg/matmul_row_statistics.hpp>
#include <heddle/linalg/matmul_swiglu.hpp>
#include <heddle/linalg/tile_matmul.hpp>
#include <heddle/nn/activation.hpp>
#include <heddle/nn/add_norm.hpp>
#include <heddle/nn/column_sum.hpp>
#include <heddle/nn/cross_entropy.hpp>
#include <heddle/nn/elementwise.hpp>
#include <heddle/nn/embedding.hpp>
#include <heddle/nn/from_statistics.hpp>
#include <heddle/nn/layer_norm.hpp>
#include <heddle/nn/linear_cross_entropy.hpp>
#include <heddle/nn/quantise.hpp>
#include <heddle/nn/rms_norm.hpp>
#include <heddle/nn/rope.hpp>
#include <heddle/nn/softmax.hpp>
#include <heddle/optim/adam.hpp>
#include <heddle/optim/clip.hpp>
#include <heddle/optim/sgd.hpp>

#include <support/catch.hpp>
#include <support/executors.hpp>
#include <support/work.hpp>

#include <type_traits>
#include <vector>

using namespace heddle;
using test::aligned_bytes;
using test::expect_work;
using test::memory;

namespace {

/// A program that says nothing, and one that counts how often it is asked.
struct silent_program {
  int* ran;
  template <class Ctx>
  struct shared {};
  template <class Ctx>
  index_t tiles() const {
    return 1;
  }
  template <class Ctx>
  void operator()(Ctx& ctx) const {
    ctx.for_each(1, [to = ran](index_t) { ++*to; });
  }
};
struct asked_program : silent_program {
  int* asked;
  span work() const {
    ++*asked;
    return {.operation = "asked", .bytes = 3, .flops = 4};
  }
};

// What is said is said before a backend is asked, so the one that compiles fastest stands for all.
using cases = std::tuple<test::reference_case, test::executor_case<queued<reference_executor>>>;

}  // namespace

TEMPLATE_LIST_TEST_CASE("element-wise operations say what they move and do", "[operations]", cases) {
  TestType setup;
  auto& exec = setup.exec;
  memory m;
  index_t const n = 5 * 70;
  auto const x = m.matrix<float const>(5, 70), z = m.matrix<float const>(5, 70);
  auto const y = m.matrix<float>(5, 70);
  auto const narrow = m.matrix<bf16>(5, 70);
  expect_work(exec, 1, 12 * n, n, [&](auto& e) { nn::add(e, x, z, y); });
  expect_work(exec, 1, 6 * n, 0, [&](auto& e) { copy(e, x, narrow); });
  expect_work(exec, 1, 8 * 1025, 0, [&](auto& e) { copy(e, m.vector<float const>(1025), m.vector<float>(1025)); });
  expect_work(exec, 1, 8 * n, 9 * n, [&](auto& e) { nn::gelu(e, x, y); });
  expect_work(exec, 1, 8 * n, 5 * n, [&](auto& e) { nn::gelu(e, x, y, nn::gelu_form::erf); });
  expect_work(exec, 1, 12 * n, 18 * n, [&](auto& e) { nn::gelu_backward(e, x, z, y); });
  expect_work(exec, 1, 12 * n, 11 * n, [&](auto& e) { nn::gelu_backward(e, x, z, y, nn::gelu_form::erf); });
  expect_work(exec, 1, 8 * n, 3 * n, [&](auto& e) { nn::silu(e, x, y); });
  expect_work(exec, 1, 12 * n, 8 * n, [&](auto& e) { nn::silu_backward(e, x, z, y); });
  auto const both = m.matrix<float>(5, 140);
  expect_work(exec, 1, 12 * n, 4 * n, [&](auto& e) { nn::swiglu(e, both, y); });
  auto const d_both = m.matrix<float>(5, 140);
  expect_work(exec, 1, 20 * n, 13 * n, [&](auto& e) { nn::swiglu_backward(e, both, x, d_both); });
  expect_work(exec, 1, 8 * n, n, [&](auto& e) {
    transform(
        e, y, [](auto const& v) HEDDLE_LAMBDA { return v + v; }, x);
  });
  expect_work(exec, 1, 6 * n, 0, [&](auto& e) { copy(e, x, narrow); });
  expect_work(exec, 1, 0, 5000, [&](auto& e) { for_each(e, 5000, [](index_t) {}); });
  expect_work(exec, 0, 0, 0, [&](auto& e) { nn::add(e, slice(x, 0, 0, 0), slice(z, 0, 0, 0), slice(y, 0, 0, 0)); });
}

TEMPLATE_LIST_TEST_CASE("operations on rows say what they move and do", "[operations]", cases) {
  TestType setup;
  auto& exec = setup.exec;
  memory m;
  index_t const rows = 6, width = 70, n = rows * width;
  auto const x = m.matrix<float const>(rows, width), z = m.matrix<float const>(rows, width);
  auto const y = m.matrix<float>(rows, width);
  auto const w = m.vector<float const>(width), b = m.vector<float const>(width);
  auto const dw = m.vector<float>(width), db = m.vector<float>(width);
  auto const mean = m.vector<float>(rows), rstd = m.vector<float>(rows);
  expect_work(exec, 1, 8 * n, 5 * n, [&](auto& e) { nn::softmax(e, x, y); });
  expect_work(exec, 1, 12 * n, 4 * n, [&](auto& e) { nn::softmax_backward(e, x, z, y); });
  expect_work(exec, 1, 8 * n + 4 * (width + rows), 4 * n, [&](auto& e) { nn::rms_norm(e, x, w, y, rstd); });
  expect_work(exec, 1, 12 * n + 4 * (width + rows), 9 * n,
              [&](auto& e) { nn::rms_norm_backward_input(e, x, w, rstd, z, y); });
  expect_work(exec, 1, 8 * n + 4 * (width + rows), 3 * n,
              [&](auto& e) { nn::rms_norm_backward_weight(e, x, rstd, z, dw); });
  expect_work(exec, 1, 8 * n + 8 * (width + rows), 8 * n, [&](auto& e) { nn::layer_norm(e, x, w, b, y, mean, rstd); });
  expect_work(exec, 1, 12 * n + 4 * (width + 2 * rows), 14 * n,
              [&](auto& e) { nn::layer_norm_backward_input(e, x, w, mean, rstd, z, y); });
  expect_work(exec, 1, 8 * n + 8 * (width + rows), 5 * n,
              [&](auto& e) { nn::layer_norm_backward_weight(e, x, mean, rstd, z, dw, db); });
  expect_work(exec, 1, 16 * n + 4 * (width + rows), 5 * n,
              [&](auto& e) { nn::add_rms_norm(e, x, z, w, m.matrix<float>(rows, width), y, rstd); });
  expect_work(exec, 1, 16 * n + 4 * (width + rows), 10 * n,
              [&](auto& e) { nn::add_rms_norm_backward_input(e, x, w, rstd, z, x, y); });
  expect_work(exec, 1, 16 * n + 8 * (width + rows), 9 * n,
              [&](auto& e) { nn::add_layer_norm(e, x, z, w, b, m.matrix<float>(rows, width), y, mean, rstd); });
  expect_work(exec, 1, 16 * n + 4 * (width + 2 * rows), 15 * n,
              [&](auto& e) { nn::add_layer_norm_backward_input(e, x, w, mean, rstd, z, x, y); });
  auto const q = m.matrix<std::int8_t>(rows, width);
  expect_work(exec, 1, 5 * n + 4 * rows, 3 * n, [&](auto& e) { nn::quantise_rows(e, x, q, rstd); });
  expect_work(exec, 1, 5 * n + 4 * rows, n, [&](auto& e) { nn::dequantise_rows(e, q, rstd, y); });
  expect_work(exec, 1, 5 * n + 4 * (width + 2 * rows), 9 * n,
              [&](auto& e) { nn::rms_norm_quantise(e, x, w, q, mean, rstd); });
  expect_work(exec, 1, 5 * n + 4 * (2 * width + 3 * rows), 13 * n,
              [&](auto& e) { nn::layer_norm_quantise(e, x, w, b, q, m.vector<float>(rows), mean, rstd); });
  expect_work(exec, 1, 8 * n + 4 * (width + 2 * rows), 2 * n,
              [&](auto& e) { nn::rms_norm_from_sums(e, x, w, mean, y, rstd); });
  expect_work(exec, 1, 8 * n + 8 * width + 16 * rows, 4 * n,
              [&](auto& e) { nn::layer_norm_from_sums(e, x, w, b, mean, rstd, y, mean, rstd); });
  expect_work(exec, 1, 5 * n + 8 * rows, 2 * n,
              [&](auto& e) { nn::quantise_rows_from_peaks(e, x, mean, q, rstd); });
  expect_work(exec, 1, 4 * (n + width), n, [&](auto& e) { nn::column_sum(e, x, dw); });
  // Three heads of 20 turn, 10 columns pass; two sequences share a table of 3 by 20.
  nn::rope_options rotation;
  rotation.heads = 3, rotation.head_size = 20, rotation.tokens = 3;
  expect_work(exec, 2, 8 * n + 2 * 4 * 3 * 20, 6 * rows * 3 * 10 + 5 * 3 * 10,
              [&](auto& e) { nn::rope(e, x, y, rotation); });
}

TEMPLATE_LIST_TEST_CASE("source and loss say what they move and do", "[operations]", cases) {
  TestType setup;
  auto& exec = setup.exec;
  memory m;
  index_t const rows = 6, width = 10, vocabulary = 50;
  auto const tokens = m.vector<std::int32_t const>(rows);
  auto const table = m.matrix<float const>(vocabulary, width), positions = m.matrix<float const>(8, width);
  auto const none = m.matrix<float const>(0, width);
  auto const y = m.matrix<float>(rows, width), d_table = m.matrix<float>(vocabulary, width);
  expect_work(exec, 1, 4 * (rows + 3 * rows * width), rows * width,
              [&](auto& e) { nn::embedding(e, table, positions, tokens, 3, y); });
  expect_work(exec, 1, 4 * (rows + 2 * rows * width), 0, [&](auto& e) { nn::embedding(e, table, none, tokens, 3, y); });
  expect_work(exec, 1, 4 * (rows + (rows + vocabulary) * width), rows * width,
              [&](auto& e) { nn::embedding_backward(e, tokens, y, d_table); });
  expect_work(exec, 1, 4 * (rows + 8) * width, rows * width,
              [&](auto& e) { nn::position_backward(e, 3, y, slice(d_table, 0, 0, 8)); });

  auto const logits = m.matrix<float const>(rows, vocabulary);
  auto const d_logits = m.matrix<float>(rows, vocabulary);
  auto const loss = m.vector<float>(rows), lse = m.vector<float>(rows), one = m.vector<float>(1);
  auto const count = m.vector<std::int64_t>(1);
  index_t const n = rows * vocabulary;
  nn::cross_entropy_options full;
  full.smoothing = 0.1, full.soft_cap = 30;
  expect_work(exec, 1, 4 * (n + 3 * rows), 4 * n, [&](auto& e) { nn::cross_entropy(e, logits, tokens, loss, lse); });
  expect_work(exec, 1, 4 * (n + 3 * rows), 11 * n,
              [&](auto& e) { nn::cross_entropy(e, logits, tokens, loss, lse, full); });
  expect_work(exec, 1, 4 * (2 * n + 2 * rows), 6 * n,
              [&](auto& e) { nn::cross_entropy_backward(e, logits, tokens, lse, one, d_logits); });
  expect_work(exec, 1, 4 * (2 * n + 2 * rows), 13 * n,
              [&](auto& e) { nn::cross_entropy_backward(e, logits, tokens, lse, one, d_logits, full); });
  // Products of no columns clear the rows of padding; the rest is three products, the loss and its gradient.
  auto const d_y = m.matrix<float>(rows, width);
  nn::linear_cross_entropy_options padded;
  padded.loss.classes = 40;
  index_t const real = rows * 40, products = 4 * (2 * (rows + 40) * width + 2 * real + rows * width);
  expect_work(exec, 7, products + 4 * (40 * width + real) + 4 * 10 * width + 4 * (3 * real + 5 * rows),
              6 * real * width + 10 * real, [&](auto& e) {
                nn::linear_cross_entropy_with_gradient(e, y, table, tokens, one, loss, lse, d_y, d_table, padded);
              });
  expect_work(exec, 1, 4 * (2 * rows + 1) + 8, rows,
              [&](auto& e) { nn::cross_entropy_total(e, loss, tokens, one, count); });
}

TEMPLATE_LIST_TEST_CASE("counts, selections and segments say what they move and do", "[operations]", cases) {
  TestType setup;
  auto& exec = setup.exec;
  memory m;
  index_t const n = 5000, blocks = 2;
  auto const x = m.vector<float const>(n);
  auto const y = m.vector<float>(n);
  auto const keys = m.vector<std::int32_t const>(n);
  auto const places = m.vector<std::int32_t>(n);
  auto const counts = m.vector<index_t>(8), offsets = m.vector<index_t>(9), one = m.vector<index_t>(1),
             three = m.vector<index_t>(3), ends = m.vector<index_t>(4);
  ends(3) = n;
  expect_work(exec, 2, 4 * n + 8 * 9 + 64, n + 9, [&](auto& e) { histogram_by(e, keys, counts); });
  expect_work(exec, 2, 4 * n + 8 * 11 + 88, n + 11, [&](auto& e) { histogram(e, x, -1.0f, 1.0f, counts, three); });
  expect_work(exec, 3, 12 * n + 4 * 9 + 12 * 9 + 144 + 72 + 2 * 72, n + 9,
              [&](auto& e) { partition_by_key(e, keys, counts, offsets, places, one); });
  expect_work(exec, 3, 16 * n + 8 * (3 * blocks + 1), 2 * n + blocks, [&](auto& e) {
    select_if(e, x, y, one, [](float v) { return v > 0; });
  });
  expect_work(exec, 1, 12 * n, 0, [&](auto& e) { scatter_elements(e, x, keys, y); });
  expect_work(exec, 3, 4 * n + 3 * 32 + 12 + 16, n + 4,
              [&](auto& e) { segmented_reduce(e, x, ends, m.vector<float>(3), plus<float>{}); });
  expect_work(exec, 4, 12 * n + 4 * 32 + 4 * 16, 3 * n + 4,
              [&](auto& e) { segmented_inclusive_scan(e, x, ends, y, plus<float>{}); });
  expect_work(exec, 4, 2 * 32 + 4 * n + 2 * 16 * n, 0, [&](auto& e) { segmented_sort(e, x, ends, y); });
  expect_work(exec, 8, 64 + 116 * n, 0, [&](auto& e) { segmented_sort_pairs(e, x, ends, y, keys, places); });
  expect_work(exec, 1, 4 * n, 0, [&](auto& e) { copy(e, views::iota(n, 0), m.vector<float>(n)); });
  expect_work(exec, 1, 12 * n, 0, [&](auto& e) { copy(e, views::gather(x, keys), y); });
}

TEMPLATE_LIST_TEST_CASE("reductions and scans say what they move and do, part by part", "[operations]", cases) {
  TestType setup;
  auto& exec = setup.exec;
  memory m;
  index_t const n = 2 * 4096 + 1, blocks = 3;
  auto const x = m.vector<float const>(n);
  auto const y = m.vector<double>(n), one = m.vector<double>(1);
  plus<double> const add;
  expect_work(exec, 2, 4 * n + 8 * (2 * blocks + 1), n + blocks, [&](auto& e) { reduce(e, x, one, add); });
  expect_work(exec, 2, 16 * n + 8 * (2 * blocks + 1), 2 * n + blocks, [&](auto& e) {
    transform_reduce(
        e, one, add, [](auto const& a, auto const& b) HEDDLE_LAMBDA { return mul(a, b); }, y, y);
  });
  expect_work(exec, 1, 8, 0, [&](auto& e) { reduce(e, m.vector<float const>(0), one, add); });
  expect_work(exec, 3, 16 * n + 8 * (4 * blocks + 1), 3 * n + blocks, [&](auto& e) { inclusive_scan(e, x, y, add); });
  expect_work(exec, 3, 16 * n + 8 * (4 * blocks + 1), 3 * n + blocks, [&](auto& e) { exclusive_scan(e, x, y, add); });
}

struct listed_entry {
  std::int32_t row, column;
  float value;
};

TEMPLATE_LIST_TEST_CASE("a list of entries is copied, sorted and searched", "[operations]", cases) {
  TestType setup;
  auto& exec = setup.exec;
  memory m;
  index_t const n = 100, offsets = 9, steps = 7;
  view<listed_entry const, 1> const list(m.take<listed_entry>(2 * n), dims<1>(n));
  index_t const sort = 2 * 16 * n, search = 8 * n + 16 * offsets, gathers = 2 * 20 * n + 8 * n + 4 * n;
  expect_work(exec, 7, 20 * n + 8 * n + sort + 8 * offsets + search + gathers, steps * offsets, [&](auto& e) {
    coo_to_csr(e, list, m.vector<index_t>(offsets), m.vector<index_t>(n), m.vector<float>(n));
  });
}

struct idle_visitor {
  HEDDLE_FN void begin(index_t) {}
  HEDDLE_FN void item(index_t, index_t, index_t) {}
  HEDDLE_FN void end(index_t) {}
};

TEMPLATE_LIST_TEST_CASE("segments, sparse products and stencils say what they move and do", "[operations]", cases) {
  TestType setup;
  auto& exec = setup.exec;
  memory m;
  index_t const rows = 6, columns = 9, entries = 30, width = 70;
  auto const offsets = m.vector<std::int32_t const>(rows + 1), places = m.vector<std::int32_t const>(entries);
  auto const x = m.vector<float const>(columns);
  auto const y = m.vector<float>(rows);
  auto const b = m.matrix<float const>(columns, width);
  auto const c = m.matrix<float>(rows, width);
  csr_view<float, std::int32_t> const a{offsets, places, m.vector<float const>(entries), columns};
  index_t const checked = 4 * (rows + 1), structure = checked + 8 * entries;
  expect_work(exec, 2, checked, 0, [&](auto& e) { balanced_for(e, offsets, merge_path{}, idle_visitor{}); });
  expect_work(exec, 2, checked, 0, [&](auto& e) { balanced_for(e, offsets, segment_mapped{}, idle_visitor{}); });
  expect_work(exec, 3, 2 * checked, 0, [&](auto& e) { balanced_for(e, offsets, lpt{}, idle_visitor{}); });
  expect_work(exec, 3, checked + structure + 4 * (columns + rows), 2 * entries, [&](auto& e) { spmv(e, a, x, y); });
  expect_work(exec, 2, checked + structure + 4 * (columns + rows) * width, 2 * entries * width,
              [&](auto& e) { spmm(e, a, b, c); });
  expect_work(exec, 1, 8 * columns * width, 0, [&](auto& e) {
    stencil(
        e, b, m.matrix<float>(columns, width), 1, [](auto const& n) HEDDLE_LAMBDA { return n(0, 0); }, clamp_edge{});
  });
}

TEMPLATE_LIST_TEST_CASE("transforms say what they move and do, pass by pass", "[operations]", cases) {
  TestType setup;
  auto& exec = setup.exec;
  memory m;
  auto const pairs = [&m](index_t n) {
    return view<complex<float>, 1>(reinterpret_cast<complex<float>*>(m.take<double>(n)), dims<1>(n));
  };
  fft_plan<float> const whole(16), split(72);
  rfft_plan<float> const real(32), odd(9);
  auto const x = pairs(72), y = pairs(72);
  auto const z = m.vector<float>(32);
  // Two passes of radix 4, and the span around them. 72 = 8 x 9 has a pass of 8 and two of 3.
  expect_work(exec, 3, 2 * 16 * 16, 2 * 10 * 16,
              [&](auto& e) { fft(e, whole, slice(x, 0, 0, 16), slice(y, 0, 0, 16)); });
  expect_work(exec, 4, 3 * 16 * 72, (15 + 12 + 12) * 72, [&](auto& e) { ifft(e, split, x, y); });
  expect_work(exec, 3, 2 * 16 * 16 + 32 * 17, 2 * 10 * 16 + 12 * 17,
              [&](auto& e) { rfft(e, real, z, slice(y, 0, 0, 17)); });
  expect_work(exec, 3, 2 * 16 * 16 + 32 * 16, 2 * 10 * 16 + 12 * 16,
              [&](auto& e) { irfft(e, real, slice(y, 0, 0, 17), z); });
  expect_work(exec, 4, 12 * 9 + 2 * 16 * 9 + 16 * 5, 2 * 12 * 9,
              [&](auto& e) { rfft(e, odd, slice(z, 0, 0, 9), slice(y, 0, 0, 5)); });
  expect_work(exec, 4, 16 * 9 + 2 * 16 * 9 + 8 * 9, 2 * 12 * 9,
              [&](auto& e) { irfft(e, odd, slice(y, 0, 0, 5), slice(z, 0, 0, 9)); });
}

TEMPLATE_LIST_TEST_CASE("sorts and searches say what they move and do, part by part", "[operations]", cases) {
  TestType setup;
  auto& exec = setup.exec;
  memory m;
  index_t const n = 2 * 4096 + 1, blocks = 3, large = 40000;
  auto const x = m.vector<float>(n), y = m.vector<float>(n), twice = m.vector<float>(2 * n);
  auto const at = m.vector<std::int64_t>(n), one = m.vector<std::int64_t>(1);
  auto const a = m.vector<float>(large), b = m.vector<float>(large);
  expect_work(exec, 1, 8 * n, 0, [&](auto& e) { heddle::sort(e, x, y); });
  expect_work(exec, 1, 24 * n, 0, [&](auto& e) { sort_pairs(e, x, y, at, at); });
  view<float, 1> const strided(twice.data(), dims<1>(n), index_t{2});
  expect_work(exec, 3, 3 * 8 * n, 0, [&](auto& e) { heddle::sort(e, strided, strided); });
  expect_work(exec, 6, (4 + 8 + 8) * large, 0, [&](auto& e) { heddle::sort(e, a, b); });
  expect_work(exec, 2, 16 * n + 24 * n, 0, [&](auto& e) { argsort(e, x, at); });
  auto const less = [](float l, float r) { return l < r; };
  expect_work(exec, 3, 3 * 8 * n, 0, [&](auto& e) { sort_by(e, x, y, less); });
  expect_work(exec, 1, 16 * n, 0, [&](auto& e) { heddle::merge(e, x, y, twice); });
  expect_work(exec, 1, 16 * n, 14 * n, [&](auto& e) { lower_bound(e, x, y, at); });
  expect_work(exec, 2, 4 * n + 16 * blocks + 8, n, [&](auto& e) { max_element(e, x, one); });
  auto const positive = [](float v) { return v > 0; };
  expect_work(exec, 2, 4 * n + 16 * blocks + 8, n, [&](auto& e) { count_if(e, x, one, positive); });
  auto const rows = m.matrix<float>(5, 200), best = m.matrix<float>(5, 7), most = m.matrix<float>(5, 100);
  auto const best_at = m.matrix<std::int64_t>(5, 7), most_at = m.matrix<std::int64_t>(5, 100);
  expect_work(exec, 1, 5 * (4 * 200 + 12 * 7), 1000, [&](auto& e) { top_k(e, rows, best, best_at); });
  expect_work(exec, 1, 5 * (4 * 200 + 12 * 100), 1000, [&](auto& e) { top_k(e, rows, most, most_at); });
  expect_work(exec, 8, 3 * 4 * n, 0, [&](auto& e) { select_kth(e, x, 5, m.vector<float>(1)); });
}

TEMPLATE_LIST_TEST_CASE("products say what they move and do", "[operations]", cases) {
  TestType setup;
  auto& exec = setup.exec;
  memory m;
  auto const a = m.matrix<float const>(7, 33), b = m.matrix<float const>(33, 9);
  auto const c = m.matrix<float>(7, 9);
  expect_work(exec, 1, 4 * (7 * 33 + 33 * 9 + 7 * 9), 2 * 7 * 33 * 9, [&](auto& e) { matmul(e, a, b, c); });
  index_t const packed_bytes = packed_operand_bytes<float>(exec, 33, 9);
  auto const memory = aligned_bytes(m, packed_bytes);
  expect_work(exec, 1, 4 * 33 * 9 + packed_bytes, 0, [&](auto& e) { pack(e, b, memory); });
  packed_operand<float> const packed = pack(exec, b, memory);
  expect_work(exec, 1, 4 * (7 * 33 + 33 * 9 + 7 * 9), 2 * 7 * 33 * 9, [&](auto& e) { matmul(e, a, packed, c); });
  block_int4<float> const coded(m.take<std::uint8_t>(9 * 17), m.take<float>(9 * 2), 33, 9, 32);
  expect_work(exec, 1, 4 * (7 * 33 + 7 * 9 + 9 * 2) + 9 * 17, 2 * 7 * 33 * 9,
              [&](auto& e) { matmul(e, a, coded, c); });
  expect_work(exec, 1, 4 * (7 * 33 + 33 * 9 + 7 * 9), 2 * 7 * 33 * 9,
              [&](auto& e) { linalg::tile_matmul(e, a, b, c); });
  // A product and what reads it again, where the backend has no form of its own.
  auto const gated = m.matrix<float>(7, 4);
  auto const even = slice(b, 1, 0, 8);
  expect_work(exec, 3, 4 * (7 * 33 + 33 * 8 + 2 * 7 * 8 + 7 * 4), 4 * 7 * 33 * 4 + 4 * 7 * 4,
              [&](auto& e) { matmul_swiglu(e, a, even, gated); });
  row_statistics const to{m.vector<float>(7), m.vector<float>(7), m.vector<float>(7)};
  expect_work(exec, 3, 4 * (7 * 33 + 33 * 9 + 2 * 7 * 9 + 3 * 7), 2 * 7 * 33 * 9 + 4 * 7 * 9,
              [&](auto& e) { matmul_row_statistics(e, a, b, c, to); });
  expect_work(exec, 1, 4 * (7 * 9 + 3 * 7), 4 * 7 * 9, [&](auto& e) { compute_row_statistics(e, c, to); });
  auto const v = m.vector<float const>(33);
  auto const u = m.vector<float>(7);
  expect_work(exec, 1, 4 * (7 * 33 + 33 + 7), 2 * 7 * 33, [&](auto& e) { gemv(e, a, v, u); });
  // What holds other spans has the figures, since they depend on offsets that nobody has read.
  index_t const bounds[] = {0, 4, 5};
  view<index_t const, 1> const cuts(bounds, dims<1>(3));
  auto const many = view<float const, 3>(m.take<float>(2 * 33 * 9), dims<3>(2, 33, 9));
  auto const gradients = view<float, 3>(m.take<float>(2 * 33 * 9), dims<3>(2, 33, 9));
  expect_work(exec, 3, 4 * (7 * 33 + 2 * 33 * 9 + 7 * 9) + 24, 2 * 7 * 33 * 9,
              [&](auto& e) { grouped_matmul(e, a, many, cuts, c); });
  expect_work(exec, 3, 4 * (7 * 33 + 2 * 33 * 9 + 7 * 9) + 24, 2 * 7 * 33 * 9,
              [&](auto& e) { grouped_matmul_weight(e, a, c, cuts, gradients); });
  // Two pieces of k, each with its own sums.
  auto const long_a = m.matrix<float const>(2, 4097), long_b = m.matrix<float const>(4097, 3);
  auto const small = m.matrix<float>(2, 3);
  expect_work(exec, 3, 4 * (5 * 4097 + 2 * 6 + 3 * 6), 2 * 6 * 4097 + 6,
              [&](auto& e) { linalg::tile_matmul(e, long_a, long_b, small); });
}

TEMPLATE_LIST_TEST_CASE("the join of partial attention says what it moves and does", "[operations]", cases) {
  TestType setup;
  memory m;
  index_t const n = 3 * 2 * 5;
  view<float, 3> const a(m.take<float>(n), dims<3>(3, 2, 5)), b(m.take<float>(n), dims<3>(3, 2, 5)),
      out(m.take<float>(n), dims<3>(3, 2, 5));
  auto const lse_a = m.matrix<float>(2, 3), lse_b = m.matrix<float>(2, 3), lse = m.matrix<float>(2, 3);
  expect_work(setup.exec, 1, 4 * 3 * (n + 6), 3 * n,
              [&](auto& e) { attention::merge(e, a, lse_a, b, lse_b, out, lse); });
}

TEMPLATE_LIST_TEST_CASE("rows for a paged cache are counted", "[operations]", cases) {
  TestType setup;
  memory m;
  view<float, 3> const k(m.take<float>(12), dims<3>(2, 2, 3)), v(m.take<float>(20), dims<3>(2, 2, 5));
  auto const table = m.matrix<std::int32_t>(1, 1);
  auto const length = m.vector<std::int32_t>(1);
  length(0) = 2;
  attention::paged_cache<float> const cache{view<float, 4>(m.take<float>(24), dims<4>(1, 4, 2, 3)),
                                            view<float, 4>(m.take<float>(40), dims<4>(1, 4, 2, 5)), table, length};
  expect_work(setup.exec, 1, 2 * 4 * (12 + 20), 0, [&](auto& e) { attention::append(e, k, v, cache); });
}

TEMPLATE_LIST_TEST_CASE("an optimizer step says what it moves and does", "[operations]", cases) {
  TestType setup;
  memory m;
  index_t const n = 100;
  auto const p = m.vector<float>(n), first = m.vector<float>(n), second = m.vector<float>(n);
  auto const g = m.vector<float const>(n);
  auto const applied = m.vector<index_t>(1);
  auto const one = m.vector<float>(1);
  auto const norm = m.vector<double>(1);
  auto const skip = m.vector<std::int32_t>(1);
  optim::step_args<float> args;
  optim::state_views<float, 2> moments;
  moments.array[0] = first, moments.array[1] = second;
  optim::state_views<float, 1> momentum;
  momentum.array[0] = first;
  expect_work(setup.exec, 1, 28 * n, 15 * n, [&](auto& e) { optim::adam{}.step(e, p, g, moments, applied, args); });
  expect_work(setup.exec, 1, 20 * n, 4 * n, [&](auto& e) { optim::sgd{}.step(e, p, g, momentum, applied, args); });
  args.clip = one.data();
  args.weight_decay = 0.1;
  optim::adam ridge;
  ridge.mode = optim::decay_mode::l2;
  optim::sgd nesterov;
  nesterov.momentum = 0.5, nesterov.nesterov = true;
  expect_work(setup.exec, 1, 28 * n, 18 * n, [&](auto& e) { ridge.step(e, p, g, moments, applied, args); });
  expect_work(setup.exec, 1, 20 * n, 9 * n, [&](auto& e) { nesterov.step(e, p, g, momentum, applied, args); });
  expect_work(setup.exec, 1, 8 + 4 + 4, 0,
              [&](auto& e) { optim::clip_from_norm(e, view<double const, 1>(norm), 1.0, one, skip); });
}

TEMPLATE_LIST_TEST_CASE("a tile program is asked only where someone looks", "[operations]", cases) {
  TestType setup;
  auto& exec = setup.exec;
  int ran = 0, asked = 0;
  tile::run(exec, asked_program{{&ran}, &asked});
  exec.synchronize();
  CHECK(ran == 1);
  CHECK(asked == 0);
  expect_work(exec, 1, 3, 4, [&](auto& e) { tile::run(e, asked_program{{&ran}, &asked}); });
  CHECK(asked == 2);
  expect_work(exec, 1, 0, 0, [&](auto& e) { tile::run(e, silent_program{&ran}); });
  CHECK(ran == 3);
}

TEMPLATE_LIST_TEST_CASE("a span around others adds nothing", "[operations]", cases) {
  TestType setup;
  memory m;
  auto const x = m.matrix<float>(3, 4);
  expect_work(setup.exec, 3, 2 * 3 * 48, 2 * 12, [&](auto& e) {
    observed_span const step(e, span{.operation = "step"});
    nn::add(e, x, x, x);
    nn::add(e, x, x, x);
  });
}
