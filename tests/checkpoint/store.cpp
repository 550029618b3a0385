// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "made_model.hpp"

#include <heddle/checkpoint/store.hpp>

using namespace heddle;
using namespace heddle::checkpoint;

namespace {
bool says(report const& r, std::string const& what) { return r.summary(100).find(what) != std::string::npos; }
void corrupt(std::string const& path, std::size_t at) {
  std::string bytes = test::read_file(path);
  bytes[at] = static_cast<char>(bytes[at] ^ 1);
  test::write_file(path, bytes);
}
}  // namespace

TEST_CASE("what one mesh saved another one loads", "[checkpoint]") {
  for (index_t from : {1, 2, 3, 4, 5, 7, 8}) {
    test::temporary_folder const root;
    test::save_all(root.path(), 20, from);
    test::listener ear;
    store const s = open_store(root.path(), verify::contents, ear.notice());
    CHECK(ear.heard.empty());
    CHECK(s.id().step == 20);
    CHECK(*s.meta("seed") == "42");
    CHECK(s.meta("none") == nullptr);
    report const r = s.check(test::expected_entries());
    INFO(r.summary());
    CHECK(r);
    for (index_t to : {1, 2, 3, 4, 5, 7, 8})
      for (index_t rank = 0; rank < to; ++rank) CHECK(test::wrong_elements(s, 20, rank, to) == 0);
  }
}

TEST_CASE("a load reads exactly the bytes of its box", "[checkpoint]") {
  test::temporary_folder const root;
  test::save_all(root.path(), 20, 4);
  store const s = open_store(root.path());
  std::vector<float> out(6);
  any_box const space = test::made_model()[0].space();
  CHECK(s.load_box("wte.weight", "", space, erase_rank(make_box({4, 1}, {7, 3})), test::flat(out)));
  CHECK(s.bytes_read() == 24);
  CHECK(out == test::values(0, 20, space, erase_rank(make_box({4, 1}, {7, 3}))));
}

TEST_CASE("a checkpoint of another model is told apart", "[checkpoint]") {
  test::temporary_folder const root;
  test::save_all(root.path(), 20, 2);
  store const s = open_store(root.path());
  auto wanted = test::expected_entries();
  index_t const wide[] = {11, 8};
  wanted[0].space = whole(wide, 2);
  wanted[4] = expected_entry("h.9.new", "", whole(wide, 2));  // was h.0.ln.bias|exp_avg
  report const r = s.check(wanted);
  REQUIRE(r.count() == 3);
  CHECK(r.summary(1).find("\"wte.weight\" is [11, 8] in this model and [11, 4] in the checkpoint") == 0);
  CHECK(says(r, "\"h.9.new\" is in this model and not in the checkpoint"));
  CHECK(says(r, "\"h.0.ln.bias|exp_avg\" is in the checkpoint and not in this model"));
  std::vector<float> out(88);
  CHECK(says(s.load_box("wte.weight", "", wanted[0].space, wanted[0].space, test::flat(out)), "[11, 8] in this model"));
  std::vector<std::int32_t> whole_numbers(44);
  any_box const space = test::made_model()[0].space();
  CHECK(says(s.load_box("wte.weight", "", space, space, test::flat(whole_numbers)),
             "is F32 in the checkpoint and I32 here"));
}

TEST_CASE("elements that no rank stored are missed", "[checkpoint]") {
  test::temporary_folder const root;
  manifest m;
  m.id = next_save(root.path(), 1);
  m.files.push_back(test::save_rank(root.path(), m.id, 1, 3));  // ranks 0 and 2 are absent
  commit(root.path(), m);
  store const s = open_store(root.path());
  std::vector<float> out(44);
  any_box const space = test::made_model()[0].space();
  CHECK(says(s.load_box("wte.weight", "", space, space, test::flat(out)), "lacks 28 of 44 elements"));
  CHECK(s.load_box("wte.weight", "", space, shard_of(space, 0, 3, 1), slice(test::flat(out), 0, 0, 16)));
}

