// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "stencil.hpp"
#include "problem.hpp"
#include "reference/stencil.hpp"

#include <heddle/backend/cpu/stencil.hpp>
#include <heddle/backend/cpu/tile_context.hpp>
#include <heddle/backend/reference/tile_context.hpp>

namespace pareval {

std::vector<problem> stencil_problems() {
  constexpr char const* category = "stencil";
  return {
      make_problem(category, "xor_cells", {.most = 255},
                   [](auto& t) {
                     auto const in = t.template numbers<int>(t.n * t.n, 0, 1);
                     values<int> got(t.n * t.n);
                     t.run([&] { xor_cells(t.exec, in.matrix(t.n, t.n), got.matrix(t.n, t.n)); });
                     return differs(plain::xor_cells(in, t.n), got);
                   }),
      make_problem(category, "edges", {.most = 255},
                   [](auto& t) {
                     auto const in = t.template numbers<int>(t.n * t.n, 0, 255);
                     values<int> got(t.n * t.n);
                     t.run([&] { edges(t.exec, in.matrix(t.n, t.n), got.matrix(t.n, t.n)); });
                     return differs(plain::edges(in, t.n), got);
                   }),
      make_problem(category, "jacobi_1d", {},
                   [](auto& t) {
                     auto const in = t.template numbers<double>(t.n, -1000, 1000);
                     values<double> got(t.n);
                     t.run([&] { jacobi_1d(t.exec, in.view(), got.view()); });
                     return differs(plain::jacobi_1d(in), got);
                   }),
      make_problem(category, "jacobi_2d", {.most = 255},
                   [](auto& t) {
                     auto const in = t.template numbers<double>(t.n * t.n, -1000, 1000);
                     values<double> got(t.n * t.n);
                     t.run([&] { jacobi_2d(t.exec, in.matrix(t.n, t.n), got.matrix(t.n, t.n)); });
                     return differs(plain::jacobi_2d(in, t.n), got);
                   }),
      make_problem(category, "life", {.most = 255},
                   [](auto& t) {
                     auto const in = t.template numbers<int>(t.n * t.n, 0, 1);
                     values<int> got(t.n * t.n);
                     t.run([&] { life(t.exec, in.matrix(t.n, t.n), got.matrix(t.n, t.n)); });
                     return differs(plain::life(in, t.n), got);
                   }),
  };
}

}  // namespace pareval
