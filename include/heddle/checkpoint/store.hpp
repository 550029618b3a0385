// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/checkpoint/convert.hpp>
#include <heddle/checkpoint/detail/box_index.hpp>
#include <heddle/checkpoint/manifest.hpp>
#include <heddle/checkpoint/store_writer.hpp>

/// @file
/// Loads a sharded checkpoint, whatever mesh wrote it: each wanted box is put together from the stored boxes it meets.

namespace heddle::checkpoint {

/// How much of a save is read before it is accepted.
enum class verify {
  contents,  ///< every byte, against the checksums
  sizes,     ///< sizes and headers: for ranks that accept what one rank has verified
};

/// A tensor that the caller expects: its name, state key and extents as `whole(extents)`.
struct expected_entry {
  std::string name, key;
  any_box space;

  HEDDLE_FN expected_entry(std::string n, std::string k, any_box const& s)
      : name(std::move(n)), key(std::move(k)), space(s) {}
  HEDDLE_FN expected_entry(expected_entry const&) = default;
  HEDDLE_FN expected_entry(expected_entry&&) noexcept = default;
  HEDDLE_FN expected_entry& operator=(expected_entry const&) = default;
  HEDDLE_FN expected_entry& operator=(expected_entry&&) noexcept = default;
  HEDDLE_FN ~expected_entry() = default;
};

/// One complete save, open for reading. Sync: loads may come from several threads at once.
class store {
 public:
  HEDDLE_FN store() = default;
  HEDDLE_FN store(store const&) = default;
  HEDDLE_FN store(store&&) noexcept = default;
  HEDDLE_FN store& operator=(store const&) = default;
  HEDDLE_FN store& operator=(store&&) noexcept = default;
  HEDDLE_FN ~store() = default;

  HEDDLE_FN save_id id() const noexcept { return manifest_.id; }
  HEDDLE_FN std::string const& folder() const noexcept { return folder_; }
  /// What commit() was given as `meta`, or null.
  HEDDLE_FN std::string const* meta(std::string_view key) const noexcept { return manifest_.find_meta(key); }
  /// The bytes of tensors that loads have read. Units: bytes.
  HEDDLE_FN index_t bytes_read() const noexcept { return __atomic_load_n(&bytes_read_, __ATOMIC_RELAXED); }

  /// Every tensor and state key that is stored, sorted, with its extents.
  HEDDLE_FN std::vector<expected_entry> entries() const {
    std::vector<expected_entry> out;
    for (detail::stored_box const& b : boxes_)
      if (out.empty() || b.compare(out.back().name, out.back().key) != 0) out.emplace_back(b.name, b.key, b.space);
    return out;
  }

  /// Reports each expected entry that is missing, has other extents or is not stored whole, in the caller's order, and
  /// each stored one that nobody expects. The first fault says how a checkpoint of another model differs.
  HEDDLE_FN report check(std::vector<expected_entry> const& wanted) const {
    report faults;
    std::vector<std::pair<std::string_view, std::string_view>> known;
    for (expected_entry const& e : wanted) {
      known.emplace_back(e.name, e.key);
      load(e.name, e.key, e.space, e.space, faults, [](detail::stored_box const&, any_box const&) {});
    }
    std::sort(known.begin(), known.end());
    for (expected_entry const& e : entries())
      if (!std::binary_search(known.begin(), known.end(), std::pair<std::string_view, std::string_view>(e.name, e.key)))
        faults.add(label(e.name, e.key), -1, "is in the checkpoint and not in this model");
    return faults;
  }

