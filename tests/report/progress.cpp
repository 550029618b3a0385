// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/report/progress.hpp>
#include <support/catch.hpp>

namespace report = heddle::report;
using report::fields;
using report::progress_options;

namespace {
// What a progress line writes while `use` runs.
template <class Use>
std::string shown(heddle::index_t total, progress_options options, Use const& use) {
  std::FILE* out = std::tmpfile();
  REQUIRE(out != nullptr);
  options.out = out;
  {
    report::progress line(total, options);
    use(line);
  }
  std::rewind(out);
  std::string t;
  for (int c; (c = std::fgetc(out)) != EOF;) t += static_cast<char>(c);
  std::fclose(out);
  return t;
}
}  // namespace

TEST_CASE("fields are name=value with fixed places", "[report]") {
  CHECK(fields().add("loss", 2.31049, 3).add("tokens", heddle::index_t{12}).add("mesh", "2x2").text() ==
        "loss=2.310 tokens=12 mesh=2x2");
}

TEST_CASE("durations are short", "[report]") {
  CHECK(report::duration_text(0) == "0s");
  CHECK(report::duration_text(59.4) == "59s");
  CHECK(report::duration_text(59.6) == "1m00s");
  CHECK(report::duration_text(91) == "1m31s");
  CHECK(report::duration_text(3600 * 2 + 60 * 7) == "2h07m");
  CHECK(report::duration_text(86400.0 * 3 + 3600 * 4) == "3d04h");
  CHECK(report::duration_text(-1) == "?");
  CHECK(report::duration_text(0.0 / 0.0 * 1) == "?");
}

TEST_CASE("a file gets a plain line now and then, and the last state once", "[report]") {
  progress_options o;
  o.plain_seconds = 10;
  std::string const t = shown(100, o, [](report::progress& line) {
    for (int i = 1; i <= 100; ++i) line.update_at(i * 0.5, i, fields().add("loss", 1.0 / i, 2));
  });
  CHECK(t ==
        "step=1/100 loss=1.00\n"
        "step=21/100 loss=0.05 rate=2/s eta=40s\n"
        "step=41/100 loss=0.02 rate=2/s eta=30s\n"
        "step=61/100 loss=0.02 rate=2/s eta=20s\n"
        "step=81/100 loss=0.01 rate=2/s eta=10s\n"
        "step=100/100 loss=0.01 rate=2/s\n");
  std::string const stopped = shown(9, o, [](report::progress& line) {
    line.update_at(1, 1, {});
    line.update_at(31, 2, {});
    line.update_at(32, 3, {});
    line.finish();
    line.finish();
  });
  CHECK(stopped == "step=1/9\nstep=2/9 rate=2/min eta=3m30s\nstep=3/9 rate=3.87/min eta=1m33s\n");
  CHECK(shown(9, o, [](report::progress&) {}).empty());
}

TEST_CASE("the rate follows the last updates", "[report]") {
  progress_options o;
  o.plain_seconds = 0;
  o.unit = "batch";
  std::string const t = shown(1000, o, [](report::progress& line) {
    for (int i = 1; i <= 32; ++i) line.update_at(i, i, {});
    for (int i = 33; i <= 40; ++i) line.update_at(32 + 3 * (i - 32), i, {});
  });
  // 31 batches between second 9 and second 56.
  CHECK(t.find("batch=32/1000 rate=1/s eta=16m08s\n") != std::string::npos);
  CHECK(t.find("batch=40/1000 rate=39.57/min eta=24m15s\n") != std::string::npos);
}

TEST_CASE("a terminal gets one line that is redrawn", "[report]") {
  progress_options o;
  o.how = progress_options::style::terminal;
  std::string const t = shown(3, o, [](report::progress& line) {
    line.update_at(0, 1, fields().add("loss", 3.0, 1));
    line.update_at(0.01, 2, {});
    line.note("saved");
    line.update_at(1, 3, {});
  });
  CHECK(t ==
        "\rstep=1/3 loss=3.0\x1b[K"
        "\r\x1b[Ksaved\n"
        "\rstep=2/3 rate=100/s eta=0s\x1b[K"
        "\rstep=3/3 rate=2/s\x1b[K\n");
}
