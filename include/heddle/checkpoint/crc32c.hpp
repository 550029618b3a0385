// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/extents.hpp>

namespace heddle::checkpoint {

namespace detail {
struct crc_tables {
  std::uint32_t row[8][256];
};
HEDDLE_FN constexpr crc_tables make_crc_tables() noexcept {
  crc_tables t{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = (c >> 1) ^ ((c & 1) != 0 ? 0x82f63b78u : 0u);
    t.row[0][i] = c;
  }
  for (int k = 1; k < 8; ++k)
    for (int i = 0; i < 256; ++i) t.row[k][i] = (t.row[k - 1][i] >> 8) ^ t.row[0][t.row[k - 1][i] & 255];
  return t;
}
inline constexpr crc_tables crc_of_byte = make_crc_tables();
}  // namespace detail

/// The CRC-32C (Castagnoli) of bytes that arrive in pieces.
class crc32c {
 public:
  HEDDLE_FN crc32c() noexcept {}

  HEDDLE_FN void update(void const* data, index_t size) noexcept {
    auto const* p = static_cast<unsigned char const*>(data);
    auto const& row = detail::crc_of_byte.row;
    std::uint32_t c = state_;
    // Eight bytes at a time: each table holds the remainder of one byte followed by k zero bytes.
    for (; size >= 8; size -= 8, p += 8) {
      std::uint32_t const low = c ^ (std::uint32_t{p[0]} | std::uint32_t{p[1]} << 8 | std::uint32_t{p[2]} << 16 |
                                     std::uint32_t{p[3]} << 24);
      c = row[7][low & 255] ^ row[6][(low >> 8) & 255] ^ row[5][(low >> 16) & 255] ^ row[4][low >> 24] ^
          row[3][p[4]] ^ row[2][p[5]] ^ row[1][p[6]] ^ row[0][p[7]];
    }
    for (; size > 0; --size, ++p) c = (c >> 8) ^ row[0][(c ^ *p) & 255];
    state_ = c;
  }
  HEDDLE_FN std::uint32_t value() const noexcept { return ~state_; }

 private:
  std::uint32_t state_ = 0xffffffffu;
};

}  // namespace heddle::checkpoint
