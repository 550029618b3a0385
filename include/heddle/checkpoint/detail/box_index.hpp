// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/checkpoint/layout.hpp>
#include <heddle/checkpoint/safetensors.hpp>

namespace heddle::checkpoint::detail {

/// A stored box: which tensor, which part, and where its bytes are.
struct stored_box {
  std::string name, key;
  any_box space, part;
  dtype type = dtype::f32;
  std::size_t file = 0;
  index_t start = 0;  ///< byte in the file

  HEDDLE_FN stored_box() = default;
  HEDDLE_FN stored_box(stored_box const&) = default;
  HEDDLE_FN stored_box(stored_box&&) noexcept = default;
  HEDDLE_FN stored_box& operator=(stored_box const&) = default;
  HEDDLE_FN stored_box& operator=(stored_box&&) noexcept = default;
  HEDDLE_FN ~stored_box() = default;

  HEDDLE_FN int compare(std::string_view other_name, std::string_view other_key) const noexcept {
    int const c = std::string_view(name).compare(other_name);
    return c != 0 ? c : std::string_view(key).compare(other_key);
  }
  HEDDLE_FN std::string label() const { return key.empty() ? name : name + "|" + key; }
};

HEDDLE_FN bool read_sizes(json const& object, char const* member, std::vector<index_t>& out) {
  json const* list = object.find(member);
  if (list == nullptr || !list->is(json_kind::array) || list->items.size() > max_rank) return false;
  for (json const& item : list->items) {
    index_t n = 0;
    if (!item.as_index(n)) return false;
    out.push_back(n);
  }
  return true;
}

HEDDLE_FN bool read_text(json const& object, char const* member, std::string& out) {
  json const* v = object.find(member);
  if (v == nullptr || !v->is(json_kind::string)) return false;
  out = v->text;
  return true;
}

/// One line of the index, checked against the header that it describes; marks the entry that it names.
HEDDLE_FN bool read_stored_box(json const& line, header const& h, stored_box& out, std::vector<char>& named,
                               std::string& why) {
  std::string entry_name;
  std::vector<index_t> extents, lo, hi;
  why = "has a line in the box index that is not understood";
  if (!line.is(json_kind::object) || !read_text(line, "entry", entry_name) || !read_text(line, "name", out.name) ||
      !read_text(line, "key", out.key) || !read_sizes(line, "extents", extents) || !read_sizes(line, "lo", lo) ||
      !read_sizes(line, "hi", hi) || lo.size() != extents.size() || hi.size() != extents.size())
    return false;
  entry const* e = h.find(entry_name);
  why = "names \"" + entry_name + "\" in its box index, which it does not hold";
  if (e == nullptr) return false;
  char& seen = named[static_cast<std::size_t>(e - h.entries.data())];
  why = "names \"" + entry_name + "\" twice in its box index";
  if (seen != 0) return false;
  seen = 1;
  why = "holds \"" + entry_name + "\" with another shape than its box index says";
  if (e->extents.size() != extents.size()) return false;
  out.space = whole(extents.data(), extents.size());
  out.part = out.space;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    if (lo[d] > hi[d] || hi[d] > extents[d] || hi[d] - lo[d] != e->extents[d]) return false;
    out.part.lo[d] = lo[d];
    out.part.hi[d] = hi[d];
  }
  out.type = e->type;
  out.start = h.data_start + e->begin;
  return true;
}

/// The boxes of one file.
HEDDLE_FN void read_box_index(header const& h, std::size_t file, std::string const& label,
                              std::vector<stored_box>& out, report& faults) {
  std::string const* text = h.meta(box_index_key);
  json root;
  if (text == nullptr) {
    faults.add(label, -1, "has no box index");
    return;
  }
  report syntax;
  if (!parse_json(*text, root, syntax, {.bytes = max_header_bytes}) || !root.is(json_kind::array)) {
    faults.add(label, -1, "has a box index that is not understood: " + syntax.summary(1));
    return;
  }
  if (root.items.size() != h.entries.size())
    faults.add(label, -1, "has a box index of " + std::to_string(root.items.size()) + " lines for " +
                              std::to_string(h.entries.size()) + " entries");
  std::vector<char> named(h.entries.size(), 0);
  for (json const& line : root.items) {
    stored_box b;
    std::string why;
    b.file = file;
    if (read_stored_box(line, h, b, named, why))
      out.push_back(std::move(b));
    else
      faults.add(label, -1, why);
  }
  for (std::size_t i = 0; i < named.size(); ++i)
    if (named[i] == 0) faults.add(label, -1, "holds \"" + h.entries[i].name + "\", which its box index does not name");
}

/// Checks that all boxes of one tensor agree on its extents and type and hold no element twice. Pre: sorted.
HEDDLE_FN void check_groups(std::vector<stored_box> const& boxes, report& faults) {
  for (std::size_t first = 0, i = 0; i < boxes.size(); ++i) {
    stored_box const& b = boxes[i];
    if (b.compare(boxes[first].name, boxes[first].key) != 0) first = i;
    if (!(b.space == boxes[first].space) || b.type != boxes[first].type) {
      faults.add(b.label(), -1, "has different extents or types on different ranks");
      continue;
    }
    for (std::size_t k = first; k < i; ++k)
      if (boxes[k].space == b.space && !intersect(boxes[k].part, b.part).empty()) {
        faults.add(b.label(), -1, "is stored twice in part");
        break;
      }
  }
}

}  // namespace heddle::checkpoint::detail
