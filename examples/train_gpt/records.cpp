// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "records.hpp"

#include <heddle/checkpoint/atomic_file.hpp>
#include <heddle/checkpoint/file.hpp>
#include <heddle/checkpoint/json.hpp>

#include <cstdlib>
#include <string_view>

namespace train_gpt {

namespace hd = heddle;
using hd::index_t;

namespace {

// Adds one line's numbers, and says whether it is a record of a step up to `last`.
bool add_record(std::string_view line, index_t last, records& to) {
  hd::checkpoint::json object;
  hd::checkpoint::report faults;
  if (!hd::checkpoint::parse_json(line, object, faults)) return false;
  hd::checkpoint::json const* const step = object.find("step");
  index_t at = 0;
  if (step == nullptr || !step->as_index(at) || at > last) return false;
  auto const add = [&](char const* key, std::vector<hd::report::chart_point>& points) {
    hd::checkpoint::json const* const value = object.find(key);
    if (value != nullptr && value->is(hd::checkpoint::json_kind::number))
      points.push_back({static_cast<double>(at), std::strtod(value->text.c_str(), nullptr)});
  };
  add("loss", to.train);
  add("held_out", to.valid);
  return true;
}

}  // namespace

records take_up_records(std::string const& path, index_t last) {
  records found;
  if (!hd::checkpoint::file_exists(path)) return found;
  std::string const all = hd::checkpoint::read_small_file(path, index_t{1} << 32);
  std::string kept;
  for (std::size_t at = 0, end; at < all.size(); at = end) {
    std::size_t const line_end = all.find('\n', at);
    end = line_end == std::string::npos ? all.size() : line_end + 1;
    std::string_view const line(all.data() + at, end - at);
    if (line.back() == '\n' && add_record(line, last, found)) kept += line;
  }
  if (kept != all) hd::checkpoint::write_file(path, kept);
  return found;
}

}  // namespace train_gpt
