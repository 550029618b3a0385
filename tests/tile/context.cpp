// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/tile/context.hpp>

#include <heddle/tile/canonical.hpp>
#include <heddle/tile/run.hpp>

#include <support/catch.hpp>
#include <support/executors.hpp>
#include <support/numbers.hpp>

#include <cmath>
#include <limits>
#include <vector>

using namespace heddle;

namespace {

constexpr float poison = std::numeric_limits<float>::quiet_NaN();

// The canonical order once more, straight from its definition.
template <class Op>
float tree(std::vector<float> const& v, Op op) {
  std::size_t q = 1;
  while (2 * q <= v.size()) q *= 2;
  std::vector<float> level;
  std::size_t const folded = v.size() - q;
  for (std::size_t i = 0; i < folded; ++i) level.push_back(op(v[2 * i], v[2 * i + 1]));
  for (std::size_t i = folded; i < q; ++i) level.push_back(v[i + folded]);
  while (level.size() > 1) {
    std::vector<float> next;
    for (std::size_t i = 0; i < level.size(); i += 2) next.push_back(op(level[i], level[i + 1]));
    level = next;
  }
  return level[0];
}
template <class Op>
float canonical(std::vector<float> const& v, float identity, Op op) {
  std::vector<float> blocks;
  for (std::size_t first = 0; first == 0 || first < v.size(); first += 4096) {
    std::vector<float> lanes(64, identity);
    for (std::size_t e = first; e < v.size() && e < first + 4096; ++e) lanes[e % 64] = op(lanes[e % 64], v[e]);
    blocks.push_back(tree(lanes, op));
  }
  return tree(blocks, op);
}
float sum_of(float a, float b) { return a + b; }

template <class T>
view<T, 1> vec_view(std::vector<std::remove_const_t<T>>& v) {
  return view<T, 1>(v.data(), dims<1>(static_cast<index_t>(v.size())));
}
view<float, 2> matrix_view_of(std::vector<float>& v, index_t rows, index_t columns) {
  return view<float, 2>(v.data(), dims<2>(rows, columns));
}

constexpr index_t shapes[][2] = {{1, 1}, {2, 63}, {4, 64}, {5, 65}, {7, 100}, {3, 4096}, {2, 4097}, {1, 12289}, {6, 0}};

/// sums(row) = sum of squares; out = x * gain + bias_of_row + (column is hot ? 1 : 0).
struct rows_program {
  view<float, 2> x, out;
  view<float, 1> gain, bias, sums;
  view<std::int32_t, 1> hot;

  template <class Ctx>
  struct shared {
    typename Ctx::template column_of<float> sum;
  };
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return tile::ceil_div(x.extent(0), Ctx::rows);
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    auto& s = ctx.template shared<shared<Ctx>>();
    index_t const row = ctx.tile() * Ctx::rows;
    auto const in = ctx.ref(x, row, 0, x.extent(1));
    ctx.reduce_of(
        s.sum, [](auto const& v) HEDDLE_LAMBDA { return mul(v, v); }, plus<float>{}, in);
    ctx.store(sums, row, s.sum);
    ctx.map_to(
        ctx.ref(out, row, 0, x.extent(1)),
        [](auto const& v, auto const& g, auto const& b, auto const& h) HEDDLE_LAMBDA { return fma(v, g, b) + h; }, in,
        ctx.ref_row(gain, 0), ctx.ref_column(bias, row), ctx.template one_hot<float>(hot, row));
  }
};

}  // namespace

TEST_CASE("the canonical order", "[tile]") {
  for (index_t n : {0, 1, 2, 63, 64, 65, 4095, 4096, 4097, 12288, 12289, 30000}) {
    std::vector<float> const v = test::random_floats(n, 5, 1.0f);
    float const got = tile::detail::reduce_elements(n, 0.0f, sum_of, [&](index_t e) { return v[e]; });
    REQUIRE(got == canonical(v, 0.0f, sum_of));
  }
  // The tree keeps the order of its leaves: it can be seen with an operator that doesn't commute.
  auto const right = [](float a, float b) { return 2 * a + b; };
  for (index_t n = 1; n <= 70; ++n) {
    std::vector<float> v(n);
    for (index_t i = 0; i < n; ++i) v[i] = float(i % 5);
    float const want = tree(v, right);
    REQUIRE(tile::detail::stream_tree<float>(n, right, [&](index_t i) { return v[i]; }) == want);
    REQUIRE(tile::detail::combine_tree(v.data(), n, right) == want);
  }
}

TEMPLATE_LIST_TEST_CASE("rows: reductions, broadcasts, tails", "[tile]", test::tile_cases) {
  TestType setup;
  for (auto const& shape : shapes) {
    index_t const rows = shape[0], columns = shape[1];
    std::vector<float> x = test::random_floats(rows * columns, 1, 1), gain = test::random_floats(columns, 2, 1),
                       bias = test::random_floats(rows, 3, 1);
    std::vector<float> out(rows * columns, poison), sums(rows, poison);
    std::vector<std::int32_t> hot(rows);
    for (index_t r = 0; r < rows; ++r) hot[r] = static_cast<std::int32_t>(r == 1 ? -1 : (r * 37) % (columns + 1));
    tile::run(setup.exec,
              rows_program{matrix_view_of(x, rows, columns), matrix_view_of(out, rows, columns), vec_view<float>(gain),
                           vec_view<float>(bias), vec_view<float>(sums), vec_view<std::int32_t>(hot)});
    setup.exec.synchronize();
    INFO(rows << " x " << columns);
    for (index_t r = 0; r < rows; ++r) {
      std::vector<float> squares;
      for (index_t c = 0; c < columns; ++c) squares.push_back(mul(x[r * columns + c], x[r * columns + c]));
      REQUIRE(sums[r] == canonical(squares, 0.0f, sum_of));
      int wrong = 0;
      for (index_t c = 0; c < columns; ++c)
        wrong += out[r * columns + c] != fma(x[r * columns + c], gain[c], bias[r]) + (hot[r] == c ? 1.0f : 0.0f);
      REQUIRE(wrong == 0);
    }
  }
}

