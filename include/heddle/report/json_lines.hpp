// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/checkpoint/atomic_file.hpp>
#include <heddle/report/json.hpp>

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

  HEDDLE_FN explicit json_lines(std::string const& path, mode how = mode::fresh)
      : file_(open(path, how)), size_(file_.size()) {
    if (how == mode::append) drop_torn_line();
  }
  json_lines(json_lines const&) = delete;
  json_lines& operator=(json_lines const&) = delete;
  HEDDLE_FN ~json_lines() = default;

  HEDDLE_FN void write(json_object const& object) {
    std::string const line = object.text() + "\n";
    auto const n = static_cast<index_t>(line.size());
    try {
      file_.write(line.data(), n);
    } catch (...) {
      file_.truncate(size_);
      throw;
    }
    size_ += n;
  }

  /// Waits until all lines are on the disk.
  HEDDLE_FN void flush() { file_.sync(); }

 private:
  static HEDDLE_FN checkpoint::file open(std::string const& path, mode how) {
    if (how == mode::fresh) checkpoint::write_file(path, "");
    return checkpoint::file::append(path);
  }

  // A run that was killed may have left a line without its end.
  HEDDLE_FN void drop_torn_line() {
    index_t end = size_;
    for (char c = 0; end > 0; --end) {
      file_.read_at(end - 1, &c, 1);
      if (c == '\n') break;
    }
    if (end != size_ && file_.truncate(end)) size_ = end;
  }

  checkpoint::file file_;
  index_t size_;
};

}  // namespace heddle::report
