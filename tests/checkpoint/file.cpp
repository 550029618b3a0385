// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/checkpoint/file.hpp>

#include <support/catch.hpp>

#include "temporary.hpp"

using namespace heddle;
using checkpoint::file;

TEST_CASE("a file that is appended to keeps what it has and is read at once", "[checkpoint]") {
  test::temporary_folder const f;
  for (int round = 0; round < 2; ++round) {
    file log = file::append(f / "log");
    log.write("abc", 3);
    char last = 0;
    log.read_at(log.size() - 1, &last, 1);
    CHECK(last == 'c');
  }
  CHECK(test::read_file(f / "log") == "abcabc");
  file log = file::append(f / "log");
  CHECK(log.truncate(4));
  CHECK(log.size() == 4);
  CHECK_FALSE(file::open(f / "log").truncate(0));
  char beyond[5] = {};
  CHECK_THROWS_WITH(log.read_at(0, beyond, 5), Catch::Contains("it ends at byte 4, 1 bytes before the data do"));
}

TEST_CASE("a failure names the path, the reason and what to do", "[checkpoint]") {
  test::temporary_folder const f;
  test::write_file(f / "plain", "x");
  CHECK_THROWS_WITH(file::open(f / "none"),
                    "file: can't open " + f / "none" + ": No such file or directory: check the path");
  CHECK_THROWS_WITH(checkpoint::list_directory(f / "plain"), Catch::Contains("Not a directory: check the path"));
  CHECK_THROWS_WITH(checkpoint::make_directories(f / "plain/inner"), Catch::Contains("can't create folder"));
  file full = file::create("/dev/full");
  CHECK_THROWS_WITH(full.write("x", 1), Catch::Contains("No space left on device: free some space or choose another"));
  for (int code : {ENOSPC, EDQUOT, EFBIG})
    CHECK(std::string(checkpoint::detail::file_advice(code)) == ": free some space or choose another folder");
  CHECK(std::string(checkpoint::detail::file_advice(EROFS)).find("permissions") != std::string::npos);
  CHECK(std::string(checkpoint::detail::file_advice(EIO)).empty());
}

TEST_CASE("a file without a disk behind it has nothing to wait for", "[checkpoint]") {
  file pipe = file::create("/dev/null");
  pipe.write("x", 1);
  CHECK_NOTHROW(pipe.sync());
}

TEST_CASE("only a regular file is opened for reading: nothing else is waited for", "[checkpoint]") {
  test::temporary_folder const f;
  REQUIRE(::mkfifo((f / "pipe").c_str(), 0600) == 0);
  CHECK_THROWS_WITH(file::open(f / "pipe"), Catch::Contains("it is not a regular file: check the path"));
  CHECK_THROWS_WITH(file::open(f.path()), Catch::Contains("Is a directory: check the path"));
  CHECK_THROWS_WITH(checkpoint::read_small_file(f / "pipe", 10), Catch::Contains("it is not a regular file"));
  CHECK_THROWS_WITH(file::open("/dev/null"), Catch::Contains("it is not a regular file"));
  test::write_file(f / "plain", "x");
  CHECK_THROWS_WITH(checkpoint::sync_directory(f / "plain"), Catch::Contains("Not a directory"));
  CHECK(file::open(f / "plain").size() == 1);
}
