// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/contracts.hpp>
#include <heddle/core/error.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

namespace heddle::report {

namespace detail {
/// Throws for what the operating system just refused.
[[noreturn]] HEDDLE_FN void file_failed(char const* action, std::string const& path, int code) {
  bool const full = code == ENOSPC || code == EDQUOT || code == EFBIG;
  throw error(errc::file, make_text("can't ", action, " '", path.c_str(), "': ", std::strerror(code),
                                    full ? ": free some space or choose another folder" : ""));
}

/// Writes all of `data`, or says why not. Post: returns 0, or the operating system's error.
HEDDLE_FN int write_all(int descriptor, std::string_view data) noexcept {
  while (!data.empty()) {
    ssize_t const n = ::write(descriptor, data.data(), data.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    data.remove_prefix(static_cast<std::size_t>(n));
  }
  return 0;
}

/// Makes a rename or a new file in `path`'s folder last through a power cut. File systems that can't are left alone.
HEDDLE_FN void sync_folder_of(std::string const& path) noexcept {
  std::size_t const slash = path.rfind('/');
  std::string const folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  int const descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}
}  // namespace detail

/// A file that appears whole or not at all: written beside its place under another name, then renamed.
///
/// Post: until `commit` returns, `path` is what it was; after it, the new content is on the disk. Without a commit the
/// temporary file is removed. Errors: heddle::error(errc::file) naming the file and the reason; nothing is left behind.
class atomic_file {
 public:
  HEDDLE_FN explicit atomic_file(std::string path)
      : path_(std::move(path)), temporary_(path_ + ".tmp" + std::to_string(::getpid())) {
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (descriptor_ < 0) detail::file_failed("create", path_, errno);
  }
  atomic_file(atomic_file const&) = delete;
  atomic_file& operator=(atomic_file const&) = delete;
  HEDDLE_FN ~atomic_file() { discard(); }

  HEDDLE_FN void write(std::string_view data) {
    HEDDLE_EXPECTS(descriptor_ >= 0, "a file that was committed or failed takes no more data", path_.c_str());
    if (int const code = detail::write_all(descriptor_, data)) fail("write", code);
  }

  /// Puts the file in its place.
  HEDDLE_FN void commit() {
    HEDDLE_EXPECTS(descriptor_ >= 0, "a file is committed once", path_.c_str());
    if (::fsync(descriptor_) != 0 && errno != EINVAL) fail("flush", errno);
    if (::close(std::exchange(descriptor_, -1)) != 0) fail("close", errno);
    if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail("put in place", errno);
    temporary_.clear();
    detail::sync_folder_of(path_);
  }

 private:
  HEDDLE_FN void discard() noexcept {
    if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
    temporary_.clear();
  }
  [[noreturn]] HEDDLE_FN void fail(char const* action, int code) {
    discard();
    detail::file_failed(action, path_, code);
  }

  std::string path_;
  std::string temporary_;
  int descriptor_ = -1;
};

/// Writes `content` to `path`, whole or not at all.
HEDDLE_FN void write_file(std::string const& path, std::string_view content) {
  atomic_file file(path);
  file.write(content);
  file.commit();
}

}  // namespace heddle::report
