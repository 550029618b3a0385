// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/arith.hpp>
#include <heddle/linalg/product_types.hpp>

namespace heddle {

/// The elements of a `block_int4`.
struct int4_code {};

/// A b [k, n] of products in four bits per element, with a scale for each block of steps of a column.
///
/// Layout: the codes of a column lie one after the other, two in a byte, the even step in the lower half, a column
/// begins with a byte; its scales, one for each `block` steps, and zeros follow the same order. An element is
/// scale * (code - zero), a float that is rounded once; where a product's a is bf16, rounded to that too. Without
/// zeros a zero is 8. Types: Scale is float, bf16 or fp16. Memory: refers to all three arrays.
template <floating_scalar Scale = float>
class block_int4 {
 public:
  using operand_type = int4_code;

  /// Pre: codes has n ceil(k / 2) bytes; scales, and zeros where there are some (0 to 15), n ceil(k / block) elements;
  /// block is 32, 64 or 128. Errors: contract_error.
  HEDDLE_FN block_int4(std::uint8_t const* codes, Scale const* scales, index_t k, index_t n, index_t block,
                       std::uint8_t const* zeros = nullptr)
      : codes_(codes), scales_(scales), zeros_(zeros), k_(k), n_(n), block_(block) {
    HEDDLE_EXPECTS(block == 32 || block == 64 || block == 128, "block_int4: blocks have 32, 64 or 128 steps", block);
    HEDDLE_EXPECTS(k >= 0 && n >= 0, "block_int4: extents are not negative", k, n);
    HEDDLE_EXPECTS(checked_product(k, n) == 0 || (codes && scales), "block_int4: codes and scales are there", k, n);
  }

  HEDDLE_FN index_t extent(int d) const noexcept { return d == 0 ? k_ : n_; }
  /// Of codes, scales and zeros.
  HEDDLE_FN index_t bytes() const noexcept {
    return n_ * line_bytes() + n_ * blocks() * (static_cast<index_t>(sizeof(Scale)) + (zeros_ ? 1 : 0));
  }
  HEDDLE_FN index_t line_bytes() const noexcept { return (k_ + 1) / 2; }
  HEDDLE_FN index_t blocks() const noexcept { return (k_ + block_ - 1) / block_; }
  HEDDLE_FN std::uint8_t const* codes() const noexcept { return codes_; }

  /// The scale and the zero of the block that holds a step.
  HEDDLE_TILE float scale(index_t step, index_t column) const {
    return static_cast<float>(scales_[column * ((k_ + block_ - 1) / block_) + step / block_]);
  }
  HEDDLE_TILE int zero(index_t step, index_t column) const {
    return zeros_ ? zeros_[column * ((k_ + block_ - 1) / block_) + step / block_] : 8;
  }
  /// One element.
  HEDDLE_TILE float operator()(index_t step, index_t column) const {
    int const byte = codes_[column * ((k_ + 1) / 2) + step / 2], code = step % 2 ? byte >> 4 : byte & 15;
    return mul(scale(step, column), static_cast<float>(code - zero(step, column)));
  }

 private:
  std::uint8_t const* codes_;
  Scale const* scales_;
  std::uint8_t const* zeros_;
  index_t k_, n_, block_;
};

}  // namespace heddle