  /// Fills a view with a box of a tensor, reading exactly the bytes of that box.
  ///
  /// Shapes: `space` is all of the tensor as the caller knows it; out holds the box in row-major order without gaps.
  /// Types: the stored one; a float or double view also takes narrower floats, exactly, and float takes F64, rounded.
  /// Post: a report that is not clean (no such entry, other extents or type, elements that no rank stored) leaves out
  /// partly written. Errors: errc::file. Complexity: one read per contiguous run of each stored box that is met.
  template <writable_view V>
    requires storable<typename V::value_type>
  HEDDLE_FN report load_box(std::string_view name, std::string_view key, any_box const& space, any_box const& wanted,
                            V const& out) const {
    using element = typename V::value_type;
    HEDDLE_EXPECTS(contains(space, wanted), "a box lies inside its tensor", wanted.size());
    HEDDLE_EXPECTS(out.size() == wanted.size() && out.is_contiguous(), "the view holds the box without gaps",
                   out.size(), wanted.size());
    report faults;
    std::size_t open = files_.size();
    file const* f = nullptr;
    std::vector<file> holder;  // one open file at a time
    load(name, key, space, wanted, faults, [&](detail::stored_box const& b, any_box const& part) {
      if (!detail::readable_as<element>(b.type)) {
        faults.add(label(name, key), -1, std::string("is ") + checkpoint::name(b.type) + " in the checkpoint and " +
                                             checkpoint::name(dtype_of<element>::value) + " here");
        return;
      }
      if (open != b.file) {
        holder.clear();
        holder.push_back(file::open(files_[b.file]));
        f = &holder.back();
        open = b.file;
      }
      detail::read_part_as(*f, b.type, b.start, b.part, part, wanted, out.data());
      __atomic_add_fetch(&bytes_read_, part.size() * bits(b.type) / 8, __ATOMIC_RELAXED);
    });
    return faults;
  }

  /// Fills a view with a flat row-major range of a tensor. The same conditions.
  template <vector_view V>
    requires writable_view<V> && storable<typename V::value_type>
  HEDDLE_FN report load_range(std::string_view name, std::string_view key, any_box const& space, segment range,
                              V const& out) const {
    HEDDLE_EXPECTS(out.size() == range.size(), "the view holds the range", out.size(), range.size());
    report faults;
    for_each_box(space, range, [&](any_box const& part, index_t offset) {
      faults.add(load_box(name, key, space, part, slice(out, 0, offset, offset + part.size())));
    });
    return faults;
  }

 private:
  friend HEDDLE_FN report open_save(std::string const& root, save_id const& id, store& out, verify how);
  friend HEDDLE_FN report open_tensors(std::string const& path, store& out);

  static HEDDLE_FN std::string label(std::string_view name, std::string_view key) {
    return key.empty() ? std::string(name) : std::string(name) + "|" + std::string(key);
  }

  // Calls f(stored box, what of it is wanted) and reports what can't be served.
  template <class F>
  HEDDLE_FN void load(std::string_view name, std::string_view key, any_box const& space, any_box const& wanted,
                      report& faults, F const& f) const {
    auto at = std::lower_bound(boxes_.begin(), boxes_.end(), 0,
                               [&](detail::stored_box const& b, int) { return b.compare(name, key) < 0; });
    if (at == boxes_.end() || at->compare(name, key) != 0)
      return faults.add(label(name, key), -1, "is in this model and not in the checkpoint");
    if (!(at->space == space))
      return faults.add(label(name, key), -1,
                        "is " + shape_text(space.hi, space.rank()) + " in this model and " +
                            shape_text(at->space.hi, at->space.rank()) + " in the checkpoint");
    index_t found = 0;
    for (; at != boxes_.end() && at->compare(name, key) == 0; ++at) {
      any_box const part = intersect(at->part, wanted);
      if (part.empty()) continue;
      f(*at, part);
      found += part.size();
    }
    if (found != wanted.size())
      faults.add(label(name, key), -1, "lacks " + std::to_string(wanted.size() - found) + " of " +
                                           std::to_string(wanted.size()) + " elements in the checkpoint");
  }

