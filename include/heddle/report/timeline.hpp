// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/report/axis.hpp>
#include <heddle/report/line_chart.hpp>
#include <heddle/report/svg.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace heddle::report {

/// One stretch of work. Units: those of the timeline.
struct timeline_box {
  double start = 0;
  double end = 0;
  int kind = 0;       ///< index into the timeline's kinds
  std::string label;  ///< shown where it fits

  HEDDLE_FN timeline_box() = default;
  HEDDLE_FN timeline_box(double s, double e, int k, std::string l) : start(s), end(e), kind(k), label(std::move(l)) {}
  HEDDLE_FN timeline_box(timeline_box const&) = default;
  HEDDLE_FN timeline_box(timeline_box&&) noexcept = default;
  HEDDLE_FN timeline_box& operator=(timeline_box const&) = default;
  HEDDLE_FN timeline_box& operator=(timeline_box&&) noexcept = default;
  HEDDLE_FN ~timeline_box() = default;
};

/// A device or rank and what it did.
struct timeline_row {
  std::string name;
  std::vector<timeline_box> boxes;

  HEDDLE_FN timeline_row() = default;
  HEDDLE_FN explicit timeline_row(std::string n) : name(std::move(n)) {}
  HEDDLE_FN timeline_row(timeline_row const&) = default;
  HEDDLE_FN timeline_row(timeline_row&&) noexcept = default;
  HEDDLE_FN timeline_row& operator=(timeline_row const&) = default;
  HEDDLE_FN timeline_row& operator=(timeline_row&&) noexcept = default;
  HEDDLE_FN ~timeline_row() = default;
};

/// What `timeline_chart` draws.
struct timeline {
  std::string title;
  std::string note;                ///< a line below the title
  std::string time_name = "time";  ///< with its unit: "time (ms)"
  std::vector<std::string> kinds;  ///< for the legend, in the order of the palette
  std::vector<timeline_row> rows;
  double width = 960;

  HEDDLE_FN timeline() = default;
  HEDDLE_FN timeline(timeline const&) = default;
  HEDDLE_FN timeline(timeline&&) noexcept = default;
  HEDDLE_FN timeline& operator=(timeline const&) = default;
  HEDDLE_FN timeline& operator=(timeline&&) noexcept = default;
  HEDDLE_FN ~timeline() = default;
};

namespace detail {
// How many boxes of each kind there are, and in how many the label fits at either size.
struct label_fit {
  int boxes, at_12, at_9;

