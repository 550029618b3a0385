// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/error.hpp>
#include <heddle/core/extents.hpp>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/// @file
/// Files and folders through POSIX calls. Every failure is an error(errc::file) that names the path.

namespace heddle::checkpoint {

namespace detail {
/// What a user can do about a failure, or nothing.
HEDDLE_FN char const* file_advice(int code) noexcept {
  switch (code) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG: return ": free some space or choose another folder";
    case ENOENT:
    case ENOTDIR:
    case EISDIR: return ": check the path";
    case EACCES:
    case EPERM:
    case EROFS: return ": change the permissions or choose another folder";
    default: return "";
  }
}
[[noreturn]] __attribute__((abi_tag(HEDDLE_TAG), noinline, cold)) inline void file_failed(char const* verb,
                                                                                          std::string const& path,
                                                                                          int code) {
  char buffer[128] = {};
  char const* reason = ::strerror_r(code, buffer, sizeof buffer);
  throw error(errc::file, make_text("can't ", verb, " ", path.c_str(), ": ", reason, file_advice(code)));
}
HEDDLE_FN void check_file(bool good, char const* verb, std::string const& path) {
  if (!good) file_failed(verb, path, errno);
}
}  // namespace detail

/// An open file. Sync: reads at a position may come from several threads at once.
class file {
 public:
  /// For reading. Errors: errc::file as well where the path is no regular file: a pipe would be waited for for ever.
  static HEDDLE_FN file open(std::string const& path) {
    file f(path, O_RDONLY | O_NONBLOCK, "open");
    struct ::stat s {};
    detail::check_file(::fstat(f.descriptor_, &s) == 0, "inspect", path);
    if (S_ISDIR(s.st_mode)) detail::file_failed("open", path, EISDIR);
    if (!S_ISREG(s.st_mode))
      throw error(errc::file, make_text("can't open ", path.c_str(), ": it is not a regular file: check the path"));
    return f;
  }
  /// A folder, for sync().
  static HEDDLE_FN file open_directory(std::string const& path) { return file(path, O_RDONLY | O_DIRECTORY, "open"); }
  /// Writes go to what has that name already: a device, a pipe.
  static HEDDLE_FN file open_for_writing(std::string const& path) { return file(path, O_WRONLY | O_NOCTTY, "open"); }
  /// Writes go to another descriptor of what `descriptor` has open, at its position.
  static HEDDLE_FN file duplicate(int descriptor, std::string const& path) {
    return file(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0), path);
  }
  /// Replaces what was there.
  static HEDDLE_FN file create(std::string const& path) { return file(path, O_WRONLY | O_CREAT | O_TRUNC, "create"); }
  /// Writes go behind what is there, and reads see it; makes the file where there is none.
  static HEDDLE_FN file append(std::string const& path) { return file(path, O_RDWR | O_CREAT | O_APPEND, "open"); }

  HEDDLE_FN file(file&& other) noexcept : path_(std::move(other.path_)), descriptor_(other.descriptor_) {
    other.descriptor_ = -1;
  }
  HEDDLE_FN file& operator=(file&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  file(file const&) = delete;
  file& operator=(file const&) = delete;
  HEDDLE_FN ~file() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  HEDDLE_FN std::string const& path() const noexcept { return path_; }

  HEDDLE_FN index_t size() const {
    struct ::stat s {};
    detail::check_file(::fstat(descriptor_, &s) == 0, "inspect", path_);
    return static_cast<index_t>(s.st_size);
  }

  /// Fills n bytes from a position. Errors: errc::file where the file ends before.
  HEDDLE_FN void read_at(index_t position, void* out, index_t n) const {
    char* to = static_cast<char*>(out);
    while (n > 0) {
      ssize_t const got = ::pread(descriptor_, to, static_cast<std::size_t>(n), static_cast<off_t>(position));
      if (got < 0 && errno == EINTR) continue;
      detail::check_file(got >= 0, "read", path_);
      if (got == 0)
        throw error(errc::file, make_text("can't read ", path_.c_str(), ": it ends at byte ", position, ", ", n,
                                          " bytes before the data do"));
      to += got;
      position += got;
      n -= got;
    }
  }

  /// Appends n bytes.
  HEDDLE_FN void write(void const* data, index_t n) {
    char const* from = static_cast<char const*>(data);
    while (n > 0) {
      ssize_t const put = ::write(descriptor_, from, static_cast<std::size_t>(n));
      if (put < 0 && errno == EINTR) continue;
      detail::check_file(put > 0, "write", path_);
      from += put;
      n -= put;
    }
  }

  /// Cuts the file off behind n bytes, and says whether it could.
  HEDDLE_FN bool truncate(index_t n) noexcept { return ::ftruncate(descriptor_, static_cast<off_t>(n)) == 0; }

  /// Waits until the content is on the disk. What has no disk, like a pipe, is left alone.
  HEDDLE_FN void sync() { detail::check_file(::fsync(descriptor_) == 0 || errno == EINVAL, "write", path_); }

  /// Reports what a delayed write could not do; the destructor can't.
  HEDDLE_FN void close() {
    int const d = descriptor_;
    descriptor_ = -1;
    detail::check_file(::close(d) == 0, "write", path_);
  }

 private:
  HEDDLE_FN file(std::string const& path, int flags, char const* verb)
      : path_(path), descriptor_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {
    detail::check_file(descriptor_ >= 0, verb, path);
  }
  HEDDLE_FN file(int descriptor, std::string const& path) : path_(path), descriptor_(descriptor) {
    detail::check_file(descriptor_ >= 0, "open", path);
  }

  std::string path_;
  int descriptor_;
};

