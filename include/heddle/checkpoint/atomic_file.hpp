// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/checkpoint/file.hpp>

#include <concepts>
#include <string_view>
#include <utility>

namespace heddle::checkpoint {

/// What a file passes on its way to its place.
enum class commit_point : int { written, synced, renamed, folder_synced };

/// A file that appears whole or not at all: written beside its place under another name, then renamed.
///
/// Post: until `commit` returns, `path` is what it was; after it, the new content is on the disk. Without a commit the
/// temporary file is removed. Errors: error(errc::file) naming the file and the reason; nothing is left behind.
class atomic_file {
 public:
  /// The temporary file is `path`.tmp.`suffix`; without a suffix, the number of the process.
  HEDDLE_FN explicit atomic_file(std::string path, std::string const& suffix = std::to_string(::getpid()))
      : path_(std::move(path)), temporary_(path_ + ".tmp." + suffix), file_(file::create(temporary_)) {}
  atomic_file(atomic_file const&) = delete;
  atomic_file& operator=(atomic_file const&) = delete;
  HEDDLE_FN ~atomic_file() { discard(); }

  HEDDLE_FN void write(std::string_view data) {
    HEDDLE_EXPECTS(!temporary_.empty(), "a file that was committed or failed takes no more data", path_.c_str());
    guarded([&] { file_.write(data.data(), static_cast<index_t>(data.size())); });
  }

  /// Puts the file in its place. `reached(commit_point)` may throw, which interrupts it there.
  template <std::invocable<commit_point> F>
  HEDDLE_FN void commit(F const& reached) {
    HEDDLE_EXPECTS(!temporary_.empty(), "a file is committed once", path_.c_str());
    guarded([&] {
      reached(commit_point::written);
      file_.sync();
      file_.close();
      reached(commit_point::synced);
      rename_file(temporary_, path_);
    });
    temporary_.clear();
    reached(commit_point::renamed);
    std::size_t const slash = path_.rfind('/');
    sync_directory(slash == std::string::npos ? "." : path_.substr(0, slash + 1));
    reached(commit_point::folder_synced);
  }
  HEDDLE_FN void commit() {
    commit([](commit_point) {});
  }

 private:
  template <class F>
  HEDDLE_FN void guarded(F const& f) {
    try {
      f();
    } catch (...) {
      discard();
      throw;
    }
  }
  HEDDLE_FN void discard() noexcept {
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
    temporary_.clear();
  }

  std::string path_;
  std::string temporary_;  // empty once there is none
  file file_;
};

/// Writes `content` to `path`, whole or not at all.
HEDDLE_FN void write_file(std::string const& path, std::string_view content) {
  atomic_file file(path);
  file.write(content);
  file.commit();
}

}  // namespace heddle::checkpoint
