// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/report/atomic_file.hpp>
#include <heddle/report/json.hpp>

#include <string>
#include <utility>

namespace heddle::report {

/// A log of JSON objects, one a line, that can be read while it grows.
///
/// Post: each line is handed to the operating system whole; where that fails, the part that was written is taken back.
/// Errors: heddle::error(errc::file) naming the file and the reason.
class json_lines {
 public:
  enum class mode {
    fresh,   ///< replaces a file that is there by an empty one, in one step
    append,  ///< goes on behind the last whole line, as a resumed run does
  };

  HEDDLE_FN explicit json_lines(std::string path, mode how = mode::fresh) : path_(std::move(path)) {
    if (how == mode::fresh) write_file(path_, "");
    descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (descriptor_ < 0) detail::file_failed("open", path_, errno);
    size_ = ::lseek(descriptor_, 0, SEEK_END);
    if (how == mode::append) drop_torn_line();
  }
  json_lines(json_lines const&) = delete;
  json_lines& operator=(json_lines const&) = delete;
  HEDDLE_FN ~json_lines() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  HEDDLE_FN void write(json_object const& object) {
    std::string const line = object.text() + "\n";
    if (int const code = detail::write_all(descriptor_, line)) {
      take_back(size_);
      detail::file_failed("write", path_, code);
    }
    size_ += static_cast<off_t>(line.size());
  }

  /// Waits until all lines are on the disk.
  HEDDLE_FN void flush() {
    if (::fsync(descriptor_) != 0 && errno != EINVAL) detail::file_failed("flush", path_, errno);
  }

 private:
  HEDDLE_FN void take_back(off_t size) noexcept {
    if (::ftruncate(descriptor_, size) == 0) size_ = size;
  }

  // A run that was killed may have left a line without its end.
  HEDDLE_FN void drop_torn_line() {
    off_t end = size_;
    for (char c = 0; end > 0; --end) {
      if (::pread(descriptor_, &c, 1, end - 1) != 1) detail::file_failed("read", path_, errno);
      if (c == '\n') break;
    }
    if (end != size_) take_back(end);
  }

  std::string path_;
  int descriptor_ = -1;
  off_t size_ = 0;
};

}  // namespace heddle::report
