// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/text.hpp>

#include <exception>

namespace heddle {

/// Why the environment, or another rank, failed.
enum class errc : int {
  out_of_memory = 1,  ///< a memory space could not serve a request
  file = 2,           ///< a file could not be opened, read, written or renamed
  format = 3,         ///< a file's content breaks its format
  unsupported = 4,    ///< the request is legal but this build or machine can't do it
  mismatch = 5,       ///< ranks made different calls
  invalid_argument = 6,  ///< another rank broke a precondition of a collective
  truncated = 7,      ///< a message was longer or shorter than the receiver's buffer
  timeout = 8,        ///< the deadline passed
  peer_failed = 9,    ///< a rank threw, returned or was lost
  revoked = 10,       ///< the communicator was already given up
  corrupt = 11,       ///< data changed on the way
  interrupted = 12,   ///< the user asked to stop
  backend = 13,       ///< a runtime below (CUDA, MPI, Kokkos) reported an error
};

/// The name of a code as the enumeration spells it.
HEDDLE_FN char const* name(errc code) noexcept {
  constexpr char const* names[] = {"ok",        "out_of_memory", "file",        "format",      "unsupported",
                                   "mismatch",  "invalid_argument", "truncated", "timeout",    "peer_failed",
                                   "revoked",   "corrupt",       "interrupted", "backend"};
  int const i = static_cast<int>(code);
  return i >= 0 && i < static_cast<int>(sizeof names / sizeof *names) ? names[i] : "unknown";
}

/// The environment or another rank failed; the caller's code may be right.
class error : public std::exception {
 public:
  /// @param rank the rank that caused it, or -1 where no rank is to blame
  HEDDLE_FN error(errc code, text const& detail, int rank = -1) noexcept : code_(code), rank_(rank) {
    what_.append(name(code)).append(": ").append(detail.c_str());
  }
  HEDDLE_FN error(errc code, char const* detail, int rank = -1) noexcept : error(code, text(detail), rank) {}
  HEDDLE_FN error(error const& o) noexcept
      : std::exception(o), code_(o.code_), rank_(o.rank_), what_(o.what_) {}
  HEDDLE_FN error& operator=(error const& o) noexcept {
    code_ = o.code_;
    rank_ = o.rank_;
    what_ = o.what_;
    return *this;
  }
  HEDDLE_FN ~error() override {}

  HEDDLE_FN errc code() const noexcept { return code_; }
  HEDDLE_FN int rank() const noexcept { return rank_; }
  HEDDLE_FN char const* what() const noexcept override { return what_.c_str(); }

 private:
  errc code_;
  int rank_;
  text what_;
};

}  // namespace heddle
