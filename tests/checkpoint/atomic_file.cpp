// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/checkpoint/atomic_file.hpp>

#include <support/catch.hpp>

#include "temporary.hpp"

#include <csignal>

#include <sys/resource.h>

using namespace heddle;
using checkpoint::atomic_file;
using checkpoint::write_file;

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
    write_file(path, content);
  } catch (error const& e) {
    CHECK(e.code() == errc::file);
    return e.what();
  }
  return "";
}
}  // namespace

TEST_CASE("a file appears whole, and replaces the one before", "[checkpoint]") {
  test::temporary_folder const f;
  write_file(f / "a", "one");
  CHECK(test::read_file(f / "a") == "one");
  write_file(f / "a", "");
  CHECK(test::read_file(f / "a").empty());
  std::string const large(3 << 20, 'x');
  write_file(f / "a", large);
  CHECK(test::read_file(f / "a") == large);
  CHECK(checkpoint::list_directory(f.path()).size() == 1);
}

TEST_CASE("until it is committed, a file does not show", "[checkpoint]") {
  test::temporary_folder const f;
  write_file(f / "a", "old");
  {
    atomic_file file(f / "a");
    file.write("new");
    CHECK(test::read_file(f / "a") == "old");
  }
  CHECK(test::read_file(f / "a") == "old");
  CHECK(checkpoint::list_directory(f.path()).size() == 1);
  atomic_file file(f / "a");
  file.write("ne");
  file.write("w");
  file.commit();
  CHECK(test::read_file(f / "a") == "new");
  CHECK_THROWS_AS(file.commit(), contract_error);
  CHECK_THROWS_AS(file.write("x"), contract_error);
}

TEST_CASE("a failure names the file and leaves nothing behind", "[checkpoint]") {
  test::temporary_folder const f;
  std::string const missing = f / "no/such/folder", process = ".tmp." + std::to_string(::getpid());
  CHECK(failure(missing, "x") ==
        "file: can't create " + missing + process + ": No such file or directory: check the path");
  write_file(f / "a", "old");
  {
    small_disk const full(4096);
    CHECK(failure(f / "a", std::string(100000, 'x')) ==
          "file: can't write " + f / ("a" + process) + ": File too large: free some space or choose another folder");
  }
  CHECK(test::read_file(f / "a") == "old");
  CHECK(checkpoint::list_directory(f.path()).size() == 1);
  // A folder in the file's place can't be replaced.
  checkpoint::make_directories(f / "b");
  CHECK(failure(f / "b", "x") == "file: can't rename to " + f / "b" + ": Is a directory: check the path");
  CHECK(checkpoint::list_directory(f.path()).size() == 2);
}

TEST_CASE("a commit can be interrupted at each of its points", "[checkpoint]") {
  using checkpoint::commit_point;
  for (commit_point where : {commit_point::written, commit_point::synced, commit_point::renamed}) {
    test::temporary_folder const f;
    write_file(f / "a", "old");
    atomic_file file(f / "a", "7");
    file.write("new");
    CHECK(checkpoint::file_exists(f / "a.tmp.7"));
    CHECK_THROWS_AS(file.commit([&](commit_point p) {
      if (p == where) throw 1;
    }),
                    int);
    CHECK(test::read_file(f / "a") == (where == commit_point::renamed ? "new" : "old"));
    CHECK(checkpoint::list_directory(f.path()).size() == 1);
  }
}
