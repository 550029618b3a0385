// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "temporary.hpp"

#include <heddle/checkpoint/layout.hpp>

#include <support/catch.hpp>

using namespace heddle;
using namespace heddle::checkpoint;

TEST_CASE("folder names stand for saves and back", "[checkpoint]") {
  CHECK(folder_name({20, 17}) == "step-00000020.000017");
  CHECK(file_name(3) == "rank-00003.safetensors");
  save_id id;
  CHECK((parse_folder_name("step-00000020.000017", id) && id == save_id{20, 17}));
  CHECK((parse_folder_name("step-1234567890.1234567", id) && id == save_id{1234567890, 1234567}));
  for (char const* name : {"", "step-", "step-.", "step-20.17", "step-00000020", "step-00000020.000017x", "latest",
                           "step-0000002a.000017", "step-00000020.", "../step-00000020.000017",
                           "step-99999999999999999999.000017"})
    CHECK_FALSE(parse_folder_name(name, id));
}

TEST_CASE("attempts are numbered over the whole folder", "[checkpoint]") {
  test::temporary_folder const root;
  CHECK(next_save(root / "none", 5) == save_id{5, 1});
  make_directories(root / folder_name({30, 4}));
  make_directories(root / folder_name({10, 9}));
  make_directories(root / "unrelated");
  CHECK(next_save(root.path(), 5) == save_id{5, 10});
  CHECK(list_saves(root.path()) == std::vector<save_id>{{10, 9}, {30, 4}});
  CHECK_THROWS_AS(next_save(root.path(), -1), contract_error);
}