namespace {

/// Blocks of `width` elements of a vector: their maxima, and a copy of them plus one, by way of a tile.
struct flat_program {
  static constexpr int width = 96;
  view<float, 1> x, out, peaks;

  template <class Ctx>
  struct shared {
    typename Ctx::template tile_of<float, width> tile;
    typename Ctx::template column_of<float> peak, more;
  };
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return tile::ceil_div(x.extent(0), Ctx::rows * width);
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    auto& s = ctx.template shared<shared<Ctx>>();
    index_t const base = ctx.tile() * Ctx::rows * width;
    ctx.load(s.tile, ctx.ref_flat(x, base, width));
    ctx.row_reduce(s.peak, maximum<float>{}, s.tile);
    ctx.fill(s.more, 1.0f);
    ctx.map(s.more, plus<>{}, s.more, s.peak);
    ctx.store(peaks, ctx.tile() * Ctx::rows, s.more);
    ctx.map(
        s.tile, [](auto const& v) HEDDLE_LAMBDA { return v + 1.0f; }, s.tile);
    ctx.map_to(ctx.ref_flat(out, base, width), tile::pass, s.tile);
  }
};

/// The columns of x * weight(row), summed over all rows.
struct strip_program {
  view<float, 2> x;
  view<float, 1> weight, sums;

  template <class Ctx>
  struct shared {};
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return tile::ceil_div(x.extent(1), Ctx::strip);
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    index_t const j = ctx.tile() * Ctx::strip;
    ctx.reduce_strip(sums, j, multiplies<>{}, plus<float>{}, ctx.ref_strip(x, j), ctx.ref_column(weight, 0));
  }
};

/// One tile: values along a tree, a column along a tree, and squares of whole numbers.
struct single_program {
  view<float, 1> values, column, squares;
  float* results;

  template <class Ctx>
  struct shared {
    typename Ctx::template column_of<float> c;
  };
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return 1;
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    auto& s = ctx.template shared<shared<Ctx>>();
    ctx.load(s.c, column, 0);
    index_t const count = column.extent(0) < Ctx::rows ? column.extent(0) : index_t{Ctx::rows};
    ctx.store_scalar(results, ctx.tree_reduce(values.data(), values.extent(0), plus<float>{}));
    ctx.store_scalar(results + 1, ctx.column_reduce(s.c, plus<float>{}, count));
    ctx.for_each(squares.extent(0),
                 [to = squares.data()](index_t i) HEDDLE_LAMBDA { to[i] = static_cast<float>(i * i); });
  }
};

}  // namespace

TEMPLATE_LIST_TEST_CASE("vectors folded into rows, by way of tiles", "[tile]", test::tile_cases) {
  TestType setup;
  for (index_t n : {1, 95, 96, 97, 384, 500, 2000}) {
    std::vector<float> x = test::random_floats(n, 1, 1), out(n, poison);
    index_t const blocks = (n + 95) / 96;
    std::vector<float> peaks(blocks, poison);
    tile::run(setup.exec, flat_program{vec_view<float>(x), vec_view<float>(out), vec_view<float>(peaks)});
    setup.exec.synchronize();
    for (index_t i = 0; i < n; ++i) REQUIRE(out[i] == x[i] + 1.0f);
    for (index_t b = 0; b < blocks; ++b) {
      float peak = -1e30f;
      for (index_t i = b * 96; i < n && i < b * 96 + 96; ++i) peak = std::fmax(peak, x[i]);
      REQUIRE(peaks[b] == peak + 1.0f);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("strips: sums over rows", "[tile]", test::tile_cases) {
  TestType setup;
  constexpr index_t sizes[][2] = {{1, 1}, {3, 64}, {64, 65}, {100, 7}, {4097, 66}, {0, 5}};
  for (auto const& size : sizes) {
    index_t const rows = size[0], columns = size[1];
    std::vector<float> x = test::random_floats(rows * columns, 1, 1), weight = test::random_floats(rows, 2, 1);
    std::vector<float> sums(columns, poison);
    tile::run(setup.exec,
              strip_program{matrix_view_of(x, rows, columns), vec_view<float>(weight), vec_view<float>(sums)});
    setup.exec.synchronize();
    INFO(rows << " x " << columns);
    for (index_t c = 0; c < columns; ++c) {
      std::vector<float> products;
      for (index_t r = 0; r < rows; ++r) products.push_back(mul(x[r * columns + c], weight[r]));
      REQUIRE(sums[c] == canonical(products, 0.0f, sum_of));
    }
  }
}

TEMPLATE_LIST_TEST_CASE("trees and single elements", "[tile]", test::tile_cases) {
  TestType setup;
  for (index_t n : {1, 2, 3, 7, 64, 100}) {
    std::vector<float> const start = test::random_floats(n, 9, 1);
    std::vector<float> values = start, column = {1, 2, 3}, squares(n, poison), results(2, poison);
    tile::run(setup.exec, single_program{vec_view<float>(values), vec_view<float>(column), vec_view<float>(squares),
                                         results.data()});
    setup.exec.synchronize();
    REQUIRE(results[0] == tree(start, sum_of));
    REQUIRE(results[1] == 6.0f);
    for (index_t i = 0; i < n; ++i) REQUIRE(squares[i] == float(i * i));
  }
}
