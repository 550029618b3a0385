// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/extents.hpp>
#include <heddle/core/scalar.hpp>

#include <string_view>

namespace heddle::checkpoint {

/// The element types of the safetensors format.
enum class dtype : unsigned char {
  boolean, u8, i8, f8_e5m2, f8_e4m3, f8_e8m0, f4, f6_e2m3, f6_e3m2,
  i16, u16, f16, bf16, i32, u32, f32, i64, u64, f64, c64,
};

namespace detail {
struct dtype_row {
  char const* name;
  int bits;
};
inline constexpr dtype_row dtype_rows[] = {
    {"BOOL", 8},    {"U8", 8},  {"I8", 8},   {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F4", 4},
    {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"I16", 16}, {"U16", 16}, {"F16", 16}, {"BF16", 16}, {"I32", 32},
    {"U32", 32},    {"F32", 32}, {"I64", 64}, {"U64", 64}, {"F64", 64}, {"C64", 64}};
inline constexpr int num_dtypes = static_cast<int>(sizeof dtype_rows / sizeof *dtype_rows);
static_assert(num_dtypes == static_cast<int>(dtype::c64) + 1);
}  // namespace detail

/// The name that the file spells.
HEDDLE_FN constexpr char const* name(dtype t) noexcept { return detail::dtype_rows[static_cast<int>(t)].name; }
/// Bits of one element.
HEDDLE_FN constexpr int bits(dtype t) noexcept { return detail::dtype_rows[static_cast<int>(t)].bits; }

/// Finds a type by its name in the file and says whether there is one.
HEDDLE_FN constexpr bool find_dtype(std::string_view text, dtype& out) noexcept {
  for (int i = 0; i < detail::num_dtypes; ++i)
    if (text == detail::dtype_rows[i].name) {
      out = static_cast<dtype>(i);
      return true;
    }
  return false;
}

/// Which dtype a C++ type is stored as; specialise `value` for further types of the same bits.
template <class T>
struct dtype_of;

#define HEDDLE_DTYPE(type, code)               \
  template <>                                  \
  struct dtype_of<type> {                      \
    static constexpr dtype value = dtype::code; \
  }
/// The types of the language, and those of core/.
HEDDLE_DTYPE(bool, boolean);
HEDDLE_DTYPE(std::uint8_t, u8);
HEDDLE_DTYPE(std::int8_t, i8);
HEDDLE_DTYPE(std::uint16_t, u16);
HEDDLE_DTYPE(std::int16_t, i16);
HEDDLE_DTYPE(std::uint32_t, u32);
HEDDLE_DTYPE(std::int32_t, i32);
HEDDLE_DTYPE(std::uint64_t, u64);
HEDDLE_DTYPE(std::int64_t, i64);
HEDDLE_DTYPE(float, f32);
HEDDLE_DTYPE(double, f64);
HEDDLE_DTYPE(bf16, bf16);
HEDDLE_DTYPE(fp16, f16);
HEDDLE_DTYPE(fp8_e4m3, f8_e4m3);
HEDDLE_DTYPE(fp8_e5m2, f8_e5m2);
#undef HEDDLE_DTYPE

/// A type whose elements can be stored and read: its dtype has exactly its size.
template <class T>
concept storable = requires { dtype_of<T>::value; } && (bits(dtype_of<T>::value) == 8 * static_cast<int>(sizeof(T)));

}  // namespace heddle::checkpoint
