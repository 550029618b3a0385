// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/config.hpp>

#include <concepts>
#include <string>
#include <string_view>

namespace heddle::pipeline::detail {

HEDDLE_FN void append_part(std::string& to, std::string_view part) { to.append(part); }
HEDDLE_FN void append_part(std::string& to, char part) { to.push_back(part); }
HEDDLE_FN void append_part(std::string& to, std::integral auto number) { to.append(std::to_string(number)); }

/// Texts and numbers in a row. A literal plus a temporary string would do, but for a false warning of g++ 12 about it.
template <class... Parts>
HEDDLE_FN std::string join(Parts const&... parts) {
  std::string t;
  (append_part(t, parts), ...);
  return t;
}

}  // namespace heddle::pipeline::detail
