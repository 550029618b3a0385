// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "files.hpp"

#include <heddle/report/atomic_file.hpp>
#include <support/catch.hpp>

#include <sys/resource.h>

#include <csignal>

namespace report = heddle::report;
using heddle::test::folder;

namespace {
// Files can't grow beyond this many bytes while it lives, as on a full disk.
class small_disk {
 public:
  explicit small_disk(rlim_t bytes) : before_(), handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit small = before_;
    small.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &small);
  }
  small_disk(small_disk const&) = delete;
  small_disk& operator=(small_disk const&) = delete;
  ~small_disk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_;
  void (*handler_)(int);
};

std::string failure(std::string const& path, std::string const& content) {
  try {
    report::write_file(path, content);
  } catch (heddle::error const& e) {
    CHECK(e.code() == heddle::errc::file);
    return e.what();
  }
  return "";
}
}  // namespace

TEST_CASE("a file appears whole, and replaces the one before", "[report]") {
  folder f;
  report::write_file(f.at("a"), "one");
  CHECK(f.read("a") == "one");
  report::write_file(f.at("a"), "");
  CHECK(f.read("a").empty());
  std::string const large(3 << 20, 'x');
  report::write_file(f.at("a"), large);
  CHECK(f.read("a") == large);
  CHECK(f.names().size() == 1);
}

TEST_CASE("until it is committed, a file does not show", "[report]") {
  folder f;
  report::write_file(f.at("a"), "old");
  {
    report::atomic_file file(f.at("a"));
    file.write("new");
    CHECK(f.read("a") == "old");
  }
  CHECK(f.read("a") == "old");
  CHECK(f.names().size() == 1);
  report::atomic_file file(f.at("a"));
  file.write("ne");
  file.write("w");
  file.commit();
  CHECK(f.read("a") == "new");
  CHECK_THROWS_AS(file.commit(), heddle::contract_error);
  CHECK_THROWS_AS(file.write("x"), heddle::contract_error);
}

TEST_CASE("a failure names the file and leaves nothing behind", "[report]") {
  folder f;
  std::string const missing = f.at("no/such/folder");
  CHECK(failure(missing, "x") == "file: can't create '" + missing + "': No such file or directory");
  report::write_file(f.at("a"), "old");
  {
    small_disk const full(4096);
    CHECK(failure(f.at("a"), std::string(100000, 'x')) ==
          "file: can't write '" + f.at("a") + "': File too large: free some space or choose another folder");
  }
  CHECK(f.read("a") == "old");
  CHECK(f.names().size() == 1);
  // A folder in the file's place can't be replaced.
  REQUIRE(::mkdir(f.at("b").c_str(), 0755) == 0);
  CHECK(failure(f.at("b"), "x") == "file: can't put in place '" + f.at("b") + "': Is a directory");
  CHECK(f.names().size() == 2);
  ::rmdir(f.at("b").c_str());
}
