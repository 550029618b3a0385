// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/checkpoint/file.hpp>

#include <concepts>
#include <string_view>
#include <utility>

namespace heddle::checkpoint {

/// What a file passes on its way to its place.
enum class commit_point : int { written, synced, renamed, folder_synced };

namespace detail {
/// The part of a path up to its last slash, with it; nothing where there is none.
HEDDLE_FN std::string folder_of(std::string const& path) { return path.substr(0, path.rfind('/') + 1); }

/// The number of the open descriptor that a path like /proc/self/fd/1 stands for, or -1.
HEDDLE_FN int descriptor_named(std::string const& path) noexcept {
  std::string const folder = folder_of(path);
  if ((folder != "/proc/self/fd/" && folder != "/dev/fd/") || path.size() == folder.size()) return -1;
  int n = 0;
  for (std::size_t i = folder.size(); i < path.size(); ++i) {
    if (path[i] < '0' || path[i] > '9' || n > 100000) return -1;
    n = n * 10 + (path[i] - '0');
  }
  return n;
}

/// Where a name leads once every link at its end is followed; nothing needs to be there.
HEDDLE_FN std::string follow_links(std::string path) {
  std::string const asked = path;
  char target[4096];
  for (int links = 0; links < 40; ++links) {
    ssize_t const n = descriptor_named(path) >= 0 ? -1 : ::readlink(path.c_str(), target, sizeof target);
    if (n < 0) return path;  // no link; what else may be wrong shows when the file is made
    std::string const next(target, static_cast<std::size_t>(n));
    path = !next.empty() && next[0] == '/' ? next : folder_of(path) + next;
  }
  file_failed("follow", asked, ELOOP);
}

/// Whether a new file may take the place of what has that name: a regular file, or nothing.
/// Errors: errc::file where it is a folder.
HEDDLE_FN bool is_replaceable(std::string const& path) {
  struct ::stat s {};
  if (descriptor_named(path) >= 0) return false;
  if (::stat(path.c_str(), &s) != 0) return true;
  if (S_ISDIR(s.st_mode)) file_failed("replace", path, EISDIR);
  return S_ISREG(s.st_mode);
}

HEDDLE_FN file open_irreplaceable(std::string const& path) {
  int const descriptor = descriptor_named(path);
  return descriptor >= 0 ? file::duplicate(descriptor, path) : file::open_for_writing(path);
}
}  // namespace detail

/// A file that appears whole or not at all: written beside its place under another name, then renamed.
///
/// A link is followed, and what it leads to is replaced. A device, a pipe or an open descriptor (/dev/stdout) can't be
/// replaced: it is written to directly, as the data come. Post: until `commit` returns, `path` is what it was; after
/// it, the new content is on the disk. Without a commit the temporary file is removed. Errors: error(errc::file) naming
/// the file and the reason, for a folder too; nothing is left behind.
class atomic_file {
 public:
  /// The temporary file has the number of the process in its name.
  HEDDLE_FN explicit atomic_file(std::string const& path)
      : path_(detail::follow_links(path)),
        temporary_(detail::is_replaceable(path_) ? path_ + ".tmp." + std::to_string(::getpid()) : std::string()),
        file_(temporary_.empty() ? detail::open_irreplaceable(path_) : file::create(temporary_)) {}
  /// For a name that belongs to the caller, like those inside a folder of checkpoints: whatever has it is replaced,
  /// links and pipes too. The temporary file is `path`.tmp.`suffix`.
  HEDDLE_FN atomic_file(std::string path, std::string const& suffix)
      : path_(std::move(path)), temporary_(path_ + ".tmp." + suffix), file_(file::create(temporary_)) {}
  atomic_file(atomic_file const&) = delete;
  atomic_file& operator=(atomic_file const&) = delete;
  HEDDLE_FN ~atomic_file() { discard(); }

  HEDDLE_FN void write(std::string_view data) {
    HEDDLE_EXPECTS(!done_, "a file that was committed or failed takes no more data", path_.c_str());
    guarded([&] { file_.write(data.data(), static_cast<index_t>(data.size())); });
  }

  /// Puts the file in its place. `reached(commit_point)` may throw, which interrupts it there.
  template <std::invocable<commit_point> F>
  HEDDLE_FN void commit(F const& reached) {
    HEDDLE_EXPECTS(!done_, "a file is committed once", path_.c_str());
    guarded([&] {
      reached(commit_point::written);
      file_.sync();
      file_.close();
      reached(commit_point::synced);
      if (!temporary_.empty()) rename_file(temporary_, path_);
    });
    done_ = true;
    bool const renamed = !temporary_.empty();
    temporary_.clear();
    reached(commit_point::renamed);
    std::string const folder = detail::folder_of(path_);
    if (renamed) sync_directory(folder.empty() ? "." : folder);
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
    done_ = true;
  }

  std::string path_;
  std::string temporary_;  // empty where there is none, or none any more
  file file_;
  bool done_ = false;
};

/// Writes `content` to `path`, whole or not at all where `path` is a file. The same conditions.
HEDDLE_FN void write_file(std::string const& path, std::string_view content) {
  atomic_file file(path);
  file.write(content);
  file.commit();
}

}  // namespace heddle::checkpoint