  std::string folder_;
  manifest manifest_;
  std::vector<std::string> files_;
  std::vector<detail::stored_box> boxes_;
  mutable index_t bytes_read_ = 0;
};

namespace detail {
HEDDLE_FN void verify_file(file const& f, rank_file const& said, verify how, std::string const& label, report& faults) {
  index_t const bytes = f.size();
  if (bytes != said.bytes)
    return faults.add(label, -1, "has " + std::to_string(bytes) + " bytes, the manifest says " +
                                     std::to_string(said.bytes));
  if (how != verify::contents) return;
  crc32c c;
  std::vector<char> buffer(std::size_t{1} << 20);
  for (index_t at = 0; at < bytes;) {
    index_t const left = bytes - at, room = static_cast<index_t>(buffer.size()), n = left < room ? left : room;
    f.read_at(at, buffer.data(), n);
    c.update(buffer.data(), n);
    at += n;
  }
  if (static_cast<index_t>(c.value()) != said.crc32c) faults.add(label, -1, "does not match its checksum");
}
}  // namespace detail

/// Opens one save by name and reports why it can't be used: no valid manifest, a file that is missing, of another
/// size or changed, a broken header, boxes that contradict each other. Errors: none; failures to read are reported.
HEDDLE_FN report open_save(std::string const& root, save_id const& id, store& out, verify how = verify::contents) {
  out = store();
  report faults = read_manifest(root, id, out.manifest_);
  if (!faults) return faults;
  out.folder_ = root + "/" + folder_name(id);
  for (rank_file const& said : out.manifest_.files) {
    std::string const label = file_name(said.rank), path = out.folder_ + "/" + label;
    std::size_t const number = out.files_.size();
    out.files_.push_back(path);
    try {
      file const f = file::open(path);
      index_t const before = faults.count();
      detail::verify_file(f, said, how, label, faults);
      if (faults.count() != before) continue;
      header h;
      report const bad = read_header(f, h);
      if (bad)
        detail::read_box_index(h, number, label, out.boxes_, faults);
      else
        faults.add(label, -1, bad.summary(1));
    } catch (error const& e) {
      faults.add(label, -1, e.what());
    }
  }
  std::sort(out.boxes_.begin(), out.boxes_.end(), [](detail::stored_box const& a, detail::stored_box const& b) {
    int const c = a.compare(b.name, b.key);
    return c != 0 ? c < 0 : a.file != b.file ? a.file < b.file : a.start < b.start;
  });
  detail::check_groups(out.boxes_, faults);
  return faults;
}

/// Opens one safetensors file of any program as a store of whole tensors, each under its own name and state key "".
/// Errors: errc::file where the file can't be read. Tensors of more than 8 dimensions are reported.
HEDDLE_FN report open_tensors(std::string const& path, store& out) {
  out = store();
  header h;
  report faults = read_header(file::open(path), h);
  out.folder_ = path;
  out.files_.push_back(path);
  for (entry const& e : h.entries) {
    if (!faults) break;
    if (e.extents.size() > max_rank) {
      faults.add(e.name, e.position, "has more than 8 dimensions");
      break;
    }
    detail::stored_box b;
    b.name = e.name;
    b.space = b.part = e.space();
    b.type = e.type;
    b.start = h.data_start + e.begin;
    out.boxes_.push_back(std::move(b));
  }
  std::sort(out.boxes_.begin(), out.boxes_.end(),
            [](detail::stored_box const& a, detail::stored_box const& b) { return a.compare(b.name, b.key) < 0; });
  return faults;
}

namespace detail {
/// The save that `latest` names, or why it names none.
HEDDLE_FN std::string read_pointer(std::string const& pointer, save_id& out) {
  if (!file_exists(pointer)) return pointer + " is missing";
  try {
    std::string text = read_small_file(pointer, 4096);
    if (!text.empty() && text.back() == '\n') text.pop_back();
    return parse_folder_name(text, out) ? std::string() : pointer + " is not understood";
  } catch (error const& e) {
    return pointer + " is not usable: " + e.what();
  }
}
}  // namespace detail

/// Opens the newest usable save: the one that `latest` names, else the others from the latest attempt down.
///
/// A `latest` that is missing, of another kind or not understood, and every save that is passed over, are announced
/// with the reason. Errors: errc::file where no save is usable; the message
/// has the first reason.
/// Sync: in a job of many ranks one rank calls it and tells the others id(), which they open with open_save().
HEDDLE_FN store open_store(std::string const& root, verify how = verify::contents, notice const& tell = {}) {
  std::vector<save_id> order = list_saves(root);
  save_id named;
  std::string const pointer = root + "/latest";
  std::string const unusable = detail::read_pointer(pointer, named);
  if (unusable.empty()) {
    order.erase(std::remove(order.begin(), order.end(), named), order.end());
    order.insert(order.begin(), named);
  } else if (!order.empty()) {
    tell(unusable + ": looking for the newest complete save");
  }
  std::vector<std::string> reasons;
  for (save_id const& id : order) {
    store s;
    report const faults = open_save(root, id, s, how);
    std::string const folder = root + "/" + folder_name(id);
    if (faults) {
      for (std::string const& reason : reasons) tell(reason);
      if (!reasons.empty()) tell("falling back to " + folder);
      return s;
    }
    reasons.push_back(folder + " is not usable: " + faults.summary(2));
  }
  if (reasons.empty()) throw error(errc::file, make_text("no usable checkpoint in ", root.c_str(), ": check the path"));
  throw error(errc::file, make_text("no usable checkpoint in ", root.c_str(), ", take another copy or start anew: ",
                                    reasons.front().c_str()));
}

}  // namespace heddle::checkpoint