/// Makes the names in a folder durable: creations, renames and deletions.
HEDDLE_FN void sync_directory(std::string const& path) { file::open_directory(path).sync(); }

/// Gives a file another name, in one step: whoever opens that name finds the file before or this one.
HEDDLE_FN void rename_file(std::string const& from, std::string const& to) {
  detail::check_file(::rename(from.c_str(), to.c_str()) == 0, "rename to", to);
}

/// Removes a file; one that is not there is no failure.
HEDDLE_FN void remove_file(std::string const& path) {
  detail::check_file(::unlink(path.c_str()) == 0 || errno == ENOENT, "delete", path);
}

/// Makes a folder and those above it; one that is there is no failure.
HEDDLE_FN void make_directories(std::string const& path) {
  for (std::size_t at = 1; at <= path.size(); ++at)
    if (at == path.size() || path[at] == '/') {
      std::string const part = path.substr(0, at);
      detail::check_file(::mkdir(part.c_str(), 0777) == 0 || errno == EEXIST || errno == EISDIR, "create folder", part);
    }
}

/// The names in a folder, without "." and ".."; none where there is no such folder.
HEDDLE_FN std::vector<std::string> list_directory(std::string const& path) {
  std::vector<std::string> names;
  ::DIR* const dir = ::opendir(path.c_str());
  if (dir == nullptr && errno == ENOENT) return names;
  detail::check_file(dir != nullptr, "list", path);
  while (::dirent const* e = ::readdir(dir)) {
    std::string name = e->d_name;
    if (name != "." && name != "..") names.push_back(std::move(name));
  }
  ::closedir(dir);
  return names;
}

/// Whether anything has that name.
HEDDLE_FN bool file_exists(std::string const& path) noexcept {
  struct ::stat s {};
  return ::stat(path.c_str(), &s) == 0;
}

/// Whether there is a folder of that name.
HEDDLE_FN bool is_folder(std::string const& path) noexcept {
  struct ::stat s {};
  return ::stat(path.c_str(), &s) == 0 && S_ISDIR(s.st_mode);
}

/// A whole small file. Errors: errc::file where it is longer than `most` bytes.
HEDDLE_FN std::string read_small_file(std::string const& path, index_t most) {
  file const f = file::open(path);
  index_t const n = f.size();
  if (n > most) throw error(errc::file, make_text("can't read ", path.c_str(), ": ", n, " bytes are more than ", most));
  std::string out(static_cast<std::size_t>(n), '\0');
  f.read_at(0, out.data(), n);
  return out;
}

}  // namespace heddle::checkpoint
