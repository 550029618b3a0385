// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A reduction and a scan with the user's own monoid over raw arrays, on the user's own executor.
#include <heddle/algorithm/reduce.hpp>
#include <heddle/algorithm/scan.hpp>
#include <heddle/backend/reference/tile_context.hpp>

#include "reference_user.hpp"

namespace {
/// The largest number modulo 10.
struct last_digit {
  using value_type = int;
  static constexpr bool commutative = true, exact = true;
  int identity() const { return 0; }
  int combine(int a, int b) const { return a % 10 > b % 10 ? a : b; }
};
}  // namespace

int main() {
  using vector = heddle::view<int, 1>;
  reference_user exec;
  int x[4] = {13, 27, 5, 48}, best, so_far[4];
  heddle::dims<1> const four(4);
  heddle::reduce(exec, vector(x, four), vector(&best, heddle::dims<1>(1)), last_digit{});
  heddle::inclusive_scan(exec, vector(x, four), vector(so_far, four), last_digit{});
  return best == 48 && so_far[0] == 13 && so_far[1] == 27 && so_far[2] == 27 && so_far[3] == 48 ? 0 : 1;
}
