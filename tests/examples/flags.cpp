// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../../examples/support/flags.hpp"

#include <support/catch.hpp>

using examples::flags;
using examples::usage_error;

namespace {
struct options {
  int steps = 100;
  std::uint64_t seed = 7;
  double rate = 0.001;
  float clip = 1;
  std::string out = "run";
  std::string schedule = "1f1b";
  std::vector<std::string> data{"default.txt"};
  bool bf16 = false;
  bool shuffle = true;
};

struct outcome {
  options o;
  std::string error;
  bool steps_given = false;
};

void declare(flags& f, options& o) {
  f.number("steps", &o.steps, "optimizer steps", 1, 1000000);
  f.number("seed", &o.seed, "of all random numbers");
  f.number("lr", &o.rate, "learning rate", 0, 10);
  f.number("clip", &o.clip, "largest gradient norm");
  f.text("out", &o.out, "DIR", "where results go");
  f.choice("schedule", &o.schedule, {"gpipe", "1f1b"}, "order of pipeline work");
  f.list("data", &o.data, "PATH", "text files");
  f.toggle("bf16", &o.bf16, "store activations in bf16");
  f.toggle("shuffle", &o.shuffle, "read the text in random order");
}

outcome parse(std::vector<char const*> words, bool data_required = false) {
  outcome r;
  flags f("Tests the flags.");
  declare(f, r.o);
  if (data_required) f.text("name", &r.o.out, "NAME", "who you are").required();
  words.insert(words.begin(), "bin/program");
  try {
    f.parse(static_cast<int>(words.size()), words.data());
  } catch (usage_error const& e) {
    r.error = e.what();
  }
  r.steps_given = f.given("steps");
  return r;
}
}  // namespace

TEST_CASE("flags fill the members that they are bound to", "[examples]") {
  outcome const d = parse({});
  CHECK(d.error.empty());
  CHECK(d.o.steps == 100);
  CHECK(d.o.data == std::vector<std::string>{"default.txt"});
  CHECK(!d.steps_given);
  outcome const r = parse({"--steps", "12", "--seed=18446744073709551615", "--lr", "2.5e-3", "--clip=-1", "--out", "-",
                           "--schedule", "gpipe", "--bf16", "--no-shuffle", "--data", "a", "-b", "c", "--data=d"});
  CHECK(r.error.empty());
  CHECK(r.steps_given);
  CHECK(r.o.steps == 12);
  CHECK(r.o.seed == 18446744073709551615ULL);
  CHECK(r.o.rate == 2.5e-3);
  CHECK(r.o.clip == -1.0F);
  CHECK(r.o.out == "-");
  CHECK(r.o.schedule == "gpipe");
  CHECK(r.o.bf16);
  CHECK(!r.o.shuffle);
  CHECK(r.o.data == std::vector<std::string>{"a", "-b", "c", "d"});
}

TEST_CASE("what can't be used is one line that names the flag and says what to do", "[examples]") {
  CHECK(parse({"--stepz", "3"}).error == "--stepz is no flag; did you mean --steps?; see --help");
  CHECK(parse({"--zzz"}).error == "--zzz is no flag; see --help");
  CHECK(parse({"--no-steps"}).error == "--no-steps is no flag; see --help");
  CHECK(parse({"--steps"}).error == "--steps needs a value: give --steps N");
  CHECK(parse({"--steps", "--bf16"}).error == "--steps needs a value: give --steps N");
  CHECK(parse({"--data", "--bf16"}).error == "--data needs a value: give --data PATH...");
  CHECK(parse({"--steps", "3", "--steps", "4"}).error == "--steps is given twice: give it once");
  CHECK(parse({"--bf16=yes"}).error == "--bf16 takes no value: leave it out");
  CHECK(parse({"file.txt"}).error == "'file.txt' is no flag: flags start with --; see --help");
  CHECK(parse({"--schedule", "zb"}).error == "--schedule: 'zb' is not one of gpipe|1f1b");
  CHECK(parse({"--bf16", "true"}).error == "'true' is no flag: flags start with --; see --help");
  CHECK(parse({}, true).error == "--name is missing: give --name NAME");
}

TEST_CASE("numbers are read whole and kept in range", "[examples]") {
  for (char const* bad : {"abc", "", "3x", "1.5", "+3", " 3", "0x10"})
    CHECK(parse({"--steps", bad}).error == "--steps: '" + std::string(bad) + "' is not a whole number");
  for (char const* bad : {"0", "-1", "1000001", "99999999999999999999"})
    CHECK(parse({"--steps", bad}).error ==
          "--steps: " + std::string(bad) + " is out of range; give a number from 1 to 1000000");
  CHECK(parse({"--seed", "-1"}).error == "--seed: '-1' is not a whole number");
  for (char const* bad : {"nan", "1e", "1,5"})
    CHECK(parse({"--lr", bad}).error == "--lr: '" + std::string(bad) + "' is not a number");
  for (char const* bad : {"11", "-0.5", "inf"})
    CHECK(parse({"--lr", bad}).error == "--lr: " + std::string(bad) + " is out of range; give a number from 0 to 10");
}

