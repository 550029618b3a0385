// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/config.hpp>

#include <charconv>
#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>

namespace heddle::report {

namespace detail {
// The length of the UTF-8 sequence at the start of `s`, or 0 where there is none: overlong forms, surrogates and
// what lies beyond U+10FFFF are none.
HEDDLE_FN std::size_t utf8_length(std::string_view s) noexcept {
  auto byte = [&](std::size_t i) { return i < s.size() ? static_cast<unsigned char>(s[i]) : 0U; };
  auto rest = [&](std::size_t i) { return (byte(i) & 0xc0U) == 0x80U; };
  unsigned const b = byte(0);
  if (b < 0x80) return 1;
  if (b >= 0xc2 && b < 0xe0) return rest(1) ? 2 : 0;
  if (b >= 0xe0 && b < 0xf0) {
    bool const legal = b == 0xe0 ? byte(1) >= 0xa0 : b == 0xed ? byte(1) < 0xa0 : true;
    return legal && rest(1) && rest(2) ? 3 : 0;
  }
  if (b >= 0xf0 && b < 0xf5) {
    bool const legal = b == 0xf0 ? byte(1) >= 0x90 : b == 0xf4 ? byte(1) < 0x90 : true;
    return legal && rest(1) && rest(2) && rest(3) ? 4 : 0;
  }
  return 0;
}
}  // namespace detail

/// Appends a text as a JSON string. Bytes that are not UTF-8 become U+FFFD, so that the result is always valid JSON.
HEDDLE_FN void append_json(std::string& to, std::string_view text) {
  constexpr char const* digits = "0123456789abcdef";
  to += '"';
  while (!text.empty()) {
    char const c = text[0];
    std::size_t const n = detail::utf8_length(text);
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

/// A JSON object, built field by field in the order of the calls.
///
///     json_object().field("step", 3).field("loss", 2.5f).field("note", "a \"b\"").text()
class json_object {
 public:
  HEDDLE_FN json_object() = default;
  HEDDLE_FN json_object(json_object const&) = default;
  HEDDLE_FN json_object(json_object&&) noexcept = default;
  HEDDLE_FN json_object& operator=(json_object const&) = default;
  HEDDLE_FN json_object& operator=(json_object&&) noexcept = default;
  HEDDLE_FN ~json_object() = default;

  template <class T>
  HEDDLE_FN json_object& field(std::string_view name, T const& value) {
    begin(name);
    if constexpr (std::same_as<T, bool>)
      fields_ += value ? "true" : "false";
    else if constexpr (std::same_as<T, json_object>)
      fields_ += value.text();
    else if constexpr (std::is_arithmetic_v<T> && !std::same_as<T, char>)
      append_json(fields_, value);
    else
      append_json(fields_, std::string_view(value));
    return *this;
  }

  HEDDLE_FN bool empty() const noexcept { return fields_.empty(); }
  HEDDLE_FN std::string text() const { return "{" + fields_ + "}"; }

 private:
  HEDDLE_FN void begin(std::string_view name) {
    if (!fields_.empty()) fields_ += ',';
    append_json(fields_, name);
    fields_ += ':';
  }

  std::string fields_;
};

}  // namespace heddle::report
