// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/checkpoint/crc32c.hpp>
#include <heddle/checkpoint/json.hpp>
#include <heddle/checkpoint/json_writer.hpp>
#include <heddle/checkpoint/layout.hpp>

/// @file
/// The list of files that makes a save complete, guarded by its own checksum.

namespace heddle::checkpoint {

/// What a complete save consists of: its files, and text of the caller (flags, seed, position in the data).
struct manifest {
  save_id id;
  std::vector<rank_file> files;
  std::vector<std::pair<std::string, std::string>> meta;

  HEDDLE_FN manifest() = default;
  HEDDLE_FN manifest(manifest const&) = default;
  HEDDLE_FN manifest(manifest&&) noexcept = default;
  HEDDLE_FN manifest& operator=(manifest const&) = default;
  HEDDLE_FN manifest& operator=(manifest&&) noexcept = default;
  HEDDLE_FN ~manifest() = default;

  HEDDLE_FN std::string const* find_meta(std::string_view key) const noexcept {
    for (auto const& pair : meta)
      if (pair.first == key) return &pair.second;
    return nullptr;
  }
};

/// Its name in the folder of a save, and its longest text. Units: bytes.
inline constexpr char const* manifest_name = "manifest.json";
inline constexpr index_t max_manifest_bytes = 64 << 20;

namespace detail {
inline constexpr std::string_view manifest_head = "{\"crc32c\":\"";

HEDDLE_FN std::string hex8(std::uint32_t v) {
  std::string s;
  for (int shift = 28; shift >= 0; shift -= 4) s += "0123456789abcdef"[(v >> shift) & 15];
  return s;
}
/// The checksum of the manifest's text with its own eight digits set to 0.
HEDDLE_FN std::string manifest_checksum(std::string text) {
  text.replace(manifest_head.size(), 8, "00000000");
  crc32c c;
  c.update(text.data(), static_cast<index_t>(text.size()));
  return hex8(c.value());
}
HEDDLE_FN bool index_member(json const& object, char const* key, index_t& out) {
  json const* v = object.find(key);
  return v != nullptr && v->as_index(out);
}
}  // namespace detail

/// The text of the manifest's file, one line of JSON.
HEDDLE_FN std::string manifest_text(manifest const& m) {
  json_writer w;
  w.begin('{').key("crc32c").string("00000000").key("format").string("heddle-checkpoint").key("version").number(1);
  w.key("step").number(m.id.step).key("attempt").number(m.id.attempt).key("files").begin('[');
  for (rank_file const& f : m.files)
    w.begin('{').key("rank").number(f.rank).key("bytes").number(f.bytes).key("crc32c").number(f.crc32c).end('}');
  w.end(']').key("meta").begin('{');
  for (auto const& pair : m.meta) w.key(pair.first).string(pair.second);
  std::string text = w.end('}').end('}').text() + "\n";
  return text.replace(detail::manifest_head.size(), 8, detail::manifest_checksum(text));
}

/// Reads a manifest back and reports what is wrong with it.
HEDDLE_FN report parse_manifest(std::string const& text, manifest& out) {
  out = manifest();
  report faults;
  std::size_t const head = detail::manifest_head.size();
  if (text.size() < head + 8 || text.compare(0, head, detail::manifest_head) != 0 ||
      text.compare(head, 8, detail::manifest_checksum(text)) != 0) {
    faults.add(manifest_name, -1, "does not match its checksum");
    return faults;
  }
  json root;
  if (!parse_json(text, root, faults, {.bytes = max_manifest_bytes}) || !faults) return faults;
  index_t version = 0;
  if (!detail::index_member(root, "version", version) || version != 1) {
    faults.add(manifest_name, -1, "has a version that this build does not read");
    return faults;
  }
  json const *files = root.find("files"), *meta = root.find("meta");
  bool good = detail::index_member(root, "step", out.id.step) &&
              detail::index_member(root, "attempt", out.id.attempt) &&
              files != nullptr && files->is(json_kind::array) && meta != nullptr && meta->is(json_kind::object);
  for (std::size_t i = 0; good && i < files->items.size(); ++i) {
    json const& item = files->items[i];
    rank_file f{};
    good = item.is(json_kind::object) && detail::index_member(item, "rank", f.rank) &&
           detail::index_member(item, "bytes", f.bytes) && detail::index_member(item, "crc32c", f.crc32c);
    out.files.push_back(f);
  }
  for (std::size_t i = 0; good && i < meta->items.size(); ++i) {
    good = meta->items[i].is(json_kind::string);
    out.meta.emplace_back(meta->keys[i], meta->items[i].text);
  }
  if (!good) faults.add(manifest_name, -1, "lacks a member or has one of another kind");
  return faults;
}

/// Reads the manifest of a save. Post: a missing or broken one is reported, not thrown.
HEDDLE_FN report read_manifest(std::string const& root, save_id const& id, manifest& out) {
  std::string const path = root + "/" + folder_name(id) + "/" + manifest_name;
  report faults;
  if (!file_exists(path)) {
    faults.add(folder_name(id), -1, "has no manifest: the save was not finished");
    return faults;
  }
  try {
    faults = parse_manifest(read_small_file(path, max_manifest_bytes), out);
  } catch (error const& e) {
    faults.add(folder_name(id), -1, e.what());
  }
  if (faults && !(out.id == id)) faults.add(folder_name(id), -1, "holds the manifest of another save");
  return faults;
}

}  // namespace heddle::checkpoint
