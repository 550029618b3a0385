// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/core/tensor.hpp>
#include <heddle/exec/serial_executor.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <type_traits>
#include <utility>

using heddle::dims;
using tensor = heddle::tensor<float, 2>;

TEST_CASE("a tensor owns its memory and frees it once", "[core]") {
  heddle::host_space space;
  heddle::serial_executor exec(space);
  {
    tensor a(exec, space, dims<2>(3, 5));
    REQUIRE(space.counts().live == 60);
    REQUIRE(a.bytes() == 60);
    REQUIRE(reinterpret_cast<std::uintptr_t>(a.data()) % 64 == 0);
    REQUIRE(a.view().is_contiguous());
    tensor b = std::move(a);
    REQUIRE(a.data() == nullptr);
    REQUIRE(a.size() == 0);
    REQUIRE(b.extent(1) == 5);
    tensor c(exec, space, dims<2>(2, 2));
    REQUIRE(space.counts().live == 76);
    c = std::move(b);
    REQUIRE(space.counts().live == 60);
    REQUIRE(c.size() == 15);
    tensor& alias = c;
    c = std::move(alias);
    REQUIRE(c.size() == 15);
  }
  REQUIRE(space.counts().live == 0);
  REQUIRE(space.counts().peak == 76);
  REQUIRE(space.counts().allocations == 2);
}

TEST_CASE("an empty tensor takes no memory", "[core]") {
  heddle::host_space space;
  heddle::serial_executor exec(space);
  tensor const none(exec, space, dims<2>(0, 7));
  REQUIRE(none.view().empty());
  REQUIRE(none.extent(1) == 7);
  REQUIRE(space.counts().allocations == 0);
  REQUIRE(tensor().data() == nullptr);
}

TEST_CASE("what a tensor refuses", "[core]") {
  heddle::host_space space;
  heddle::serial_executor exec(space);
  REQUIRE_THROWS_AS(tensor(exec, space, dims<2>(heddle::index_t{1} << 40, heddle::index_t{1} << 21)),
                    heddle::contract_error);
  struct wide {
    double at[16];
  };
  using tensor_of_wide = heddle::tensor<wide, 1>;
  REQUIRE_THROWS_AS(tensor_of_wide(exec, space, dims<1>(heddle::index_t{1} << 57)), heddle::contract_error);
  REQUIRE(space.counts().allocations == 0);
  STATIC_REQUIRE_FALSE(std::is_copy_constructible_v<tensor>);
  STATIC_REQUIRE(std::is_convertible_v<tensor&, heddle::view<float, 2>>);
  STATIC_REQUIRE_FALSE(std::is_convertible_v<tensor, heddle::view<float, 2>>);  // it would dangle
}
