// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/backend/reference/tile_context.hpp>
#include <heddle/exec/reference_executor.hpp>
#include <heddle/tile/run.hpp>
#include <heddle/tile/vec.hpp>

#include <support/catch.hpp>

using namespace heddle;
using context_type = tile::reference_context;

namespace {

/// The members of a tile program and nothing else.
struct counting {
  int* tiles_done;
  template <class Ctx>
  struct shared {};
  template <class Ctx>
  index_t tiles() const {
    return 3;
  }
  template <class Ctx>
  void operator()(Ctx& ctx) const {
    tiles_done[ctx.tile()] += 1;
  }
};
struct without_shared {
  template <class Ctx>
  index_t tiles() const;
  template <class Ctx>
  void operator()(Ctx&) const;
};
struct large : counting {
  char more[400];
};
struct owning : counting {
  ~owning() {}
};

}  // namespace

TEST_CASE("tile contexts, programs and operands are known by their members", "[tile]") {
  STATIC_REQUIRE((tile::tile_context<context_type> && !tile::tile_context<int>));
  STATIC_REQUIRE((tile::tile_program<counting, context_type> && !tile::tile_program<without_shared, context_type>));
  STATIC_REQUIRE((!tile::tile_program<large, context_type> && !tile::tile_program<owning, context_type>));
  STATIC_REQUIRE((tile::shaped_operand<tile::row_shape> && !tile::shaped_operand<float>));
  STATIC_REQUIRE((any_vec<vec<float, 4>> && !any_vec<float>));
}

TEST_CASE("a program of the minimum members does every tile once", "[tile]") {
  reference_executor exec;
  int done[3] = {};
  tile::run(exec, counting{done});
  for (int n : done) CHECK(n == 1);
}