TEST_CASE("elements that two ranks stored, or tensors that disagree, are refused", "[checkpoint]") {
  test::temporary_folder const root;
  float const x[4] = {};
  index_t const four[] = {4}, five[] = {5};
  auto save = [&](any_box const& second_space, any_box const& second) {
    manifest m;
    m.id = next_save(root.path(), 1);
    rank_writer a(root.path(), m.id, 0), b(root.path(), m.id, 1);
    a.add("w", "", whole(four, 1), erase_rank(make_box({0}, {2})), view<float const, 1>(x, dims<1>(2)));
    b.add("w", "", second_space, second, view<float const, 1>(x, dims<1>(second.size())));
    m.files = {a.finish_rank(), b.finish_rank()};
    commit(root.path(), m);
    store s;
    return open_save(root.path(), m.id, s);
  };
  CHECK(save(whole(four, 1), erase_rank(make_box({2}, {4}))));
  CHECK(says(save(whole(four, 1), erase_rank(make_box({1}, {4}))), "\"w\" is stored twice in part"));
  CHECK(says(save(whole(five, 1), erase_rank(make_box({2}, {5}))), "different extents"));
}

TEST_CASE("a damaged save is passed over, loudly", "[checkpoint]") {
  for (int damage = 0; damage < 6; ++damage) {
    test::temporary_folder const root;
    test::save_all(root.path(), 20, 2);
    std::string const folder = root / folder_name(test::save_all(root.path(), 30, 2));
    std::string const victim = folder + "/" + file_name(1);
    if (damage == 0) corrupt(victim, test::read_file(victim).size() - 1);
    if (damage == 1) remove_file(victim);
    if (damage == 2) REQUIRE(::truncate(victim.c_str(), 100) == 0);
    if (damage == 3) corrupt(folder + "/" + manifest_name, 60);
    if (damage == 4) remove_file(folder + "/" + manifest_name);
    if (damage == 5) test::write_file(folder + "/" + manifest_name, "");
    test::listener ear;
    store const s = open_store(root.path(), verify::contents, ear.notice());
    INFO(damage << " " << (ear.heard.empty() ? "" : ear.heard[0]));
    CHECK(s.id().step == 20);
    REQUIRE(ear.heard.size() == 2);
    CHECK(ear.heard[0].find("is not usable") != std::string::npos);
    CHECK(ear.heard[1].find("falling back to") == 0);
    CHECK(test::wrong_elements(s, 20, 1, 3) == 0);
  }
}

TEST_CASE("a folder without a usable save says so", "[checkpoint]") {
  test::temporary_folder const root;
  CHECK_THROWS_WITH(open_store(root / "none"), Catch::Contains("no usable checkpoint in " + (root / "none")));
  save_id const id = test::save_all(root.path(), 20, 1);
  remove_file(root / folder_name(id) + "/" + manifest_name);
  test::listener ear;
  CHECK_THROWS_WITH(open_store(root.path(), verify::sizes, ear.notice()), Catch::Contains("the save was not finished"));
}

TEST_CASE("a lost pointer is found again", "[checkpoint]") {
  test::temporary_folder const root;
  test::save_all(root.path(), 20, 1);
  test::save_all(root.path(), 30, 1);
  remove_file(root / "latest");
  test::listener ear;
  CHECK(open_store(root.path(), verify::sizes, ear.notice()).id().step == 30);
  CHECK(ear.heard.size() == 1);
  test::write_file(root / "latest", "../../etc/passwd");
  CHECK(open_store(root.path(), verify::sizes, ear.notice()).id().step == 30);
  CHECK(ear.heard.size() == 2);
  // Whatever else stands there is passed over in the same way, without waiting for it.
  std::string const pointer = root / "latest";
  auto const found = [&](char const* why) {
    ear.heard.clear();
    CHECK(open_store(root.path(), verify::sizes, ear.notice()).id().step == 30);
    REQUIRE(ear.heard.size() == 1);
    CHECK_THAT(ear.heard[0], Catch::Contains(why) && Catch::Contains("looking for the newest complete save"));
  };
  test::write_file(pointer, std::string(5000, 'x'));
  found("5000 bytes are more than 4096");
  remove_file(pointer);
  make_directories(pointer);
  found("Is a directory");
  ::rmdir(pointer.c_str());
  REQUIRE(::mkfifo(pointer.c_str(), 0600) == 0);
  found("it is not a regular file");
  test::save_all(root.path(), 40, 1);  // takes the place of the pipe
  CHECK(open_store(root.path(), verify::sizes, ear.notice()).id().step == 40);
  CHECK(ear.heard.size() == 1);
}

