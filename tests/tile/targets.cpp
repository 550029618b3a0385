// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/tile/targets.hpp>

#include "support/catch.hpp"
#include "support/numbers.hpp"

#include <cstring>

namespace heddle {
namespace {
struct which {
  template <class Isa>
  HEDDLE_TILE void operator()(Isa, isa* seen) const {
    *seen = Isa::value;
  }
};
struct which_with_bf16 : which {
  using uses_bf16_instructions = void;
};

isa expected(isa wanted, bool bf16) {
#if HEDDLE_MULTI_TARGET
  int const most = bf16 ? 3 : 2, w = static_cast<int>(wanted);
  int const least = static_cast<int>(detail::static_isa) < most ? static_cast<int>(detail::static_isa) : most;
  int const chosen = w < most ? w : most;
  return static_cast<isa>(chosen > least ? chosen : least);
#else
  static_cast<void>(wanted), static_cast<void>(bf16);
  return isa::baseline;
#endif
}
}  // namespace

TEST_CASE("the forced instruction set is the one that runs", "[tile]") {
  test::for_each_isa([](isa set) {
    REQUIRE(best_isa() == set);
    isa seen = isa::baseline;
    dispatch_isa(which{}, &seen);
    REQUIRE(seen == expected(set, false));
    dispatch_isa(which_with_bf16{}, &seen);
    REQUIRE(seen == expected(set, true));
  });
}

TEST_CASE("an instruction set that the machine lacks is an error", "[tile]") {
  for (int i = static_cast<int>(machine_isa()) + 1; i < 4; ++i) REQUIRE_THROWS_AS(force_isa(isa(i)), error);
  REQUIRE(static_cast<int>(best_isa()) <= static_cast<int>(machine_isa()));
  REQUIRE(std::strcmp(name(isa::avx512_bf16), "avx512_bf16") == 0);
}

TEST_CASE("HEDDLE_ISA chooses at the first question", "[tile]") {
  int const before = detail::isa_in_use;
  detail::isa_in_use = -1;
  setenv("HEDDLE_ISA", "baseline", 1);
  REQUIRE(best_isa() == isa::baseline);
  detail::isa_in_use = -1;
  setenv("HEDDLE_ISA", "mmx", 1);
  REQUIRE_THROWS_AS(best_isa(), error);
  unsetenv("HEDDLE_ISA");
  REQUIRE(best_isa() == machine_isa());
  detail::isa_in_use = before;
}

TEST_CASE("lanes of a register", "[tile]") {
  STATIC_REQUIRE(isa_tag<isa::baseline>::lanes<float> == 4);
  STATIC_REQUIRE(isa_tag<isa::avx2>::lanes<float> == 8);
  STATIC_REQUIRE(isa_tag<isa::avx512>::lanes<float> == 16);
  STATIC_REQUIRE(isa_tag<isa::avx512_bf16>::lanes<double> == 8);
}

}  // namespace heddle
