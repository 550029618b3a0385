// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/checkpoint/manifest.hpp>
#include <heddle/checkpoint/safetensors_writer.hpp>

#include <exception>

/// @file
/// Saves a sharded checkpoint: each rank writes the boxes it owns, then one rank makes the save count.

namespace heddle::checkpoint {

/// The metadata key that holds the box index of a rank's file.
/// One rank's part of a save. Add what the rank owns, then finish_rank(), whose result rank 0 gathers for commit().
///
/// Sync: no communication. Views stay alive and unwritten until finish_rank() returns. Memory: the index only.
/// Errors: errc::file; a part that is not finished is removed, and the save does not count without it.
class rank_writer {
 public:
  HEDDLE_FN rank_writer(std::string root, save_id id, index_t rank, save_hook hook = {})
      : root_(std::move(root)), id_(id), rank_(rank), hook_(hook) {
    HEDDLE_EXPECTS(rank >= 0 && id.step >= 0 && id.attempt >= 0, "a save has a rank, a step and an attempt", rank,
                   id.step, id.attempt);
  }
  rank_writer(rank_writer const&) = delete;
  rank_writer& operator=(rank_writer const&) = delete;
  HEDDLE_FN ~rank_writer() = default;

  /// Adds a box of the tensor `name` in state `key` ("" for the parameter itself, else "exp_avg" and so on).
  ///
  /// Shapes: `space` is all of the logical tensor, `whole(extents)`; data hold the box in row-major order without
  /// gaps. Pre: space contains the box; an empty box is legal. No element is owned by two ranks.
  template <any_view V>
    requires storable<typename V::value_type>
  HEDDLE_FN void add(std::string const& name, std::string const& key, any_box const& space, any_box const& part,
                     V const& data) {
    HEDDLE_EXPECTS(contains(space, part), "a box lies inside its tensor", name.c_str(), part.size());
    HEDDLE_EXPECTS(data.size() == part.size() && data.is_contiguous(), "the data are the box without gaps",
                   name.c_str(), data.size(), part.size());
    using element = typename V::value_type;
    if (part.empty() && !space.empty()) return;
    pieces_.push_back({name, key, space, part, dtype_of<element>::value, data.data(),
                       [](safetensors_writer& w, void const* from, index_t n) {
                         w.append(static_cast<element const*>(from), n);
                       }});
  }

  /// Adds the flat row-major range of a tensor that this rank owns; it becomes one entry per box.
  template <vector_view V>
    requires storable<typename V::value_type>
  HEDDLE_FN void add_range(std::string const& name, std::string const& key, any_box const& space, segment range,
                           V const& data) {
    HEDDLE_EXPECTS(data.size() == range.size(), "the data are the range", name.c_str(), data.size(), range.size());
    for_each_box(space, range, [&](any_box const& part, index_t offset) {
      add(name, key, space, part, slice(data, 0, offset, offset + part.size()));
    });
  }

  /// Writes the file, makes it durable and gives it its name. Pre: called once.
  HEDDLE_FN rank_file finish_rank() {
    std::string const folder = root_ + "/" + folder_name(id_), path = folder + "/" + file_name(rank_);
    std::string const temporary = path + ".tmp." + std::to_string(id_.attempt);
    make_directories(folder);
    hook_(save_point::folder_made);
    rank_file result{};
    try {
      result = write(temporary);
    } catch (...) {
      ::unlink(temporary.c_str());
      throw;
    }
    rename_file(temporary, path);
    hook_(save_point::file_renamed);
    sync_directory(folder);
    hook_(save_point::folder_synced);
    return result;
  }

 private:
  struct piece {
    std::string name, key;
    any_box space, part;
    dtype type;
    void const* data;
    void (*append)(safetensors_writer&, void const*, index_t);

    HEDDLE_FN piece(std::string n, std::string k, any_box const& s, any_box const& p, dtype t, void const* d,
                    void (*a)(safetensors_writer&, void const*, index_t))
        : name(std::move(n)), key(std::move(k)), space(s), part(p), type(t), data(d), append(a) {}
    HEDDLE_FN piece(piece const&) = default;
    HEDDLE_FN piece(piece&&) noexcept = default;
    HEDDLE_FN piece& operator=(piece const&) = default;
    HEDDLE_FN piece& operator=(piece&&) noexcept = default;
    HEDDLE_FN ~piece() = default;

    /// A parameter that is whole keeps its name, so that other programs find it; the rest says what it is.
    HEDDLE_FN std::string entry_name() const {
      std::string s = key.empty() ? name : name + "|" + key;
      if (part == space) return s;
      s += '[';
      for (std::size_t d = 0; d < part.rank(); ++d)
        s += (d > 0 ? "," : "") + std::to_string(part.lo[d]) + ":" + std::to_string(part.hi[d]);
      return s + ']';
    }
  };