TEST_CASE("every odd form of a flag is one line that names it, and changes nothing", "[examples]") {
  std::string const huge(5000, '9');
  struct {
    std::vector<std::string> words;
    char const* error;  // what the line starts with
  } const cases[] = {
      {{"--out="}, "--out: the value is empty; give --out DIR"},
      {{"--out", ""}, "--out: the value is empty; give --out DIR"},
      {{"--data="}, "--data: a value is empty; give --data PATH..."},
      {{"--data", "a", ""}, "--data: a value is empty; give --data PATH..."},
      {{"--steps="}, "--steps: '' is not a whole number"},
      {{"--lr="}, "--lr: '' is not a number"},
      {{"--schedule="}, "--schedule: '' is not one of gpipe|1f1b"},
      {{"--schedule", "1F1B"}, "--schedule: '1F1B' is not one of"},
      {{"--bf16="}, "--bf16 takes no value"},
      {{"--no-bf16=1"}, "--no-bf16 takes no value"},
      {{"--bf16", "--no-bf16"}, "--bf16 is given twice"},
      {{"--no-shuffle", "--no-shuffle"}, "--shuffle is given twice"},
      {{"--out=a", "--out", "b"}, "--out is given twice"},
      {{"--lr", "1", "--lr=1"}, "--lr is given twice"},
      {{"--steps=" + huge}, "--steps: 999"},
      {{"--steps", "-" + huge}, "--steps: -999"},
      {{"--lr", "1" + huge}, "--lr: 1999"},
      {{"--lr", "1e999"}, "--lr: 1e999 is out of range; give a number from 0 to 10"},
      {{"--lr", "-inf"}, "--lr: -inf is out of range"},
      {{"--lr", "infinity"}, "--lr: infinity is out of range"},
      {{"--clip", "inf"}, "--clip: inf is out of range"},
      {{"--clip", "-nan"}, "--clip: '-nan' is not a number"},
      {{"--clip", "nan(1)"}, "--clip: 'nan(1)' is not a number"},
      {{"--clip", "0x1p3"}, "--clip: '0x1p3' is not a number"},
      {{"--clip", "1 "}, "--clip: '1 ' is not a number"},
      {{"--seed", "18446744073709551616"}, "--seed: 18446744073709551616 is out of range"},
      {{"--steps", "1e3"}, "--steps: '1e3' is not a whole number"},
      {{"--steps", "\xd9\xa3"}, "--steps: '"},  // a digit, but no ASCII one
      {{"--"}, "-- is no flag"},
      {{"---steps", "3"}, "---steps is no flag"},
      {{"--=3"}, "-- is no flag"},
      {{"--no-"}, "--no- is no flag"},
      {{"--STEPS", "3"}, "--STEPS is no flag"},
      {{"-steps", "3"}, "'-steps' is no flag"},
      {{"", "3"}, "'' is no flag"},
  };
  for (auto const& c : cases) {
    std::vector<char const*> words;
    for (std::string const& w : c.words) words.push_back(w.c_str());
    outcome const r = parse(words);
    INFO(c.error);
    CHECK(r.error.rfind(c.error, 0) == 0);
    CHECK(r.error.find('\n') == std::string::npos);
  }
  CHECK(parse({"--steps", "0"}).o.steps == 100);
  CHECK(parse({"--lr", "nan"}).o.rate == 0.001);
  CHECK(parse({"--data="}).o.data == std::vector<std::string>{"default.txt"});
}

TEST_CASE("the help shows purpose, defaults, ranges and choices", "[examples]") {
  options o;
  flags f("Trains a small decoder on text files, over a mesh of ranks, and leaves metrics and pictures in its folder.");
  declare(f, o);
  CHECK(f.help("bin/program") ==
        "usage: program [flags]\n\n"
        "Trains a small decoder on text files, over a mesh of ranks, and leaves metrics\n"
        "and pictures in its folder.\n\n"
        "  --steps N                   optimizer steps, 1 to 1000000 [100]\n"
        "  --seed N                    of all random numbers [7]\n"
        "  --lr X                      learning rate, 0 to 10 [0.001]\n"
        "  --clip X                    largest gradient norm [1]\n"
        "  --out DIR                   where results go [run]\n"
        "  --schedule gpipe|1f1b       order of pipeline work [1f1b]\n"
        "  --data PATH...              text files [default.txt]\n"
        "  --bf16                      store activations in bf16\n"
        "  --shuffle                   read the text in random order [on]\n"
        "  --help                      this text\n");
  char const* words[] = {"program", "--nonsense", "--help"};
  CHECK_THROWS_AS(f.parse(3, words), examples::help_wanted);
}

TEST_CASE("failures become exit statuses", "[examples]") {
  char name[] = "bin/program";
  char* words[] = {name, nullptr};
  auto status = [&](auto f) { return examples::run_main(1, words, f); };
  CHECK(status([](int, char**) { return 5; }) == 5);
  CHECK(status([](int, char**) -> int { throw usage_error("--x: no"); }) == 2);
  CHECK(status([](int, char**) -> int { throw examples::help_wanted(""); }) == 0);
  CHECK(status([](int, char**) -> int { throw heddle::error(heddle::errc::file, "gone"); }) == 1);
  CHECK(status([](int, char**) -> int { throw heddle::error(heddle::errc::interrupted, "stop"); }) == 130);
  CHECK(status([](int, char**) -> int { throw heddle::contract_error(heddle::text("broken")); }) == 1);
}
