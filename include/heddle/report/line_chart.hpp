// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/report/axis.hpp>
#include <heddle/report/svg.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace heddle::report {

/// A point of a chart, in the units of its axes.
struct chart_point {
  double x = 0;
  double y = 0;
};

/// One line of a chart. A point that is not finite interrupts the line.
struct chart_series {
  std::string name;
  std::vector<chart_point> points;

  HEDDLE_FN chart_series() = default;
  HEDDLE_FN chart_series(std::string n, std::vector<chart_point> p) : name(std::move(n)), points(std::move(p)) {}
  HEDDLE_FN chart_series(chart_series const&) = default;
  HEDDLE_FN chart_series(chart_series&&) noexcept = default;
  HEDDLE_FN chart_series& operator=(chart_series const&) = default;
  HEDDLE_FN chart_series& operator=(chart_series&&) noexcept = default;
  HEDDLE_FN ~chart_series() = default;
};

/// What `line_chart` draws. Axis names carry their unit: "loss (nats per byte)".
struct chart {
  std::string title;
  std::string x_name;
  std::string y_name;
  std::vector<chart_series> series;
  double width = 720;
  double height = 400;

  HEDDLE_FN chart() = default;
  HEDDLE_FN chart(chart const&) = default;
  HEDDLE_FN chart(chart&&) noexcept = default;
  HEDDLE_FN chart& operator=(chart const&) = default;
  HEDDLE_FN chart& operator=(chart&&) noexcept = default;
  HEDDLE_FN ~chart() = default;
};

namespace detail {
HEDDLE_FN bool is_finite(chart_point const& p) noexcept { return p.x - p.x == 0 && p.y - p.y == 0; }

struct bounds {
  double lo, hi;
  HEDDLE_FN bounds() noexcept : lo(1), hi(0) {}
  HEDDLE_FN void take(double v) noexcept {
    bool const first = lo > hi;
    lo = first || v < lo ? v : lo;
    hi = first || v > hi ? v : hi;
  }
};

/// Draws coloured keys from left to right, in as many rows as they need. Returns the height that they took.
HEDDLE_FN double draw_legend(svg& picture, std::vector<std::pair<std::string, char const*>> const& keys, double left,
                             double top, double right) {
  double x = left, y = top;
  for (auto const& [name, colour] : keys) {
    double const wide = 16 + text_width(name, 12) + 18;
    if (x > left && x + wide > right) {
      x = left;
      y += 18;
    }
    picture.box(x, y, 11, 11, colour);
    picture.text(x + 16, y + 10, name, 12);
    x += wide;
  }
  return keys.empty() ? 0 : y + 18 - top;
}

// More points than a picture can show are reduced to the first, lowest, highest and last of each half pixel, in order.
HEDDLE_FN std::string line_points(std::vector<chart_point> const& run, axis const& x, axis const& y) {
  std::string t;
  auto draw = [&](chart_point const& p) { t += svg::point(x(p.x), y(p.y)); };
  for (std::size_t i = 0; i < run.size();) {
    auto const cell = static_cast<long long>(2 * x(run[i].x));
    std::size_t end = i, low = i, high = i;
    for (; end < run.size() && static_cast<long long>(2 * x(run[end].x)) == cell; ++end) {
      if (run[end].y < run[low].y) low = end;
      if (run[end].y > run[high].y) high = end;
    }
    std::size_t const kept[] = {i, low < high ? low : high, low < high ? high : low, end - 1};
    for (std::size_t k = 0; k < 4; ++k)
      if (k == 0 || kept[k] != kept[k - 1]) draw(run[kept[k]]);
    i = end;
  }
  if (!t.empty()) t.pop_back();
  return t;
}

HEDDLE_FN void draw_series(svg& picture, chart_series const& s, axis const& x, axis const& y, char const* colour) {
  std::vector<chart_point> run;
  auto flush = [&] {
    if (run.size() == 1) picture.dot(x(run[0].x), y(run[0].y), 3, colour);
    if (run.size() > 1) picture.polyline(line_points(run, x, y), colour);
    run.clear();
  };
  for (chart_point const& p : s.points) {
    if (is_finite(p))
      run.push_back(p);
    else
      flush();
  }
  flush();
}

HEDDLE_FN void draw_axes(svg& picture, chart const& c, axis const& x, axis const& y, double left, double right,
                         double top, double bottom) {
  for (double m : y.marks()) {
    picture.line(left, y(m), right, y(m), "grid");
    picture.text(left - 8, y(m) + 4, y.label(m), 12, "end", "soft");
  }
  for (double m : x.marks()) {
    picture.line(x(m), bottom, x(m), bottom + 5, "axis");
    picture.text(x(m), bottom + 19, x.label(m), 12, "middle", "soft");
  }
  picture.line(left, bottom, right, bottom, "axis");
  picture.line(left, top, left, bottom, "axis");
  double const middle = left + (right - left) / 2;
  picture.text(middle, bottom + 38, c.x_name, 12, "middle", "ink");
  picture.text(12, top - 12, c.y_name, 12, "start", "ink");
}
}  // namespace detail

/// Draws lines over two axes with round marks and a legend. Returns the SVG text.
///
/// Values that are not finite leave gaps; without any point the chart says so. Determinism: the same bytes for the same
/// numbers, on every machine. Complexity: O(points).
HEDDLE_FN std::string line_chart(chart const& c) {
  svg picture(c.width, c.height, c.title);
  detail::bounds xs, ys;
  std::vector<std::pair<std::string, char const*>> keys;
  for (std::size_t i = 0; i < c.series.size(); ++i) {
    keys.emplace_back(c.series[i].name, palette[i % palette_size]);
    for (chart_point const& p : c.series[i].points)
      if (detail::is_finite(p)) {
        xs.take(p.x);
        ys.take(p.y);
      }
  }
  picture.text(12, 22, c.title, 15);
  double const top = 36 + detail::draw_legend(picture, keys, 12, 36, c.width - 12) + 26;
  double const bottom = c.height - 50, right = c.width - 22;
  axis const y(ys.lo, ys.hi, bottom, top, static_cast<int>((bottom - top) / 45), true);
  double widest = 0;
  for (double m : y.marks()) {
    double const w = text_width(y.label(m), 12);
    widest = w > widest ? w : widest;
  }
  double const left = 20 + widest;
  axis const x(xs.lo, xs.hi, left, right, static_cast<int>((right - left) / 80), false);
  detail::draw_axes(picture, c, x, y, left, right, top, bottom);
  for (std::size_t i = 0; i < c.series.size(); ++i)
    detail::draw_series(picture, c.series[i], x, y, palette[i % palette_size]);
  if (xs.lo > xs.hi) picture.text(left + (right - left) / 2, top + (bottom - top) / 2, "no data", 14, "middle", "soft");
  return picture.finish();
}

}  // namespace heddle::report
