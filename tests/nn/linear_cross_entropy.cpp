// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/backend/cpu/matmul.hpp>
#include <heddle/backend/reference/matmul.hpp>
#include <heddle/core/bf16.hpp>
#include <heddle/exec/plan.hpp>
#include <heddle/nn/linear_cross_entropy.hpp>

#include "results.hpp"

#include <array>

namespace heddle {
namespace {

using test::buffer;
using test::column;
using test::input;
using test::matrix;
using test::qnan;
using options = nn::linear_cross_entropy_options;

/// A problem of one size, with operands that end where memory ends.
template <class T>
struct problem {
  using number = tile::value_t<T>;
  index_t rows, in, vocabulary;
  input<T> x, w;
  std::vector<std::int32_t> aims;
  number scale[1] = {number(0.5)};

  problem(index_t r, index_t i, index_t v) : rows(r), in(i), vocabulary(v), x(r * i, 1, -2, 2), w(v * i, 2, -1, 1) {
    for (index_t k = 0; k < r; ++k) aims.push_back(static_cast<std::int32_t>(test::random_below(3, k, v)));
    if (r > 2) aims[1] = -100;
  }
  view<T const, 2> inputs() const { return {x.data(), dims<2>(rows, in)}; }
  view<T const, 2> weights() const { return {w.data(), dims<2>(vocabulary, in)}; }
  view<std::int32_t const, 1> targets() const { return {aims.data(), dims<1>(rows)}; }
  view<number const, 1> factor() const { return {scale, dims<1>(1)}; }
};

template <class T>
struct outcome {
  std::vector<tile::value_t<T>> loss, lse, dw;
  std::vector<T> dx;

  bool operator==(outcome const& o) const {
    return test::same_bits(loss, o.loss) && test::same_bits(lse, o.lse) && test::same_bits(dx, o.dx) &&
           test::same_bits(dw, o.dw);
  }
};

/// Poisoned outputs of one run.
template <class T>
struct outputs {
  using number = tile::value_t<T>;
  buffer<number> loss, lse, dw;
  buffer<T> dx;
  problem<T> const* p;

