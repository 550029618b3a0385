// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/checkpoint/atomic_file.hpp>

#include <support/catch.hpp>

#include "temporary.hpp"

#include <csignal>

#include <sys/resource.h>
#include <sys/sysmacros.h>

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

mode_t kind_of(std::string const& path) {
  struct ::stat s {};
  REQUIRE(::lstat(path.c_str(), &s) == 0);
  return s.st_mode & S_IFMT;
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
  CHECK(failure(f / "b", "x") == "file: can't replace " + f / "b" + ": Is a directory: check the path");
  CHECK_THROWS_WITH(atomic_file(f / "b", "7").commit(), Catch::Contains("can't rename to"));
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

TEST_CASE("a link is followed: what it leads to is replaced, the link stays", "[checkpoint]") {
  test::temporary_folder const f;
  checkpoint::make_directories(f / "inner");
  test::write_file(f / "inner/real", "old");
  for (auto const& [name, target] : {std::pair<char const*, std::string>{"relative", "inner/real"},
                                     {"absolute", f / "inner/real"},
                                     {"twice", "relative"}}) {
    REQUIRE(::symlink(target.c_str(), (f / name).c_str()) == 0);
    write_file(f / name, name);
    CHECK(test::read_file(f / "inner/real") == name);
    CHECK(kind_of(f / name) == S_IFLNK);
  }
  REQUIRE(::symlink("inner/later", (f / "dangling").c_str()) == 0);
  write_file(f / "dangling", "made");
  CHECK(test::read_file(f / "inner/later") == "made");
  CHECK(checkpoint::list_directory(f / "inner").size() == 2);
  REQUIRE(::symlink("loop", (f / "loop").c_str()) == 0);
  CHECK(failure(f / "loop", "x").find("can't follow " + f / "loop") != std::string::npos);
  REQUIRE(::symlink("inner", (f / "folder").c_str()) == 0);
  CHECK(failure(f / "folder", "x").find("Is a directory") != std::string::npos);
}

TEST_CASE("a pipe or an open descriptor is written to where it is", "[checkpoint]") {
  test::temporary_folder const f;
  std::string const pipe = f / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  int const reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  REQUIRE(reader >= 0);
  REQUIRE(::symlink("pipe", (f / "link").c_str()) == 0);
  char got[8] = {};
  for (std::string const& path : {pipe, f / "link", "/dev/fd/" + std::to_string(::open(pipe.c_str(), O_WRONLY))}) {
    write_file(path, "data");
    CHECK(::read(reader, got, sizeof got) == 4);
    CHECK(std::string(got) == "data");
  }
  ::close(reader);
  CHECK(kind_of(pipe) == S_IFIFO);
  CHECK(checkpoint::list_directory(f.path()).size() == 2);
  test::write_file(f / "log", "before ");
  int const log = ::open((f / "log").c_str(), O_WRONLY | O_APPEND);
  write_file("/proc/self/fd/" + std::to_string(log), "after");
  ::close(log);
  CHECK(test::read_file(f / "log") == "before after");
  CHECK(failure("/proc/self/fd/99999", "x").find("Bad file descriptor") != std::string::npos);
}

TEST_CASE("a device is written to, never replaced", "[checkpoint]") {
  test::temporary_folder const f;
  std::string const device = f / "full";  // every write to it finds the disk full
  if (::mknod(device.c_str(), S_IFCHR | 0600, ::makedev(1, 7)) != 0) {
    WARN("this process may not make a device");
    return;
  }
  CHECK_FALSE(failure(device, "x").empty());
  CHECK(kind_of(device) == S_IFCHR);
  CHECK(checkpoint::list_directory(f.path()).size() == 1);
}

TEST_CASE("a name that belongs to the caller is replaced whatever has it", "[checkpoint]") {
  test::temporary_folder const f;
  test::write_file(f / "real", "kept");
  REQUIRE(::symlink("real", (f / "a").c_str()) == 0);
  REQUIRE(::mkfifo((f / "b").c_str(), 0600) == 0);
  for (char const* name : {"a", "b"}) {
    atomic_file file(f / name, "1");
    file.write("new");
    file.commit();
    CHECK(kind_of(f / name) == S_IFREG);
  }
  CHECK(test::read_file(f / "real") == "kept");
}
