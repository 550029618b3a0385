// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/contracts.hpp>

#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>

namespace heddle::report {

/// Writes a number with at most `decimals` places and no trailing zeros. Determinism: the same bytes on every machine.
HEDDLE_FN std::string fixed(double value, int decimals) {
  if (value - value != 0) return value != value ? "nan" : value > 0 ? "inf" : "-inf";
  char digits[512];
  std::to_chars_result const r =
      std::to_chars(digits, digits + sizeof digits, value, std::chars_format::fixed, decimals);
  std::string t(digits, r.ptr);
  if (t.find('.') != std::string::npos) {
    while (t.back() == '0') t.pop_back();
    if (t.back() == '.') t.pop_back();
  }
  return t == "-0" ? "0" : t;
}

/// A text for XML; control characters, which XML lacks, become spaces.
HEDDLE_FN std::string escape_xml(std::string_view text) {
  std::string t;
  for (char c : text) {
    if (c == '&')
      t += "&amp;";
    else if (c == '<')
      t += "&lt;";
    else if (c == '>')
      t += "&gt;";
    else if (c == '"')
      t += "&quot;";
    else
      t += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return t;
}

/// About how wide a text is in the pictures' font. Units: pixels.
HEDDLE_FN double text_width(std::string_view text, double size) noexcept {
  double n = 0;
  for (char c : text) n += (static_cast<unsigned char>(c) & 0xc0U) != 0x80U ? 1 : 0;
  return n * size * 0.6;
}

/// Colours of series and kinds: white text is legible on each, and each stands out on white and on dark pages.
inline constexpr char const* palette[] = {"#3573b9", "#c2410c", "#2e8048", "#8b5cc9",
                                          "#b0377b", "#0f7f8c", "#8a6d1a", "#6b7280"};
inline constexpr int palette_size = 8;

/// A picture under construction. Units: pixels, y downwards. The page shows through: nothing is painted behind.
///
/// Texts and lines take a grey that is legible on white and on black, and the full contrast of the page where the
/// viewer tells which it is (`prefers-color-scheme`). Opened by itself it has the canvas of that scheme.
class svg {
 public:
  HEDDLE_FN svg(double width, double height, std::string_view title) : width_(width), height_(height), title_(title) {}
  HEDDLE_FN svg(svg const&) = default;
  HEDDLE_FN svg(svg&&) noexcept = default;
  HEDDLE_FN svg& operator=(svg const&) = default;
  HEDDLE_FN svg& operator=(svg&&) noexcept = default;
  HEDDLE_FN ~svg() = default;

  HEDDLE_FN void line(double x1, double y1, double x2, double y2, char const* style) {
    body_ += "<line class=\"" + std::string(style) + "\" x1=\"" + at(x1) + "\" y1=\"" + at(y1) + "\" x2=\"" + at(x2) +
             "\" y2=\"" + at(y2) + "\"/>\n";
  }
  /// `hint` is shown when the pointer rests on the box.
  HEDDLE_FN void box(double x, double y, double w, double h, char const* fill, std::string_view hint = {}) {
    body_ +=
        "<rect x=\"" + at(x) + "\" y=\"" + at(y) + "\" width=\"" + at(w) + "\" height=\"" + at(h) + "\" fill=\"" + fill;
    body_ += hint.empty() ? "\"/>\n" : "\"><title>" + escape_xml(hint) + "</title></rect>\n";
  }
  HEDDLE_FN void dot(double x, double y, double r, char const* fill) {
    body_ += "<circle cx=\"" + at(x) + "\" cy=\"" + at(y) + "\" r=\"" + at(r) + "\" fill=\"" + fill + "\"/>\n";
  }
  /// `points` is what `point` gives, joined.
  HEDDLE_FN void polyline(std::string_view points, char const* stroke) {
    body_ += "<polyline fill=\"none\" stroke-width=\"1.8\" stroke-linejoin=\"round\" stroke=\"" + std::string(stroke) +
             "\" points=\"" + std::string(points) + "\"/>\n";
  }
  static HEDDLE_FN std::string point(double x, double y) { return at(x) + "," + at(y) + " "; }

  /// `anchor` is start, middle or end; `style` is ink, soft or label (white, for boxes).
  HEDDLE_FN void text(double x, double y, std::string_view t, double size, char const* anchor = "start",
                      char const* style = "ink") {
    body_ += "<text class=\"" + std::string(style) + "\" x=\"" + at(x) + "\" y=\"" + at(y) + "\" font-size=\"" +
             at(size) + "\" text-anchor=\"" + anchor + "\">" + escape_xml(t) + "</text>\n";
  }

  HEDDLE_FN std::string finish() const {
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + at(width_) + "\" height=\"" + at(height_) +
           "\" viewBox=\"0 0 " + at(width_) + " " + at(height_) +
           "\" role=\"img\" style=\"background:none\" font-family=\"DejaVu Sans, Verdana, Helvetica, Arial, "
           "sans-serif\">\n<title>" +
           escape_xml(title_) + "</title>\n<style>" + style() + "</style>\n" + body_ + "</svg>\n";
  }

 private:
  static HEDDLE_FN std::string at(double v) { return fixed(v, 2); }
  static HEDDLE_FN char const* style() noexcept {
    return "\n:root{color-scheme:light dark}\n.ink{fill:#767676}.soft{fill:#767676}.label{fill:#fff}"
           ".axis{stroke:#808080;stroke-width:1}.grid{stroke:#808080;stroke-width:1;stroke-opacity:.25}\n"
           "@media (prefers-color-scheme:light){.ink{fill:#1f2328}.soft{fill:#59636e}}\n"
           "@media (prefers-color-scheme:dark){.ink{fill:#e6edf3}.soft{fill:#9aa4ae}}\n";
  }

  double width_;
  double height_;
  std::string title_;
  std::string body_;
};

}  // namespace heddle::report
