// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/scalar.hpp>
#include <heddle/core/tensor_view.hpp>

/// @file
/// Which element types multiply, and in what type epilogues see the sums.

namespace heddle {

/// Stands for the elements of `block_int4`.
struct int4_code;

namespace linalg::detail {

/// Codes that b may be stored in while a is wider: they become numbers of a's type, and that product is taken.
template <class B>
inline constexpr bool is_code =
    std::is_same_v<B, fp8_e4m3> || std::is_same_v<B, fp8_e5m2> || std::is_same_v<B, int4_code>;
template <class A, class B>
inline constexpr bool byte_inputs = std::is_same_v<B, std::int8_t> &&
                                    (std::is_same_v<A, std::int8_t> || std::is_same_v<A, std::uint8_t>);
template <class A, class B>
inline constexpr bool coded_inputs = is_code<B> && (std::is_same_v<A, float> || std::is_same_v<A, bf16>);

template <class A, class C>
struct number_of {
  using type = accumulator_t<A>;
};
template <class A, class C>
  requires std::integral<A>
struct number_of<A, C> {
  using type = std::conditional_t<std::is_same_v<C, std::int32_t>, std::int32_t, float>;
};

}  // namespace linalg::detail

/// What epilogues of a product see: the accumulator's type of a; for bytes std::int32_t, or float where c is no
/// integer.
template <scalar A, scalar C>
using product_number_t = typename linalg::detail::number_of<A, C>::type;

/// Element types that a product accepts: equal floats, with c of the accumulator's type or theirs; std::int8_t or
/// std::uint8_t times std::int8_t, into std::int32_t or a float of 16 or 32 bits; float or bf16 times codes of b.
template <class A, class B, class C>
concept product_types =
    (std::same_as<A, B> && floating_scalar<A> && (std::same_as<C, accumulator_t<A>> || std::same_as<C, A>)) ||
    (linalg::detail::coded_inputs<A, B> && (std::same_as<C, accumulator_t<A>> || std::same_as<C, A>)) ||
    (linalg::detail::byte_inputs<A, B> &&
     (std::same_as<C, std::int32_t> || std::same_as<C, float> || std::same_as<C, bf16> || std::same_as<C, fp16>));

/// Element types of a whole product: also sums in float that are stored as a narrow float or as bytes.
template <class A, class B, class C>
concept product_results =
    product_types<A, B, C> || (product_types<A, B, float> && (std::same_as<C, bf16> || std::same_as<C, fp16> ||
                                                              std::same_as<C, fp8_e4m3> || std::same_as<C, fp8_e5m2> ||
                                                              std::same_as<C, std::int8_t>));

}  // namespace heddle
