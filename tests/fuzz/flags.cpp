// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../../examples/support/flags.hpp"

#include "fuzz.hpp"

using heddle::test::must;

namespace {
struct options {
  int steps = 100;
  std::uint64_t seed = 7;
  double rate = 0.001;
  float clip = 1;
  std::string out = "run";
  std::string schedule = "1f1b";
  std::vector<std::string> data{"default.txt"};
  bool shuffle = true;

  friend bool operator==(options const&, options const&) = default;
};

// The line that gives every flag, one word each.
std::vector<std::string> command_line(options const& o) {
  std::vector<std::string> words = {"--steps=" + examples::number_text(o.steps),
                                    "--seed=" + examples::number_text(o.seed),
                                    "--lr=" + examples::number_text(o.rate),
                                    "--clip=" + examples::number_text(o.clip),
                                    "--out=" + o.out,
                                    "--schedule=" + o.schedule,
                                    o.shuffle ? "--shuffle" : "--no-shuffle"};
  for (std::string const& path : o.data) words.push_back("--data=" + path);
  return words;
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words(1);
  for (char c : text) {
    if (c == '\n')
      words.emplace_back();
    else if (c != 0)  // ends a word of a real command line
      words.back() += c;
  }
  words.pop_back();
  return words;
}

/// What is wrong, or nothing.
std::string read(std::vector<std::string> const& words, options& o, bool& helped) {
  examples::flags f("Reads flags that are made up.");
  f.number("steps", &o.steps, "optimizer steps", 1, 1000000);
  f.number("seed", &o.seed, "of all random numbers");
  f.number("lr", &o.rate, "learning rate", 0, 10);
  f.number("clip", &o.clip, "largest gradient norm");
  f.text("out", &o.out, "DIR", "where results go");
  f.choice("schedule", &o.schedule, {"gpipe", "1f1b"}, "order of pipeline work");
  f.list("data", &o.data, "PATH", "text files");
  f.toggle("shuffle", &o.shuffle, "read the text in random order");
  std::vector<char const*> line = {"program"};
  for (std::string const& w : words) line.push_back(w.c_str());
  try {
    f.parse(static_cast<int>(line.size()), line.data());
  } catch (examples::help_wanted const& h) {
    helped = true;
    return h.what();
  } catch (examples::usage_error const& e) {
    return e.what();
  }
  return "";
}
}  // namespace

/// The words of a command line, each ended by a line end.
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::vector<std::string> const words = words_of({reinterpret_cast<char const*>(data), size});
  options o;
  bool helped = false;
  std::string const wrong = read(words, o, helped);
  bool asked = false;
  for (std::string const& w : words) asked = asked || w == "--help" || w == "-h";
  must(helped == asked, "help is shown where it is asked for");
  if (!wrong.empty()) {
    must(helped || wrong.substr(0, 2) == "--" || wrong.front() == '\'', "a message begins with the word that is wrong");
    return 0;
  }
  must(o.steps >= 1 && o.steps <= 1000000 && o.rate >= 0 && o.rate <= 10, "numbers lie in their range");
  must(o.clip == o.clip && (o.schedule == "gpipe" || o.schedule == "1f1b"), "values are what was declared");
  options again;
  must(read(command_line(o), again, helped).empty() && again == o, "what is printed reads back");
  return 0;
}

#if !defined(HEDDLE_LIBFUZZER)
int main() {
  std::vector<std::string> const corpus = {"--steps=5\n--lr\n0.5\n--data\na.txt\nb.txt\n--no-shuffle\n",
                                           "--schedule\ngpipe\n--out=a b\n--seed\n18446744073709551615\n",
                                           "--clip=1e-3\n--data=--x\n",
                                           "--data=\n",
                                           "--help\n",
                                           "stray\n",
                                           "--stpes=3\n",
                                           ""};
  std::vector<std::string> const words = {"--",
                                          "=",
                                          "\n",
                                          "--no-",
                                          "--help\n",
                                          "-h\n",
                                          "nan",
                                          "inf",
                                          "-1",
                                          "1e400",
                                          "0x10",
                                          "--steps=0\n",
                                          "--lr=-1\n",
                                          "--steps=",
                                          "--lr=",
                                          "--data\n",
                                          "--shuffle\n",
                                          "1f1b",
                                          "99999999999999999999",
                                          "\xff"};
  options o;
  bool helped = false;
  for (std::size_t i = 0; i < 3; ++i) must(read(words_of(corpus[i]), o, helped).empty(), "what is right is read");
  must(!read(words_of(corpus[3]), o, helped).empty(), "an empty value is refused");
  return heddle::test::replay(corpus, words);
}
#endif
