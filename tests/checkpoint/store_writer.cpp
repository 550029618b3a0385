// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "made_model.hpp"

#include <heddle/checkpoint/store_writer.hpp>

#include <csignal>

#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

using namespace heddle;
using namespace heddle::checkpoint;

namespace {
// What reached the disk and in which order, while one lives: "sync <path> <bytes>" of a file, "sync <path>" of a
// folder, "rename <path>", all below `root`.
struct journal {
  std::string root;
  std::vector<std::string> lines;
  static inline journal* current = nullptr;

  explicit journal(std::string folder) : root(std::move(folder)), lines() { current = this; }
  journal(journal const&) = delete;
  journal& operator=(journal const&) = delete;
  ~journal() { current = nullptr; }

  std::string inner(std::string const& path) const {
    return path.size() > root.size() ? path.substr(root.size() + 1) : std::string(".");
  }
  void synced(int descriptor) {
    char path[512] = {};
    std::string const link = "/proc/self/fd/" + std::to_string(descriptor);
    if (::readlink(link.c_str(), path, sizeof path - 1) < 0) return;
    struct ::stat s {};
    ::fstat(descriptor, &s);
    lines.push_back("sync " + inner(path) + (S_ISDIR(s.st_mode) ? "" : " " + std::to_string(s.st_size)));
  }
};
}  // namespace

