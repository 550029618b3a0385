// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/checkpoint/detail/utf8.hpp>
#include <heddle/core/contracts.hpp>

#include <charconv>
#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>

/// @file
/// JSON as text: strings, numbers, and a writer of nested values.

namespace heddle::checkpoint {

/// Appends a text as a JSON string. Bytes that are not UTF-8 become U+FFFD, so that the result is always valid JSON.
HEDDLE_FN void append_json(std::string& to, std::string_view text) {
  constexpr char const* digits = "0123456789abcdef";
  to += '"';
  while (!text.empty()) {
    char const c = text[0];
    auto const n = static_cast<std::size_t>(detail::utf8_length(text.data(), static_cast<index_t>(text.size())));
    if (n == 0)
      to += "\xef\xbf\xbd";
    else if (c == '"' || c == '\\')
      (to += '\\') += c;
    else if (c == '\n')
      to += "\\n";
    else if (c == '\t')
      to += "\\t";
    else if (c == '\r')
      to += "\\r";
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      ((to += "\\u00") += digits[static_cast<unsigned char>(c) / 16]) += digits[static_cast<unsigned char>(c) % 16];
    else
      to.append(text.substr(0, n));
    text.remove_prefix(n == 0 ? 1 : n);
  }
  to += '"';
}

/// Appends a number with the fewest digits that read back to the same value; NaN and infinities, which JSON lacks,
/// become null.
template <class T>
  requires(std::is_arithmetic_v<T> && !std::same_as<T, bool> && !std::same_as<T, char>)
HEDDLE_FN void append_json(std::string& to, T value) {
  if constexpr (std::is_floating_point_v<T>) {
    if (value - value != T(0)) {
      to += "null";
      return;
    }
  }
  char digits[64];
  std::to_chars_result const r = std::to_chars(digits, digits + sizeof digits, value);
  to.append(digits, r.ptr);
}

/// Writes compact JSON, members in the order they are given.
class json_writer {
 public:
  HEDDLE_FN json_writer() = default;
  json_writer(json_writer const&) = delete;
  json_writer& operator=(json_writer const&) = delete;
  HEDDLE_FN ~json_writer() = default;

  HEDDLE_FN json_writer& begin(char bracket) {
    separate();
    out_ += bracket;
    return *this;
  }
  HEDDLE_FN json_writer& end(char bracket) {
    out_ += bracket;
    return *this;
  }
  HEDDLE_FN json_writer& key(std::string_view k) {
    string(k);
    out_ += ':';
    return *this;
  }
  HEDDLE_FN json_writer& number(index_t n) {
    separate();
    append_json(out_, n);
    return *this;
  }
  HEDDLE_FN json_writer& numbers(index_t const* n, std::size_t count) {
    begin('[');
    for (std::size_t i = 0; i < count; ++i) number(n[i]);
    return end(']');
  }
  /// Pre: UTF-8.
  HEDDLE_FN json_writer& string(std::string_view s) {
    HEDDLE_EXPECTS(detail::is_utf8(s.data(), static_cast<index_t>(s.size())), "JSON text is UTF-8", s.size());
    separate();
    append_json(out_, s);
    return *this;
  }
  HEDDLE_FN std::string const& text() const noexcept { return out_; }

 private:
  HEDDLE_FN void separate() {
    char const last = out_.empty() ? '{' : out_.back();
    if (last != '{' && last != '[' && last != ':') out_ += ',';
  }
  std::string out_;
};

}  // namespace heddle::checkpoint
