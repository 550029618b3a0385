// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/extents.hpp>

#include <string>

namespace heddle::checkpoint::detail {

/// The bytes of the code point at `s`, or 0 where it is no UTF-8: overlong, a surrogate, too large or cut off.
HEDDLE_FN index_t utf8_length(char const* s, index_t available) noexcept {
  auto byte = [s](index_t i) { return static_cast<unsigned char>(s[i]); };
  if (available < 1) return 0;
  unsigned const first = byte(0);
  if (first < 0x80) return 1;
  index_t const n = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  if (n == 0 || n > available) return 0;
  for (index_t i = 1; i < n; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  unsigned const second = byte(1);
  bool const overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  bool const outside = (first == 0xed && second > 0x9f) || (first == 0xf4 && second > 0x8f);
  return overlong || outside ? 0 : n;
}

HEDDLE_FN bool is_utf8(char const* s, index_t size) noexcept {
  for (index_t at = 0; at < size;) {
    index_t const n = utf8_length(s + at, size - at);
    if (n == 0) return false;
    at += n;
  }
  return true;
}

/// Pre: code is a Unicode scalar value.
HEDDLE_FN void append_utf8(std::string& out, std::uint32_t code) {
  auto put = [&out](std::uint32_t b) { out += static_cast<char>(b); };
  if (code < 0x80) return put(code);
  if (code < 0x800) {
    put(0xc0 | (code >> 6));
  } else if (code < 0x10000) {
    put(0xe0 | (code >> 12));
    put(0x80 | ((code >> 6) & 0x3f));
  } else {
    put(0xf0 | (code >> 18));
    put(0x80 | ((code >> 12) & 0x3f));
    put(0x80 | ((code >> 6) & 0x3f));
  }
  put(0x80 | (code & 0x3f));
}

}  // namespace heddle::checkpoint::detail