// The program's own stand before those of the C library.
extern "C" int fsync(int descriptor) {
  if (journal::current != nullptr) journal::current->synced(descriptor);
  return static_cast<int>(::syscall(SYS_fsync, descriptor));
}
extern "C" int rename(char const* from, char const* to) noexcept {
  if (journal::current != nullptr) journal::current->lines.push_back("rename " + journal::current->inner(to));
  return static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

namespace {
struct stop {};

// Interrupts the `countdown`-th time that a point is reached.
struct interruption {
  save_point where;
  int countdown;
  bool kill;
  save_hook hook() {
    return {[](save_point p, void* self) {
              auto& i = *static_cast<interruption*>(self);
              if (p != i.where || i.countdown-- != 0) return;
              if (i.kill) ::raise(SIGKILL);
              throw stop();
            },
            this};
  }
};

index_t usable_step(std::string const& root) {
  test::listener ear;
  store const s = open_store(root, verify::contents, ear.notice());
  CHECK(test::wrong_elements(s, s.id().step, 0, 1) == 0);
  return s.id().step;
}

// After an interrupted save of step 30: a whole save is loadable, and the next save works and tidies up.
void check_recovery(std::string const& root, save_point where) {
  bool const counts = where >= save_point::latest_renamed;
  CHECK(usable_step(root) == (counts ? 30 : 20));
  test::save_all(root, 40, 2);
  CHECK(usable_step(root) == 40);
  std::vector<save_id> const saves = list_saves(root);
  REQUIRE(saves.size() == 2);
  CHECK(saves[0].step == 40);
  CHECK(saves[1].step == (where >= save_point::manifest_renamed ? 30 : 20));
  for (save_id const& id : saves) CHECK(list_directory(root + "/" + folder_name(id)).size() == 3);
  CHECK(list_directory(root).size() == 3);
}

// Runs f in a child and returns how it ended.
template <class F>
int in_child(F const& f) {
  pid_t const child = ::fork();
  if (child == 0) {
    int code = 99;
    try {
      code = f();
    } catch (...) {
      code = 98;
    }
    ::_exit(code);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}
}  // namespace

TEST_CASE("a save that throws at any point leaves a whole one", "[checkpoint]") {
  for (int p = 0; p < num_save_points; ++p)
    for (int rank = 0; rank < (p < static_cast<int>(save_point::manifest_written) ? 2 : 1); ++rank) {
      INFO("point " << p << " rank " << rank);
      test::temporary_folder const root;
      test::save_all(root.path(), 10, 2);
      test::save_all(root.path(), 20, 2);
      interruption i{static_cast<save_point>(p), rank, false};
      CHECK_THROWS_AS(test::save_all(root.path(), 30, 2, i.hook()), stop);
      check_recovery(root.path(), i.where);
    }
}

TEST_CASE("contents are on the disk before their name, names before the next step, `latest` last", "[checkpoint]") {
  test::temporary_folder const root;
  char real[4096];
  REQUIRE(::realpath(root.path().c_str(), real) != nullptr);
  save_id id;
  std::vector<std::string> lines;
  {
    journal const log(real);
    id = test::save_all(real, 30, 1);
    lines = log.lines;
  }
  std::string const folder = folder_name(id), suffix = ".tmp." + std::to_string(id.attempt);
  auto const sync_file = [&](std::string const& path) {
    return "sync " + path + suffix + " " + std::to_string(file::open(root / path).size());
  };
  std::string const shard = folder + "/" + file_name(0), list = folder + "/" + manifest_name;
  std::vector<std::string> const right = {sync_file(shard), "rename " + shard, "sync " + folder, "sync .",
                                          sync_file(list),  "rename " + list,  "sync " + folder, sync_file("latest"),
                                          "rename latest",  "sync ."};
  CHECK(lines == right);
}

TEST_CASE("a process that is killed at any point leaves a whole save", "[checkpoint]") {
  for (int p = 0; p < num_save_points; ++p) {
    INFO("point " << p);
    test::temporary_folder const root;
    test::save_all(root.path(), 10, 2);
    test::save_all(root.path(), 20, 2);
    interruption i{static_cast<save_point>(p), 0, true};
    int const status = in_child([&] { return test::save_all(root.path(), 30, 2, i.hook()), 0; });
    REQUIRE((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
    check_recovery(root.path(), i.where);
  }
}

TEST_CASE("a deletion that is cut short leaves no save that looks complete", "[checkpoint]") {
  test::temporary_folder const root;
  save_id const old = test::save_all(root.path(), 10, 2);
  test::save_all(root.path(), 20, 2);
  interruption i{save_point::old_manifest_deleted, 0, false};
  CHECK_THROWS_AS(test::save_all(root.path(), 30, 2, i.hook()), stop);
  CHECK(list_directory(root / folder_name(old)).size() == 2);
  store s;
  CHECK(open_save(root.path(), old, s).summary().find("has no manifest") != std::string::npos);
  test::save_all(root.path(), 40, 2);
  CHECK_FALSE(file_exists(root / folder_name(old)));
}

TEST_CASE("old saves beyond the number to keep are deleted, only after the new one counts", "[checkpoint]") {
  test::temporary_folder const root;
  for (index_t step : {10, 20, 30, 40}) test::save_all(root.path(), step, 2);
  std::vector<save_id> const saves = list_saves(root.path());
  REQUIRE(saves.size() == 2);
  CHECK((saves[0].step == 40 && saves[1].step == 30));
  CHECK(test::read_file(root / "latest") == folder_name(saves[0]) + "\n");
  test::save_all(root.path(), 15, 1, {}, 1);  // a run that went back
  CHECK(usable_step(root.path()) == 15);
  CHECK(list_saves(root.path()).size() == 1);
}

TEST_CASE("an old save that can't be deleted fails no save", "[checkpoint]") {
  test::temporary_folder const root;
  save_id const first = test::save_all(root.path(), 10, 1);
  std::string const foreign = root / folder_name(first) + "/notes";
  make_directories(foreign);
  for (index_t step : {20, 30, 40, 50}) {
    manifest m;
    m.id = next_save(root.path(), step);
    m.files = {test::save_rank(root.path(), m.id, 0, 1)};
    test::listener ear;
    commit(root.path(), m, 2, {}, ear.notice());
    CHECK(usable_step(root.path()) == step);
    CHECK(ear.heard.size() == (step >= 30 ? 1 : 0));
    if (!ear.heard.empty())
      CHECK_THAT(ear.heard[0], Catch::Contains("delete it by hand: file: can't delete " + foreign));
  }
  // Only what is foreign stays of it, and the saves behind it go as ever.
  CHECK(list_directory(root / folder_name(first)) == std::vector<std::string>{"notes"});
  CHECK(list_saves(root.path()).size() == 3);
  ::rmdir(foreign.c_str());
  test::save_all(root.path(), 60, 1);
  CHECK(list_saves(root.path()).size() == 2);
}

TEST_CASE("a full disk is named and leaves the save before", "[checkpoint]") {
  test::temporary_folder const root;
  test::save_all(root.path(), 20, 1);
  save_id const id = next_save(root.path(), 30);
  std::string const temporary = root / folder_name(id) + "/" + file_name(0) + ".tmp." + std::to_string(id.attempt);
  make_directories(root / folder_name(id));
  REQUIRE(::symlink("/dev/full", temporary.c_str()) == 0);  // every write to it finds the disk full
  CHECK_THROWS_WITH(test::save_rank(root.path(), id, 0, 1),
                    Catch::Contains("No space left on device: free some space or choose another folder"));
  CHECK_FALSE(file_exists(temporary));
  CHECK(list_directory(root / folder_name(id)).empty());
  CHECK(usable_step(root.path()) == 20);
  manifest m;
  m.id = id;
  m.files = {test::save_rank(root.path(), id, 0, 1)};
  std::string const list = root / folder_name(id) + "/" + manifest_name + ".tmp." + std::to_string(id.attempt);
  REQUIRE(::symlink("/dev/full", list.c_str()) == 0);
  CHECK_THROWS_WITH(commit(root.path(), m), Catch::Contains("No space left"));
  CHECK(usable_step(root.path()) == 20);
}

TEST_CASE("a disk or a limit that is really reached ends in the same error", "[checkpoint]") {
  test::temporary_folder const root;
  test::save_all(root.path(), 20, 1);
  auto save_fails = [&](std::string const& folder) {
    try {
      test::save_all(folder, 30, 1);
    } catch (error const& e) {
      return e.code() == errc::file && std::string(e.what()).find("free some space") != std::string::npos ? 0 : 2;
    }
    return 1;
  };
  int const limited = in_child([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    rlimit const most{2000, 2000};
    return ::setrlimit(RLIMIT_FSIZE, &most) == 0 ? save_fails(root.path()) : 3;
  });
  CHECK((WIFEXITED(limited) && WEXITSTATUS(limited) == 0));
  CHECK(usable_step(root.path()) == 20);
  // A file system of one page, in a mount namespace of its own; only where this process may make one.
  std::string const small = root / "small";
  make_directories(small);
  int const mounted = in_child([&] {
    if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return 50;
    if (::mount("tmpfs", small.c_str(), "tmpfs", 0, "size=4096") != 0) return 50;
    return save_fails(small);
  });
  INFO("status " << mounted);
  CHECK((WIFEXITED(mounted) && (WEXITSTATUS(mounted) == 0 || WEXITSTATUS(mounted) == 50)));
}

TEST_CASE("a save that failed is removed, one that counts is not", "[checkpoint]") {
  test::temporary_folder const root;
  save_id const good = test::save_all(root.path(), 20, 2);
  save_id const bad = next_save(root.path(), 30);
  std::string const folder = root / folder_name(bad);
  for (index_t rank : {0, 1}) test::save_rank(root.path(), bad, rank, 2);
  abandon(root.path(), bad, 0);
  CHECK(list_directory(folder) == std::vector<std::string>{file_name(1)});
  abandon(root.path(), bad, 1);
  CHECK_FALSE(file_exists(folder));
  for (index_t rank : {0, 1}) test::save_rank(root.path(), bad, rank, 2);
  for (int again = 0; again < 2; ++again) abandon(root.path(), bad);
  CHECK_FALSE(file_exists(folder));
  abandon(root.path(), good, 0);
  abandon(root.path(), good);
  CHECK(usable_step(root.path()) == 20);
}

TEST_CASE("misuse of the rank writer is refused", "[checkpoint]") {
  test::temporary_folder const root;
  rank_writer w(root.path(), {1, 1}, 0);
  float const x[4] = {};
  index_t const four[] = {4};
  any_box const space = whole(four, 1);
  CHECK_THROWS_AS(w.add("w", "", space, space, view<float const, 1>(x, dims<1>(3))), contract_error);
  CHECK_THROWS_AS(w.add("w", "", space, erase_rank(make_box({0}, {5})), view<float const, 1>(x, dims<1>(5))),
                  contract_error);
  CHECK_THROWS_AS(w.add_range("w", "", space, {0, 3}, view<float const, 1>(x, dims<1>(4))), contract_error);
  CHECK_THROWS_AS(rank_writer(root.path(), {1, 1}, -1), contract_error);
  manifest m;
  m.id = {1, 1};
  m.files = {{0, 1, 1}, {0, 1, 1}};
  CHECK_THROWS_AS(commit(root.path(), m), contract_error);
  CHECK_THROWS_AS(commit(root.path(), manifest(), 0), contract_error);
}