  explicit outputs(problem<T> const& of)
      : loss(of.rows), lse(of.rows), dw(of.vocabulary * of.in), dx(of.rows * of.in), p(&of) {}
  view<number, 1> losses() { return column(loss.data(), p->rows); }
  view<number, 1> sums() { return column(lse.data(), p->rows); }
  view<T, 2> inputs() { return matrix(dx.data(), p->rows, p->in); }
  view<number, 2> weights() { return matrix(dw.data(), p->vocabulary, p->in); }
  outcome<T> take() const { return {test::taken(loss), test::taken(lse), test::taken(dw), test::taken(dx)}; }
};

template <class T, class E>
outcome<T> at_once(E& exec, problem<T> const& p, options const& o) {
  outputs<T> out(p);
  nn::linear_cross_entropy_with_gradient(exec, p.inputs(), p.weights(), p.targets(), p.factor(), out.losses(),
                                         out.sums(), out.inputs(), out.weights(), o);
  exec.synchronize();
  return out.take();
}

template <class T, class E>
outcome<T> in_two_passes(E& exec, problem<T> const& p, options const& o) {
  outputs<T> out(p);
  nn::linear_cross_entropy(exec, p.inputs(), p.weights(), p.targets(), out.losses(), out.sums(), o);
  nn::linear_cross_entropy_backward(exec, p.inputs(), p.weights(), p.targets(), out.sums(), p.factor(), out.inputs(),
                                    out.weights(), o);
  exec.synchronize();
  return out.take();
}

template <class T, class E>
outcome<T> one_gradient_at_a_time(E& exec, problem<T> const& p, options const& o) {
  outputs<T> out(p);
  nn::linear_cross_entropy(exec, p.inputs(), p.weights(), p.targets(), out.losses(), out.sums(), o);
  nn::linear_cross_entropy_backward.input(exec, p.inputs(), p.weights(), p.targets(), out.sums(), p.factor(),
                                          out.inputs(), o);
  nn::linear_cross_entropy_backward.weight(exec, p.inputs(), p.weights(), p.targets(), out.sums(), p.factor(),
                                           out.weights(), o);
  exec.synchronize();
  return out.take();
}

/// The operations that it is made of, with all logits in memory. The rows of padding in dw are products with 0.
template <class T>
outcome<T> written_out(problem<T> const& p, options const& o) {
  reference_executor exec;
  outputs<T> out(p);
  std::vector<T> logits(static_cast<std::size_t>(p.rows * p.vocabulary));
  auto const y = matrix(logits.data(), p.rows, p.vocabulary);
  matmul(exec, p.inputs(), transpose(p.weights()), y);
  nn::cross_entropy(exec, y, p.targets(), out.losses(), out.sums(), o.loss);
  nn::cross_entropy_backward(exec, y, p.targets(), out.sums(), p.factor(), y, o.loss);
  matmul(exec, y, p.weights(), out.inputs());
  matmul(exec, transpose(y), p.inputs(), out.weights());
  return out.take();
}

options in_pieces(index_t bytes) {
  options o;
  o.logits_bytes = bytes;
  return o;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("a fused linear cross entropy has the bits of its parts", "[nn]", test::executor_cases) {
  TestType setup;
  options smooth;
  smooth.loss.smoothing = 0.1;
  smooth.loss.z_loss = 1e-3;
  smooth.loss.soft_cap = 5;
  for (auto const& size : {std::array<index_t, 3>{1, 1, 1}, {3, 5, 7}, {33, 16, 65}, {70, 17, 130}, {2, 3, 4099}})
    for (options const& o : {options{}, smooth}) {
      CAPTURE(size[0], size[1], size[2]);
      problem<float> const p(size[0], size[1], size[2]);
      outcome<float> const want = written_out(p, o);
      CHECK(at_once(setup.exec, p, o) == want);
      CHECK(in_two_passes(setup.exec, p, o) == want);
      CHECK(one_gradient_at_a_time(setup.exec, p, o) == want);
      // In pieces the parts of dw are added one after the other; all else has the same bits.
      options few = o;
      few.logits_bytes = 0;
      reference_executor oracle;
      outcome<float> const pieces = at_once(setup.exec, p, few);
      CHECK(pieces == at_once(oracle, p, few));
      CHECK(pieces == one_gradient_at_a_time(setup.exec, p, few));
      CHECK(test::same_bits(pieces.loss, want.loss));
      CHECK(test::same_bits(pieces.dx, want.dx));
      for (std::size_t i = 0; i < want.dw.size(); ++i)
        CHECK(std::abs(pieces.dw[i] - want.dw[i]) <= 2 * test::u * static_cast<double>(p.rows) * p.rows);
    }
}

TEMPLATE_LIST_TEST_CASE("a fused linear cross entropy of bf16 rounds logits as a linear layer does", "[nn]",
                        test::executor_cases) {
  TestType setup;
  problem<bf16> const p(37, 24, 50);
  outcome<bf16> const want = written_out(p, {});
  CHECK(at_once(setup.exec, p, {}) == want);
  CHECK(in_two_passes(setup.exec, p, {}) == want);
  CHECK(test::same_bits(at_once(setup.exec, p, in_pieces(0)).dx, want.dx));
}

// NU-3 with unit weights: the logits are the inputs.
TEMPLATE_LIST_TEST_CASE("rows of padding in the weight are neither read nor left", "[nn]", test::executor_cases) {
  TestType setup;
  problem<float> p(1, 5, 8);
  float const logits[] = {-3, -2, -4, -2.5f, -3.5f};
  for (index_t i = 0; i < 5; ++i) p.x[i] = logits[i];
  for (index_t i = 0; i < 40; ++i) p.w[i] = i >= 25 ? qnan : i % 6 == 0 ? 1.0f : 0.0f;
  p.aims[0] = 1;
  p.scale[0] = 1;
  options o;
  o.loss.classes = 5;
  outcome<float> const got = at_once(setup.exec, p, o);
  CHECK(std::abs(got.loss[0] - 0.8471016458251504) <= 1e-6);
  double const want[] = {0.157693556, -0.571344471, 0.058012217, 0.259992721, 0.095645977};
  for (std::size_t i = 0; i < 5; ++i) CHECK(std::abs(got.dx[i] - want[i]) <= 1e-6);
  for (std::size_t i = 0; i < 40; ++i) CHECK(std::abs(got.dw[i] - (i < 25 ? want[i / 5] * logits[i % 5] : 0)) <= 4e-6);
  CHECK(in_two_passes(setup.exec, p, o) == got);
}

TEST_CASE("gradients of a fused linear cross entropy against central differences", "[nn]") {
  reference_executor exec;
  problem<double> p(7, 4, 9);
  options o = in_pieces(0);
  o.loss.smoothing = 0.2;
  o.loss.z_loss = 0.05;
  o.loss.soft_cap = 3;
  o.loss.classes = 8;
  for (auto& t : p.aims) t = t == 8 ? 0 : t;
  outcome<double> const got = at_once(exec, p, o);
  auto const sum = [&] {
    double s = 0;
    for (double const l : at_once(exec, p, o).loss) s += l;
    return p.scale[0] * s;
  };
  double const h = 1e-5;
  auto const check = [&](double& at, double gradient) {
    double const before = at;
    at = before + h;
    double const above = sum();
    at = before - h;
    double const below = sum();
    at = before;
    CHECK(std::abs((above - below) / (2 * h) - gradient) <= 1e-8);
  };
  for (index_t i = 0; i < 28; ++i) check(p.x[i], got.dx[static_cast<std::size_t>(i)]);
  for (index_t i = 0; i < 36; ++i) check(p.w[i], got.dw[static_cast<std::size_t>(i)]);
  for (std::size_t i = 4; i < 8; ++i) CHECK(got.dx[i] == 0);  // the second row is ignored
}

TEST_CASE("scratch of a fused linear cross entropy is bounded by an option", "[nn]") {
  CHECK(nn::linear_cross_entropy_rows(1000, 100, 4, 40000) == 96);
  CHECK(nn::linear_cross_entropy_rows(50, 100, 4, 40000) == 50);
  CHECK(nn::linear_cross_entropy_rows(1000, 100, 4, 0) == 32);
  CHECK(nn::linear_cross_entropy_rows(0, 100, 4, 40000) == 0);
  CHECK(nn::linear_cross_entropy_rows(4096, 50304, 4, options{}.logits_bytes) == 320);
  serial_executor exec;
  problem<float> const p(300, 8, 2000);
  outputs<float> out(p);
  auto const scratch = [&](options const& o) {
    return plan(exec,
                [&] {
                  nn::linear_cross_entropy_with_gradient(exec, p.inputs(), p.weights(), p.targets(), p.factor(),
                                                         out.losses(), out.sums(), out.inputs(), out.weights(), o);
                })
        .scratch_bytes;
  };
  index_t const bytes = 64 * 2000 * static_cast<index_t>(sizeof(float));
  auto const of_products =
      plan(exec,
           [&] {
             scratch_frame<serial_executor> frame(exec);
             float* const logits = frame.take<float>(64 * 2000);
             for (index_t const rows : {index_t{64}, index_t{300 - 4 * 64}}) {
               auto const some = slice(p.inputs(), 0, 0, rows);
               auto const y = matrix(logits, rows, 2000);
               matmul(exec, some, transpose(p.weights()), y);
               matmul(exec, y, p.weights(), slice(out.inputs(), 0, 0, rows));
               matmul(exec, transpose(y), some, out.weights(), {1, 1});
             }
           })
          .scratch_bytes;
  CHECK(scratch(in_pieces(bytes)) == of_products);
  CHECK(scratch(in_pieces(0)) < of_products);
  CHECK(scratch({}) >= 300 * 2000 * sizeof(float));
  // What was planned is what is taken.
  at_once(exec, p, in_pieces(bytes));
  CHECK(exec.scratch().high_water() == of_products);
}

TEST_CASE("a fused linear cross entropy of no rows, and of what does not fit", "[nn]") {
  reference_executor exec;
  outcome<float> const none = at_once(exec, problem<float>(0, 3, 4), {});
  for (float const d : none.dw) CHECK(d == 0);
  problem<float> p(2, 3, 4), other(2, 5, 4);
  outputs<float> out(p);
  CHECK_THROWS_AS(nn::linear_cross_entropy(exec, p.inputs(), other.weights(), p.targets(), out.losses(), out.sums()),
                  contract_error);
  CHECK_THROWS_AS(nn::linear_cross_entropy_backward(exec, p.inputs(), p.weights(), p.targets(), out.sums(), p.factor(),
                                                    other.x.view().size() ? matrix(out.dw.data(), 2, 4) : out.inputs(),
                                                    out.weights()),
                  contract_error);
  p.aims[0] = 4;
  CHECK_THROWS_AS(at_once(exec, p, {}), contract_error);
  options o;
  o.loss.classes = 5;
  p.aims[0] = 0;
  CHECK_THROWS_AS(at_once(exec, p, o), contract_error);
}

}  // namespace heddle
