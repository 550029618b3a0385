// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/checkpoint/json_writer.hpp>

#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>

namespace heddle::report {

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
      checkpoint::append_json(fields_, value);
    else
      checkpoint::append_json(fields_, std::string_view(value));
    return *this;
  }

  HEDDLE_FN bool empty() const noexcept { return fields_.empty(); }
  HEDDLE_FN std::string text() const { return "{" + fields_ + "}"; }

 private:
  HEDDLE_FN void begin(std::string_view name) {
    if (!fields_.empty()) fields_ += ',';
    checkpoint::append_json(fields_, name);
    fields_ += ':';
  }

  std::string fields_;
};

}  // namespace heddle::report
