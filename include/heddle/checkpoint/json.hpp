// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/checkpoint/detail/utf8.hpp>
#include <heddle/checkpoint/report.hpp>

#include <algorithm>
#include <string_view>

namespace heddle::checkpoint {

/// What a JSON value is.
enum class json_kind : unsigned char { null, boolean, number, string, array, object };

/// A JSON value. Members of an object keep their order: keys[i] names items[i].
class json {
 public:
  json_kind kind = json_kind::null;
  bool flag = false;
  index_t position = 0;  ///< of its first byte in the text
  std::string text;      ///< a string decoded to UTF-8, or a number as written
  std::vector<std::string> keys;
  std::vector<json> items;

  HEDDLE_FN json() = default;
  HEDDLE_FN json(json const&) = default;
  HEDDLE_FN json(json&&) noexcept = default;
  HEDDLE_FN json& operator=(json const&) = default;
  HEDDLE_FN json& operator=(json&&) noexcept = default;
  HEDDLE_FN ~json() = default;

  HEDDLE_FN bool is(json_kind k) const noexcept { return kind == k; }
  /// The first member of that name, or null. Complexity: linear.
  HEDDLE_FN json const* find(std::string_view key) const noexcept {
    for (std::size_t i = 0; i < keys.size(); ++i)
      if (keys[i] == key) return &items[i];
    return nullptr;
  }
  /// Writes a whole number in [0, 2^63) and says whether it is one; fractions and exponents are not.
  HEDDLE_FN bool as_index(index_t& out) const noexcept {
    if (kind != json_kind::number || text.empty() || text.size() > 19) return false;
    std::uint64_t value = 0;
    for (char c : text) {
      if (c < '0' || c > '9') return false;
      value = value * 10 + static_cast<std::uint64_t>(c - '0');
    }
    if (value > 0x7fffffffffffffffULL) return false;
    out = static_cast<index_t>(value);
    return true;
  }
};

/// What a text may cost at most. A value takes about a hundred bytes of memory.
struct json_limits {
  index_t bytes = 100'000'000;
  index_t depth = 64;
  index_t values = 2'000'000;
};

namespace detail {
class json_parser {
 public:
  HEDDLE_FN json_parser(char const* data, index_t size, json_limits const& limits, report& faults)
      : data_(data), size_(size), limits_(limits), faults_(faults) {}
  json_parser(json_parser const&) = delete;
  json_parser& operator=(json_parser const&) = delete;
  HEDDLE_FN ~json_parser() = default;

  HEDDLE_FN bool whole(json& out) {
    if (size_ > limits_.bytes) return fail("is longer than " + std::to_string(limits_.bytes) + " bytes");
    if (!value(out, 1)) return false;
    space();
    return at_ == size_ || fail("text follows the JSON value");
  }

 private:
  HEDDLE_FN bool fail(std::string what) {
    faults_.add("", at_, "JSON: " + what);
    return false;
  }
  HEDDLE_FN void space() noexcept {
    while (at_ < size_ && (data_[at_] == ' ' || data_[at_] == '\n' || data_[at_] == '\t' || data_[at_] == '\r')) ++at_;
  }
  HEDDLE_FN int peek() noexcept {
    space();
    return at_ < size_ ? static_cast<unsigned char>(data_[at_]) : -1;
  }
  HEDDLE_FN bool take(char c) noexcept {
    if (peek() != c) return false;
    ++at_;
    return true;
  }

  HEDDLE_FN bool value(json& out, index_t depth) {
    if (depth > limits_.depth) return fail("nested deeper than " + std::to_string(limits_.depth));
    if (++values_ > limits_.values) return fail("more than " + std::to_string(limits_.values) + " values");
    int const c = peek();
    out.position = at_;
    switch (c) {
      case -1: return fail("ends where a value is due");
      case '{': return object(out, depth);
      case '[': return array(out, depth);
      case '"': out.kind = json_kind::string; return string(out.text);
      case 't': out.flag = true; out.kind = json_kind::boolean; return word("true");
      case 'f': out.kind = json_kind::boolean; return word("false");
      case 'n': return word("null");
      default: return number(out);
    }
  }

  HEDDLE_FN bool word(std::string_view w) {
    if (std::string_view(data_ + at_, static_cast<std::size_t>(size_ - at_)).substr(0, w.size()) != w)
      return fail("not a value");
    at_ += static_cast<index_t>(w.size());
    return true;
  }

  HEDDLE_FN index_t digits() noexcept {
    index_t const from = at_;
    while (at_ < size_ && data_[at_] >= '0' && data_[at_] <= '9') ++at_;
    return at_ - from;
  }
  HEDDLE_FN bool number(json& out) {
    index_t const from = at_;
    auto here = [this](char c) { return at_ < size_ && data_[at_] == c; };
    if (here('-')) ++at_;
    bool const zero = here('0');
    index_t const whole_digits = digits();
    if (whole_digits == 0 || (zero && whole_digits > 1)) return fail("not a value");
    if (here('.')) {
      ++at_;
      if (digits() == 0) return fail("a fraction needs digits");
    }
    if (here('e') || here('E')) {
      ++at_;
      if (here('+') || here('-')) ++at_;
      if (digits() == 0) return fail("an exponent needs digits");
    }
    out.kind = json_kind::number;
    out.text.assign(data_ + from, static_cast<std::size_t>(at_ - from));
    return true;
  }

