// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/text.hpp>
#include <heddle/exec/backends.hpp>
#include <heddle/exec/executor.hpp>
#include <heddle/linalg/product_types.hpp>
#include <heddle/tile/targets.hpp>

namespace heddle {

/// Element types of operands that can be packed.
template <class T>
concept packable = std::same_as<T, float> || std::same_as<T, bf16> || std::same_as<T, std::int8_t>;

/// The b of products, laid out once for many of them: `matmul(exec, a, packed, c)` has the bits of the call with b.
///
/// Types: T is what b's elements multiply as. Memory: a reference to memory that the caller owns, written by `pack`;
/// it carries the form that it was packed in, and a product that reads another form refuses it.
template <packable T>
class packed_operand {
 public:
  using operand_type = T;

  HEDDLE_FN packed_operand() noexcept : data_(nullptr), rows_(0), columns_(0), form_(nullptr) {}
  HEDDLE_FN packed_operand(void const* data, index_t rows, index_t columns, char const* form) noexcept
      : data_(data), rows_(rows), columns_(columns), form_(form) {}

  HEDDLE_FN index_t extent(int d) const noexcept { return d == 0 ? rows_ : columns_; }
  /// Of the elements, without what a layout adds.
  HEDDLE_FN index_t bytes() const noexcept { return rows_ * columns_ * static_cast<index_t>(sizeof(T)); }
  HEDDLE_FN void const* data() const noexcept { return data_; }
  /// The name of the layout: that of an instruction set, or "plain".
  HEDDLE_FN char const* form() const noexcept { return form_ ? form_ : "nothing"; }

 private:
  void const* data_;
  index_t rows_, columns_;
  char const* form_;
};

namespace linalg::detail {
/// Errors: contract_error unless `packed` has the form that a product reads, and for a strict product of bf16.
template <class T>
HEDDLE_FN void expect_form(packed_operand<T> const& packed, char const* wanted, bool strict) {
  if constexpr (std::is_same_v<T, bf16>)
    HEDDLE_EXPECTS(!strict, "matmul: packed bf16 goes by pairs, for strict products hand b itself");
  HEDDLE_EXPECTS(heddle::detail::same_text(packed.form(), wanted),
                 "matmul: this operand is packed in another form than products here read, have and want; pack it again",
                 packed.form(), wanted);
}
}  // namespace linalg::detail

/// Packs b for products with it.
///
/// Shapes: b [k, n], strides free. Types: float, bf16, std::int8_t. Pre: `memory` is aligned to 64 bytes, has
/// `packed_operand_bytes<T>(exec, k, n)` bytes and lies over nothing of b; it stays as it is while products use it.
/// Errors: contract_error. Complexity: one pass over b. Sync: submits to `exec`. Memory: none of its own.
struct pack_fn {
  template <executor E, matrix_view B>
    requires packable<typename B::value_type> HEDDLE_FN packed_operand<typename B::value_type>
  operator()(E& exec, B const& b, view<unsigned char, 1> const& memory) const {
    using T = typename B::value_type;
    using form = kernel<pack_fn, typename E::backend>;
    index_t const bytes = form::template bytes<T>(b.extent(0), b.extent(1));
    HEDDLE_EXPECTS(memory.extent(0) >= bytes && memory.stride(0) == 1,
                   "pack: memory holds packed_operand_bytes bytes, one after the other", memory.extent(0), bytes);
    HEDDLE_EXPECTS(reinterpret_cast<std::uintptr_t>(memory.data()) % 64 == 0, "pack: memory is aligned to 64 bytes");
    observed_span<E> const scope(exec, [&] {
      return span{.operation = "pack", .shape = {b.extent(0), b.extent(1)}, .bytes = element_bytes(b) + bytes};
    });
    if (b.size() != 0) run_kernel<pack_fn>(exec, canonical_input(b), memory.data());
    return {memory.data(), b.extent(0), b.extent(1), form::template name<T>()};
  }
};
inline constexpr pack_fn pack{};

/// Bytes that b [rows, columns] of T needs. Errors: contract_error where the size does not fit.
template <packable T, executor E>
HEDDLE_FN index_t packed_operand_bytes(E const&, index_t rows, index_t columns) {
  return kernel<pack_fn, typename E::backend>::template bytes<T>(rows, columns);
}

}  // namespace heddle
