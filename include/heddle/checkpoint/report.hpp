// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/error.hpp>
#include <heddle/core/extents.hpp>

#include <string>
#include <vector>

namespace heddle::checkpoint {

/// One thing that is wrong with a file. Units: position in bytes from the start of the file, -1 where none applies.
struct fault {
  std::string entry;  ///< the tensor, key or file that is meant; empty for the file as a whole
  index_t position = -1;
  std::string what;

  HEDDLE_FN fault(std::string e, index_t at, std::string w)
      : entry(std::move(e)), position(at), what(std::move(w)) {}
  HEDDLE_FN fault(fault const&) = default;
  HEDDLE_FN fault(fault&&) noexcept = default;
  HEDDLE_FN fault& operator=(fault const&) = default;
  HEDDLE_FN fault& operator=(fault&&) noexcept = default;
  HEDDLE_FN ~fault() = default;
};

/// Everything that is wrong with data that may be wrong by nature; true when nothing is.
///
/// Memory: keeps the first 100 faults and counts the rest.
class report {
 public:
  static constexpr std::size_t kept = 100;

  HEDDLE_FN report() = default;
  HEDDLE_FN report(report const&) = default;
  HEDDLE_FN report(report&&) noexcept = default;
  HEDDLE_FN report& operator=(report const&) = default;
  HEDDLE_FN report& operator=(report&&) noexcept = default;
  HEDDLE_FN ~report() = default;

  HEDDLE_FN explicit operator bool() const noexcept { return count_ == 0; }
  HEDDLE_FN std::vector<fault> const& faults() const noexcept { return faults_; }
  HEDDLE_FN index_t count() const noexcept { return count_; }

  HEDDLE_FN void add(std::string entry, index_t position, std::string what) {
    ++count_;
    if (faults_.size() < kept) faults_.emplace_back(std::move(entry), position, std::move(what));
  }
  HEDDLE_FN void add(report const& other) {
    for (fault const& f : other.faults_) add(f.entry, f.position, f.what);
    count_ += other.count_ - static_cast<index_t>(other.faults_.size());
  }

  /// The first faults in one line.
  HEDDLE_FN std::string summary(std::size_t most = 3) const {
    std::string out;
    for (std::size_t i = 0; i < faults_.size() && i < most; ++i) {
      fault const& f = faults_[i];
      if (i > 0) out += "; ";
      if (!f.entry.empty()) out += "\"" + shortened(f.entry) + "\" ";
      out += f.what;
      if (f.position >= 0) out += " (byte " + std::to_string(f.position) + ")";
    }
    index_t const rest = count_ - static_cast<index_t>(faults_.size() < most ? faults_.size() : most);
    if (rest > 0) out += "; and " + std::to_string(rest) + " more";
    return out;
  }

 private:
  static HEDDLE_FN std::string shortened(std::string const& s) { return s.size() <= 80 ? s : s.substr(0, 77) + "..."; }

  std::vector<fault> faults_;
  index_t count_ = 0;
};

/// Throws error(errc::format) naming the file and the first faults. Does nothing for a clean report.
HEDDLE_FN void require(report const& r, std::string const& file) {
  if (!r) throw error(errc::format, make_text(file.c_str(), ": ", r.summary().c_str()));
}

/// "[2, 3]"
HEDDLE_FN std::string shape_text(index_t const* sizes, std::size_t rank) {
  std::string s = "[";
  for (std::size_t i = 0; i < rank; ++i) s += (i > 0 ? ", " : "") + std::to_string(sizes[i]);
  return s + "]";
}

}  // namespace heddle::checkpoint
