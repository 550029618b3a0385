// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/extents.hpp>
#include <heddle/report/svg.hpp>

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>

namespace heddle::report {

/// Fields of a progress line, as name=value.
class fields {
 public:
  HEDDLE_FN fields() = default;
  HEDDLE_FN fields(fields const&) = default;
  HEDDLE_FN fields(fields&&) noexcept = default;
  HEDDLE_FN fields& operator=(fields const&) = default;
  HEDDLE_FN fields& operator=(fields&&) noexcept = default;
  HEDDLE_FN ~fields() = default;

  HEDDLE_FN fields& add(std::string_view name, std::string_view value) {
    if (!text_.empty()) text_ += ' ';
    ((text_ += name) += '=') += value;
    return *this;
  }
  /// With exactly `decimals` places, so that the line does not jump.
  HEDDLE_FN fields& add(std::string_view name, double value, int decimals) {
    char digits[64];
    std::snprintf(digits, sizeof digits, "%.*f", decimals, value);
    return add(name, std::string_view(digits));
  }
  HEDDLE_FN fields& add(std::string_view name, index_t value) {
    return add(name, std::string_view(std::to_string(value)));
  }

  HEDDLE_FN std::string const& text() const noexcept { return text_; }

 private:
  std::string text_;
};

/// A span of time for people: 9s, 3m05s, 2h07m, 3d04h. Units: seconds.
HEDDLE_FN std::string duration_text(double seconds) {
  if (!(seconds >= 0) || seconds > 1e9) return "?";
  auto const s = static_cast<long long>(seconds + 0.5);
  auto two = [](long long v) { return std::to_string(100 + v).substr(1); };
  if (s < 60) return std::to_string(s) + "s";
  if (s < 3600) return std::to_string(s / 60) + "m" + two(s % 60) + "s";
  if (s < 86400) return std::to_string(s / 3600) + "h" + two(s / 60 % 60) + "m";
  return std::to_string(s / 86400) + "d" + two(s / 3600 % 24) + "h";
}

/// How a progress line is shown.
struct progress_options {
  enum class style { automatic, terminal, plain };

  HEDDLE_FN progress_options() = default;

  std::FILE* out = stderr;
  style how = style::automatic;  ///< one line that is redrawn on a terminal, else a line now and then
  double plain_seconds = 10;     ///< between two plain lines
  std::string_view unit = "step";
};

/// Tells how far a run is: step=120/500 loss=2.310 rate=4.2/s eta=1m31s.
///
/// Rate and remaining time follow the last 32 updates. Sync: one thread at a time. Errors: none; output that fails is
/// lost.
class progress {
 public:
  HEDDLE_FN explicit progress(index_t total, progress_options const& options = {})
      : total_(total), out_(options.out), plain_seconds_(options.plain_seconds), unit_(options.unit) {
    char const* term = std::getenv("TERM");
    bool const dumb = term && std::string_view(term) == "dumb";
    terminal_ = options.how == progress_options::style::terminal ||
                (options.how == progress_options::style::automatic && !dumb && ::isatty(::fileno(out_)) == 1);
  }
  progress(progress const&) = delete;
  progress& operator=(progress const&) = delete;
  HEDDLE_FN ~progress() { finish(); }

  /// Shows that `done` of all steps are done.
  HEDDLE_FN void update(index_t done, fields const& shown = {}) { update_at(now(), done, shown); }

  /// The same with the time given. Pre: `seconds` never falls. Units: seconds on any clock.
  HEDDLE_FN void update_at(double seconds, index_t done, fields const& shown) {
    sample_[samples_++ % window] = {seconds, done};
    last_ = line(done, shown);
    shown_ = false;
    double const pause = terminal_ ? 0.1 : plain_seconds_;
    if (samples_ > 1 && seconds - last_time_ < pause && done < total_) return;
    last_time_ = seconds;
    show();
  }

  /// Shows the last state and ends the line; safe to call more than once.
  HEDDLE_FN void finish() {
    if (samples_ > 0 && !shown_) show();
    if (terminal_ && samples_ > 0) std::fputc('\n', out_);
    std::fflush(out_);
    samples_ = 0;
  }

  /// Prints a line of its own above the progress line.
  HEDDLE_FN void note(std::string_view text) {
    if (terminal_) std::fputs("\r\x1b[K", out_);
    std::fprintf(out_, "%.*s\n", static_cast<int>(text.size()), text.data());
    if (terminal_ && samples_ > 0) show();
    std::fflush(out_);
  }

 private:
  static constexpr std::size_t window = 32;
  struct sample {
    double seconds;
    index_t done;
  };

  static HEDDLE_FN double now() noexcept {
    timespec t{};
    ::clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
  }

  // Steps per second over the window, or below zero while unknown.
  HEDDLE_FN double rate() const noexcept {
    sample const& newest = sample_[(samples_ - 1) % window];
    sample const& oldest = sample_[samples_ > window ? samples_ % window : 0];
    double const took = newest.seconds - oldest.seconds;
    return took > 0 && newest.done > oldest.done ? static_cast<double>(newest.done - oldest.done) / took : -1;
  }

  HEDDLE_FN std::string line(index_t done, fields const& shown) const {
    std::string t = unit_ + "=" + std::to_string(done) + "/" + std::to_string(total_);
    if (!shown.text().empty()) t += " " + shown.text();
    double const per_second = rate();
    if (per_second <= 0) return t;
    fields speed;
    if (per_second >= 1)
      speed.add("rate", fixed(per_second, per_second < 10 ? 2 : per_second < 100 ? 1 : 0) + "/s");
    else
      speed.add("rate", fixed(60 * per_second, 2) + "/min");
    if (done < total_) speed.add("eta", duration_text(static_cast<double>(total_ - done) / per_second));
    return t + " " + speed.text();
  }

  HEDDLE_FN std::size_t columns() const noexcept {
    winsize size{};
    bool const known = ::ioctl(::fileno(out_), TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
    return known ? static_cast<std::size_t>(size.ws_col) - 1 : 200;
  }

  HEDDLE_FN void show() {
    shown_ = true;
    if (terminal_)
      std::fprintf(out_, "\r%s\x1b[K", last_.substr(0, columns()).c_str());
    else
      std::fprintf(out_, "%s\n", last_.c_str());
    std::fflush(out_);
  }

  index_t total_;
  std::FILE* out_;
  double plain_seconds_;
  std::string unit_;
  bool terminal_ = false;
  bool shown_ = false;
  double last_time_ = 0;
  std::size_t samples_ = 0;
  sample sample_[window]{};
  std::string last_;
};

}  // namespace heddle::report
