// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/config.hpp>

#include <string_view>

namespace heddle::model::detail {

enum class character { letter, number, space, sign };

/// What a byte is when text is cut; every byte of a character beyond ASCII is a letter.
HEDDLE_FN constexpr character character_of(char c) noexcept {
  if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80)
    return character::letter;
  if (c >= '0' && c <= '9') return character::number;
  if (c == ' ' || (c >= '\t' && c <= '\r')) return character::space;
  return character::sign;
}

/// The bytes from `at` on that are of one kind.
HEDDLE_FN constexpr std::size_t run_of(std::string_view text, std::size_t at, character kind) noexcept {
  std::size_t end = at;
  while (end < text.size() && character_of(text[end]) == kind) ++end;
  return end - at;
}

/// The length of the first piece of a text that is not empty. Pieces are, the first that fits: an English ending after
/// an apostrophe ('s 't 're 've 'm 'll 'd); an optional space and letters, numbers, or signs; white space up to the
/// last character before something else; white space.
HEDDLE_FN constexpr std::size_t gpt2_piece(std::string_view text) noexcept {
  for (std::string_view ending : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"})
    if (text.substr(0, ending.size()) == ending) return ending.size();
  std::size_t const start = text[0] == ' ' && text.size() > 1 ? 1 : 0;
  character const kind = character_of(text[start]);
  if (kind != character::space) return start + run_of(text, start, kind);
  std::size_t const spaces = run_of(text, 0, character::space);
  return spaces < text.size() && spaces > 1 ? spaces - 1 : spaces;
}

}  // namespace heddle::model::detail