  HEDDLE_FN rank_file write(std::string const& temporary) {
    // Wide elements first: every tensor then begins at a multiple of its element's size.
    std::stable_sort(pieces_.begin(), pieces_.end(),
                     [](piece const& a, piece const& b) { return bits(a.type) > bits(b.type); });
    safetensors_writer w(file::create(temporary));
    hook_(save_point::file_opened);
    w.meta("format", "heddle");
    w.meta(box_index_key, box_index());
    for (piece const& p : pieces_) {
      index_t sizes[max_rank] = {};
      for (std::size_t d = 0; d < p.part.rank(); ++d) sizes[d] = p.part.extent(d);
      w.declare(p.entry_name(), p.type, sizes, p.part.rank());
    }
    w.begin();
    hook_(save_point::header_written);
    for (piece const& p : pieces_) p.append(w, p.data, p.part.size());
    hook_(save_point::data_written);
    w.finish();
    hook_(save_point::file_synced);
    return {rank_, w.bytes(), static_cast<index_t>(w.checksum())};
  }

  HEDDLE_FN std::string box_index() const {
    json_writer w;
    w.begin('[');
    for (piece const& p : pieces_) {
      w.begin('{').key("entry").string(p.entry_name()).key("name").string(p.name).key("key").string(p.key);
      w.key("extents").numbers(p.space.hi, p.space.rank());
      w.key("lo").numbers(p.part.lo, p.part.rank()).key("hi").numbers(p.part.hi, p.part.rank()).end('}');
    }
    return w.end(']').text();
  }

  std::string root_;
  save_id id_;
  index_t rank_;
  save_hook hook_;
  std::vector<piece> pieces_;
};

namespace detail {
/// Deletes one save. The manifest goes first, so that an interrupted deletion leaves no save that looks complete.
HEDDLE_FN void delete_save(std::string const& root, save_id const& id, save_hook const& hook) {
  std::string const folder = root + "/" + folder_name(id);
  remove_file(folder + "/" + manifest_name);
  sync_directory(folder);
  hook(save_point::old_manifest_deleted);
  std::exception_ptr failure;
  for (std::string const& name : list_directory(folder)) {
    try {
      remove_file(folder + "/" + name);
    } catch (error const&) {
      if (failure == nullptr) failure = std::current_exception();
    }
  }
  if (failure != nullptr) std::rethrow_exception(failure);
  check_file(::rmdir(folder.c_str()) == 0 || errno == ENOENT, "delete folder", folder);
}

/// Deletes what is older than `id`: saves beyond the `keep` newest complete ones, and saves that were never finished.
/// What can't be deleted is told, and tried again by the next commit().
HEDDLE_FN void delete_old(std::string const& root, save_id const& id, int keep, save_hook const& hook,
                          notice const& tell) {
  auto const attempt = [&](auto const& f) {
    try {
      f();
    } catch (error const& e) {
      tell(std::string("an old save stays in part, delete it by hand: ") + e.what());
    }
  };
  int complete = 0;
  for (save_id const& other : list_saves(root)) {
    if (other.attempt > id.attempt) continue;
    manifest m;
    bool const usable = static_cast<bool>(read_manifest(root, other, m));
    if (usable && ++complete <= keep) continue;
    attempt([&] { delete_save(root, other, hook); });
  }
  attempt([&] {
    for (std::string const& name : list_directory(root))
      if (name.compare(0, 11, "latest.tmp.") == 0) remove_file(root + "/" + name);
  });
}
}  // namespace detail

/// Removes a save that failed: what one rank wrote of it, or all of it (rank -1, once no rank writes any more), and its
/// folder where that leaves it empty. A save whose manifest stands is complete and left alone. Errors: none; what can't
/// be removed goes with the next commit().
HEDDLE_FN void abandon(std::string const& root, save_id const& id, index_t rank = -1) noexcept {
  try {
    std::string const folder = root + "/" + folder_name(id);
    if (file_exists(folder + "/" + manifest_name)) return;
    for (std::string const& name : list_directory(folder))
      if (rank < 0 || name.compare(0, file_name(rank).size(), file_name(rank)) == 0) remove_file(folder + "/" + name);
    ::rmdir(folder.c_str());
  } catch (...) {  // the failure that led here is the one to report
  }
}

/// Makes a save count, after every rank has finished its part: manifest, then `latest`, then old saves are deleted.
///
/// Pre: one rank calls it; `files` holds what finish_rank() returned, one per rank; keep >= 1. Post: the save is the
/// one that open_store() finds, and is durable. Errors: errc::file; until the manifest stands the previous save counts.
/// An old save that can't be deleted (a folder that somebody put there, a file still open elsewhere) is told and left.
HEDDLE_FN void commit(std::string const& root, manifest const& m, int keep = 2, save_hook const& hook = {},
                      notice const& tell = {}) {
  HEDDLE_EXPECTS(keep >= 1, "at least the new save is kept", keep);
  manifest sorted = m;
  std::sort(sorted.files.begin(), sorted.files.end(),
            [](rank_file const& a, rank_file const& b) { return a.rank < b.rank; });
  for (std::size_t i = 1; i < sorted.files.size(); ++i)
    HEDDLE_EXPECTS(sorted.files[i - 1].rank != sorted.files[i].rank, "each rank has one file", sorted.files[i].rank);
  std::string const name = folder_name(m.id);
  make_directories(root + "/" + name);
  sync_directory(root);
  detail::replace_file(root + "/" + name, manifest_name, m.id.attempt, manifest_text(sorted), hook,
                       save_point::manifest_written);
  detail::replace_file(root, "latest", m.id.attempt, name + "\n", hook, save_point::latest_written);
  detail::delete_old(root, m.id, keep, hook, tell);
  hook(save_point::old_deleted);
}

}  // namespace heddle::checkpoint
