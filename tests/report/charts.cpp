// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/pipeline/generate.hpp>
#include <heddle/pipeline/lower.hpp>
#include <heddle/report/axis.hpp>
#include <heddle/report/line_chart.hpp>
#include <heddle/report/schedule_timeline.hpp>
#include <heddle/report/svg.hpp>
#include <heddle/report/timeline.hpp>
#include <support/catch.hpp>

#include <cmath>
#include <limits>

namespace pl = heddle::pipeline;
namespace report = heddle::report;

namespace {
int count(std::string const& in, std::string const& what) {
  int n = 0;
  for (std::size_t at = in.find(what); at != std::string::npos; at = in.find(what, at + 1)) ++n;
  return n;
}

// FNV-1a, to pin every byte of a picture without quoting it.
std::uint64_t fingerprint(std::string const& text) {
  std::uint64_t h = 0xcbf29ce484222325ULL;
  for (char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return h;
}

std::vector<std::string> labels(report::axis const& a) {
  std::vector<std::string> t;
  for (double m : a.marks()) t.push_back(a.label(m));
  return t;
}
using texts = std::vector<std::string>;
double const not_a_number = std::numeric_limits<double>::quiet_NaN();
double const inf = std::numeric_limits<double>::infinity();
}  // namespace

TEST_CASE("numbers in pictures are short and never -0", "[report]") {
  CHECK(report::fixed(1.005, 2) == "1");
  CHECK(report::fixed(-0.001, 2) == "0");
  CHECK(report::fixed(1234.5678, 2) == "1234.57");
  CHECK(report::fixed(100, 0) == "100");
  CHECK(report::fixed(not_a_number, 2) == "nan");
  CHECK(report::fixed(-inf, 2) == "-inf");
  CHECK(report::fixed(1e300, 1).size() == 301);
}

TEST_CASE("marks of an axis are round", "[report]") {
  CHECK(labels(report::axis(0, 10, 0, 100, 5, true)) == texts{"0", "2", "4", "6", "8", "10"});
  CHECK(labels(report::axis(1.43, 5.6, 0, 100, 6, true)) == texts{"1", "2", "3", "4", "5", "6"});
  CHECK(labels(report::axis(0.11, 0.29, 0, 100, 4, true)) == texts{"0.1", "0.15", "0.2", "0.25", "0.3"});
  CHECK(labels(report::axis(-3, 3, 0, 100, 4, true)) == texts{"-4", "-2", "0", "2", "4"});
  CHECK(labels(report::axis(1, 4999, 0, 100, 6, false)) == texts{"1000", "2000", "3000", "4000"});
  CHECK(labels(report::axis(2e-7, 9e-7, 0, 100, 4, true)) ==
        texts{"0.0000002", "0.0000004", "0.0000006", "0.0000008", "0.000001"});
  CHECK(labels(report::axis(5, 5, 0, 100, 5, false)) == texts{"4.6", "4.8", "5", "5.2", "5.4"});
  CHECK(labels(report::axis(not_a_number, 3, 0, 100, 2, true)) == texts{"0", "0.5", "1"});
  CHECK(labels(report::axis(-inf, inf, 0, 100, 1, true)) == texts{"0", "1"});
}

TEST_CASE("every mark lies on the axis and the step is not too fine", "[report]") {
  for (double lo : {-1e6, -3.7, 0.0, 1e-9, 2.5, 1e12})
    for (double wide : {1e-9, 0.013, 1.0, 7.0, 123456.0})
      for (int steps : {1, 4, 9}) {
        report::axis const a(lo, lo + wide, 10, 110, steps, true);
        // A value that misses a mark by rounding alone counts as on it: 1e-9 of a step, itself at most the range.
        double const slack = 1e-9 * (a.hi() - a.lo());
        CHECK(a.lo() <= lo + slack);
        CHECK(a.hi() >= lo + wide - slack);
        CHECK(a(a.lo()) == 10);
        CHECK(std::abs(a(a.hi()) - 110) < 1e-9);
        CHECK(a.marks().size() <= static_cast<std::size_t>(steps) + 3);
      }
}

TEST_CASE("a line chart shows its series, gaps and single points", "[report]") {
  report::chart c;
  c.title = "a < b & \"c\"";
  c.x_name = "step";
  c.y_name = "loss (nats)";
  c.series = {{"one", {{0, 1}, {1, 2}, {2, not_a_number}, {3, 1}, {4, 2}}}, {"two", {{1, 1.5}}}};
  std::string const t = report::line_chart(c);
  CHECK(count(t, "<polyline") == 2);
  CHECK(count(t, "<circle") == 1);
  CHECK(count(t, "a &lt; b &amp; &quot;c&quot;") == 2);
  for (char const* word : {">step<", ">loss (nats)<", ">one<", ">two<", "prefers-color-scheme:dark"})
    CHECK(count(t, word) == 1);
  CHECK(count(t, "nan") == 0);
  CHECK(t == report::line_chart(c));
  CHECK(fingerprint(t) == 0xbff922ff7f07a3afULL);
}

TEST_CASE("a chart without data says so", "[report]") {
  report::chart c;
  CHECK(count(report::line_chart(c), "no data") == 1);
  c.series = {{"a", {{0, not_a_number}, {inf, 1}}}};
  CHECK(count(report::line_chart(c), "no data") == 1);
}

TEST_CASE("a long series is thinned to what can be seen, and keeps its extremes", "[report]") {
  report::chart_series s{"a", {}};
  for (int i = 0; i < 200000; ++i) s.points.push_back({static_cast<double>(i), i == 77777 ? 50.0 : i % 7});
  report::chart c;
  c.series = {s};
  std::string const t = report::line_chart(c);
  CHECK(t.size() < 100000);
  report::axis const y(0, 50, c.height - 50, 36 + 18 + 26, 6, true);
  CHECK(count(t, "," + report::fixed(y(50), 2) + " ") == 1);
}

TEST_CASE("a timeline has a box for each operation and a key for each kind that occurs", "[report]") {
  pl::schedule const s = pl::one_forward_one_backward(3, 4, pl::backward_form::split);
  report::timeline const t = report::schedule_timeline(s, pl::simulate(s, pl::costs({1, 1, 1})), "1F1B");
  CHECK(t.note == "numbers are microbatches; the step takes 16, and devices idle 25 % of it");
  std::string const picture = report::timeline_chart(t);
  CHECK(count(picture, "<rect") == 3 * 4 * 3 + 3);
  CHECK(count(picture, "class=\"label\"") == 36);
  CHECK(count(picture, ">device 2<") == 1);
  CHECK(count(picture, "BW backward") == 0);
  CHECK(count(picture, "<title>F forward 3, 9 to 10</title>") == 1);
  CHECK(fingerprint(picture) == 0x5aa8601a8cb0966aULL);
}

TEST_CASE("messages are not drawn, stages are named where a device has several", "[report]") {
  pl::schedule const s = pl::gpipe(2, 2);
  auto boxes = [](report::timeline const& t) {
    std::size_t n = 0;
    for (auto const& row : t.rows) n += row.boxes.size();
    return n;
  };
  pl::schedule const lowered = pl::lower(s, {{}, true});
  CHECK(boxes(report::schedule_timeline(lowered, pl::simulate(lowered, pl::costs({1, 1, 1, 0})), "")) == 8);
  CHECK(boxes(report::schedule_timeline(lowered, pl::simulate(lowered, pl::costs({1, 1, 1, 2})), "")) == 10);
  pl::schedule two(1, 2, 1);
  for (auto kind : {pl::op_kind::forward, pl::op_kind::backward})
    for (int v : {0, 1}) two.on(0).push_back({kind, kind == pl::op_kind::forward ? v : 1 - v, 0});
  CHECK(report::schedule_timeline(two, pl::simulate(two, pl::costs()), "").rows[0].boxes[1].label == "1.0");
}

TEST_CASE("labels of a kind share a size, or are left out where few would fit", "[report]") {
  report::timeline t;
  t.kinds = {"wide", "narrow", "tiny"};
  t.rows.emplace_back("r");
  for (int i = 0; i < 10; ++i) {
    t.rows[0].boxes.emplace_back(i * 100, i * 100 + 40, 0, "12");
    t.rows[0].boxes.emplace_back(i * 100 + 40, i * 100 + 56, 1, "12");
    t.rows[0].boxes.emplace_back(i * 100 + 56, i * 100 + 58, 2, "12");
  }
  t.rows[0].boxes.emplace_back(990, 1000, 9, "unknown kind");
  std::string const picture = report::timeline_chart(t);
  CHECK(count(picture, "class=\"label\"") == 20);
  CHECK(count(picture, "font-size=\"9\"") == 10);
  CHECK(count(report::timeline_chart({}), "<rect") == 0);
}