  /// One size for a kind, so that its boxes look alike; none where too few labels would show.
  HEDDLE_FN double size() const noexcept { return 5 * at_12 >= 4 * boxes ? 12 : 5 * at_9 >= 4 * boxes ? 9 : 0; }
};

HEDDLE_FN std::size_t kind_of(timeline const& t, timeline_box const& b) noexcept {
  bool const known = b.kind >= 0 && static_cast<std::size_t>(b.kind) < t.kinds.size();
  return known ? static_cast<std::size_t>(b.kind) : t.kinds.size();
}

// A gap of a pixel keeps neighbours apart, as long as there is something left to see.
HEDDLE_FN double shown_width(timeline_box const& b, axis const& x) noexcept {
  double const wide = x(b.end) - x(b.start);
  return wide > 3 ? wide - 1 : wide > 0.5 ? wide : 0.5;
}

HEDDLE_FN bool label_fits(timeline_box const& b, axis const& x, double size) noexcept {
  return text_width(b.label, size) + size / 6 <= shown_width(b, x);
}

HEDDLE_FN std::vector<label_fit> fit_labels(timeline const& t, axis const& x) {
  std::vector<label_fit> fits(t.kinds.size() + 1);
  for (timeline_row const& row : t.rows)
    for (timeline_box const& b : row.boxes) {
      label_fit& f = fits[kind_of(t, b)];
      ++f.boxes;
      f.at_12 += label_fits(b, x, 12) ? 1 : 0;
      f.at_9 += label_fits(b, x, 9) ? 1 : 0;
    }
  return fits;
}

HEDDLE_FN void draw_row(svg& picture, timeline const& t, timeline_row const& row, axis const& x,
                        std::vector<label_fit> const& fits, double top, double high) {
  for (timeline_box const& b : row.boxes) {
    std::size_t const kind = kind_of(t, b);
    std::string const hint = (kind < t.kinds.size() ? t.kinds[kind] + " " : "") + b.label + ", " + fixed(b.start, 3) +
                             " to " + fixed(b.end, 3);
    double const wide = shown_width(b, x), size = fits[kind].size();
    picture.box(x(b.start), top, wide, high, palette[kind < t.kinds.size() ? kind % palette_size : palette_size - 1],
                hint);
    if (size > 0 && label_fits(b, x, size))
      picture.text(x(b.start) + wide / 2, top + high / 2 + size / 3, b.label, size, "middle", "label");
  }
}

HEDDLE_FN bounds time_of(timeline const& t) noexcept {
  bounds time;
  time.take(0);
  for (timeline_row const& row : t.rows)
    for (timeline_box const& b : row.boxes) {
      time.take(b.start);
      time.take(b.end);
    }
  return time;
}

// The kinds that occur, with their colours.
HEDDLE_FN std::vector<std::pair<std::string, char const*>> keys_of(timeline const& t) {
  std::vector<char> used(t.kinds.size() + 1, 0);
  for (timeline_row const& row : t.rows)
    for (timeline_box const& b : row.boxes) used[kind_of(t, b)] = 1;
  std::vector<std::pair<std::string, char const*>> keys;
  for (std::size_t k = 0; k < t.kinds.size(); ++k)
    if (used[k]) keys.emplace_back(t.kinds[k], palette[k % palette_size]);
  return keys;
}
}  // namespace detail

/// Draws rows of boxes over a time axis, with a legend of the kinds that occur. Returns the SVG text.
///
/// Determinism: the same bytes for the same numbers, on every machine. Complexity: O(boxes).
HEDDLE_FN std::string timeline_chart(timeline const& t) {
  double const high = 26, pitch = 32;
  detail::bounds const time = detail::time_of(t);
  auto const keys = detail::keys_of(t);
  double widest = 0;
  for (timeline_row const& row : t.rows) {
    double const w = text_width(row.name, 12);
    widest = w > widest ? w : widest;
  }
  // The height depends on the rows of the legend, which only drawing it tells.
  svg trial(0, 0, "");
  double const legend_top = t.note.empty() ? 36 : 54;
  double const top = legend_top + detail::draw_legend(trial, keys, 12, 0, t.width - 12) + 8;
  double const bottom = top + pitch * static_cast<double>(t.rows.size());
  double const left = 24 + widest, right = t.width - 22;
  svg picture(t.width, bottom + 48, t.title);
  picture.text(12, 22, t.title, 15);
  if (!t.note.empty()) picture.text(12, 42, t.note, 12, "start", "soft");
  detail::draw_legend(picture, keys, 12, legend_top, t.width - 12);
  axis const x(time.lo, time.hi, left, right, static_cast<int>((right - left) / 70), false);
  for (double m : x.marks()) {
    picture.line(x(m), top, x(m), bottom, "grid");
    picture.text(x(m), bottom + 18, x.label(m), 12, "middle", "soft");
  }
  std::vector<detail::label_fit> const fits = detail::fit_labels(t, x);
  for (std::size_t r = 0; r < t.rows.size(); ++r) {
    double const y = top + pitch * static_cast<double>(r);
    picture.text(left - 10, y + high / 2 + 4, t.rows[r].name, 12, "end", "ink");
    detail::draw_row(picture, t, t.rows[r], x, fits, y, high);
  }
  picture.line(left, bottom, right, bottom, "axis");
  picture.text(left + (right - left) / 2, bottom + 37, t.time_name, 12, "middle", "ink");
  return picture.finish();
}

}  // namespace heddle::report