  HEDDLE_FN bool array(json& out, index_t depth) {
    out.kind = json_kind::array;
    ++at_;
    if (take(']')) return true;
    do {
      out.items.emplace_back();
      if (!value(out.items.back(), depth + 1)) return false;
    } while (take(','));
    return take(']') || fail("an array goes on with ',' or ']'");
  }

  HEDDLE_FN bool object(json& out, index_t depth) {
    out.kind = json_kind::object;
    ++at_;
    if (take('}')) return true;
    do {
      if (peek() != '"') return fail("a member begins with its name in quotes");
      out.keys.emplace_back();
      if (!string(out.keys.back())) return false;
      if (!take(':')) return fail("a member's name is followed by ':'");
      out.items.emplace_back();
      if (!value(out.items.back(), depth + 1)) return false;
    } while (take(','));
    if (!take('}')) return fail("an object goes on with ',' or '}'");
    report_duplicates(out);
    return true;
  }

  HEDDLE_FN void report_duplicates(json const& object) {
    std::vector<std::size_t> order(object.keys.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      int const c = object.keys[a].compare(object.keys[b]);
      return c != 0 ? c < 0 : a < b;
    });
    for (std::size_t i = 1; i < order.size(); ++i)
      if (object.keys[order[i - 1]] == object.keys[order[i]])
        faults_.add(object.keys[order[i]], object.items[order[i]].position, "appears twice");
  }

  HEDDLE_FN bool string(std::string& out) {
    ++at_;
    while (at_ < size_) {
      unsigned char const c = static_cast<unsigned char>(data_[at_]);
      if (c == '"') {
        ++at_;
        return true;
      }
      if (c < 0x20) return fail("a control character in a string must be escaped");
      if (c == '\\') {
        if (!escape(out)) return false;
      } else {
        index_t const n = utf8_length(data_ + at_, size_ - at_);
        if (n == 0) return fail("a string is not UTF-8");
        out.append(data_ + at_, static_cast<std::size_t>(n));
        at_ += n;
      }
    }
    return fail("a string has no end");
  }

  HEDDLE_FN bool escape(std::string& out) {
    if (at_ + 1 >= size_) return fail("a string has no end");
    constexpr char names[] = "\"\\/bfnrt", chars[] = "\"\\/\b\f\n\r\t";
    char const c = data_[at_ + 1];
    for (int i = 0; names[i] != 0; ++i)
      if (names[i] == c) {
        out += chars[i];
        at_ += 2;
        return true;
      }
    std::uint32_t code = 0, low = 0;
    if (c != 'u' || !hex4(at_ + 2, code)) return fail("unknown escape");
    index_t length = 6;
    if (code >= 0xd800 && code < 0xdc00) {
      bool const pair = at_ + 7 < size_ && data_[at_ + 6] == '\\' && data_[at_ + 7] == 'u' && hex4(at_ + 8, low);
      if (!pair || low < 0xdc00 || low > 0xdfff) return fail("half of a surrogate pair");
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
      length = 12;
    } else if (code >= 0xdc00 && code < 0xe000) {
      return fail("half of a surrogate pair");
    }
    append_utf8(out, code);
    at_ += length;
    return true;
  }
  HEDDLE_FN bool hex4(index_t from, std::uint32_t& code) const noexcept {
    if (from + 4 > size_) return false;
    for (index_t i = from; i < from + 4; ++i) {
      char const c = data_[i];
      bool const digit = c >= '0' && c <= '9', upper = c >= 'A' && c <= 'F', lower = c >= 'a' && c <= 'f';
      if (!digit && !upper && !lower) return false;
      code = code * 16 + static_cast<std::uint32_t>(digit ? c - '0' : upper ? c - 'A' + 10 : c - 'a' + 10);
    }
    return true;
  }

  char const* data_;
  index_t size_;
  index_t at_ = 0;
  index_t values_ = 0;
  json_limits limits_;
  report& faults_;
};
}  // namespace detail

/// Parses one strict JSON value (RFC 8259). The first syntax fault ends it; every duplicate member is reported.
///
/// Post: true where the syntax held, duplicates or not; only then is `out` complete.
/// Memory: bounded by the limits, whatever the text claims.
HEDDLE_FN bool parse_json(std::string_view data, json& out, report& faults, json_limits const& limits = {}) {
  out = json();
  return detail::json_parser(data.data(), static_cast<index_t>(data.size()), limits, faults).whole(out);
}

}  // namespace heddle::checkpoint