TEST_CASE("a pipe in the place of a rank's file or a manifest is passed over", "[checkpoint]") {
  for (std::string const& name : {file_name(0), std::string(manifest_name)}) {
    test::temporary_folder const root;
    test::save_all(root.path(), 20, 1);
    std::string const path = root / folder_name(test::save_all(root.path(), 30, 1)) + "/" + name;
    remove_file(path);
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    test::listener ear;
    CHECK(open_store(root.path(), verify::contents, ear.notice()).id().step == 20);
    CHECK_THAT(ear.heard.front(), Catch::Contains("it is not a regular file"));
  }
}

TEST_CASE("a box index names every entry once", "[checkpoint]") {
  test::temporary_folder const root;
  std::string const data(8, '\0'), line = R"({\"entry\":\"%\",\"name\":\"%\",\"key\":\"\",)"
                                         R"(\"extents\":[1],\"lo\":[0],\"hi\":[1]})";
  auto const faults_of = [&](std::string const& first, std::string const& second) {
    std::string index;
    for (std::string const& name : {first, second}) {
      std::string one = line;
      for (std::size_t at; (at = one.find('%')) != std::string::npos;) one.replace(at, 1, name);
      index += (index.empty() ? "[" : ",") + one;
    }
    test::write_file(root / "f", test::made(R"({"__metadata__":{"heddle.boxes":")" + index + R"(]"},)" +
                                                R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)" +
                                                R"("b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
                                            data));
    header h;
    REQUIRE(read_header(file::open(root / "f"), h));
    std::vector<checkpoint::detail::stored_box> boxes;
    report faults;
    checkpoint::detail::read_box_index(h, 0, "f", boxes, faults);
    return faults;
  };
  CHECK(faults_of("a", "b"));
  report const twice = faults_of("a", "a");
  CHECK(twice.count() == 2);
  CHECK_THAT(twice.summary(2), Catch::Contains("names \"a\" twice") && Catch::Contains("holds \"b\", which"));
}

TEST_CASE("a file of another program opens as whole tensors", "[checkpoint]") {
  test::temporary_folder const root;
  test::write_file(root / "f", test::made(R"({"w":{"dtype":"BF16","shape":[2,2],"data_offsets":[0,8]},)"
                                          R"("b":{"dtype":"I64","shape":[1],"data_offsets":[8,16]}})",
                                          std::string("\x80\x3f\0\xc0\0\0\0\x80\x2a\0\0\0\0\0\0\0", 16)));
  store s;
  REQUIRE(open_tensors(root / "f", s));
  CHECK(s.entries().size() == 2);
  index_t const sizes[] = {2, 2};
  float w[2] = {};
  any_box const column = shard_of(whole(sizes, 2), 1, 2, 0);
  CHECK(s.load_box("w", "", whole(sizes, 2), column, view<float, 1>(w, dims<1>(2))));
  CHECK((w[0] == 1.0f && w[1] == 0.0f));
  CHECK(s.bytes_read() == 4);
  test::write_file(root / "g", "short");
  CHECK_FALSE(open_tensors(root / "g", s));
  CHECK(s.entries().empty());
}
