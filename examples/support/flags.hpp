// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Command-line flags of the example programs, bound to the members of an options struct.

#include <heddle/core/contracts.hpp>
#include <heddle/core/error.hpp>

#include <charconv>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <limits>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fcntl.h>

namespace examples {

/// The command line can't be used: one line that names the flag and says what to do. Exit status 2.
class usage_error : public std::exception {
 public:
  explicit usage_error(std::string what) : what_(std::move(what)) {}
  char const* what() const noexcept override { return what_.c_str(); }

 private:
  std::string what_;
};

/// `--help` was asked for; `what()` is the whole text. Exit status 0.
class help_wanted : public usage_error {
 public:
  using usage_error::usage_error;
};

/// A number as people write it: the shortest form that reads back.
template <class T>
std::string number_text(T value) {
  char digits[64];
  return std::string(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

/// Declares flags, then reads a command line. What a member holds at declaration is its default.
///
///     options o;
///     examples::flags f("Trains a small decoder on text files.");
///     f.list("data", &o.data, "PATH", "text files").required();
///     f.number("steps", &o.steps, "optimizer steps", 1, 1000000);
///     f.choice("schedule", &o.schedule, {"gpipe", "1f1b"}, "order of pipeline work");
///     f.toggle("bf16", &o.bf16, "store activations in bf16");
///     f.parse(argc, argv);
///
/// Accepts `--name value`, `--name=value`, `--toggle`, `--no-toggle`, and `--list a b c` up to the next flag.
class flags {
 public:
  explicit flags(std::string purpose) : purpose_(std::move(purpose)) {}
  flags(flags const&) = delete;
  flags& operator=(flags const&) = delete;

  /// A number of the member's type, in [lo, hi].
  template <class T>
    requires(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>)
  flags& number(char const* name, T* value, char const* help,
                std::type_identity_t<T> lo = std::numeric_limits<T>::lowest(),
                std::type_identity_t<T> hi = std::numeric_limits<T>::max()) {
    entry& e = add(name, help, std::is_integral_v<T> ? "N" : "X", number_text(*value), value);
    e.lo = number_text(lo);
    e.hi = number_text(hi);
    e.bounded = lo != std::numeric_limits<T>::lowest() || hi != std::numeric_limits<T>::max();
    e.read = [](entry const& self, std::string_view t) {
      T parsed{}, least{}, most{};
      std::from_chars(self.lo.data(), self.lo.data() + self.lo.size(), least);
      std::from_chars(self.hi.data(), self.hi.data() + self.hi.size(), most);
      std::from_chars_result const r = std::from_chars(t.data(), t.data() + t.size(), parsed);
      bool const too_big = r.ec == std::errc::result_out_of_range;
      if (!too_big && (r.ec != std::errc() || r.ptr != t.data() + t.size() || parsed != parsed))
        return quoted(t) + " is not a " + (std::is_integral_v<T> ? "whole " : "") + "number";
      if (too_big || !(parsed >= least && parsed <= most))
        return std::string(t) + " is out of range; give a number from " + self.lo + " to " + self.hi;
      *static_cast<T*>(self.value) = parsed;
      return std::string();
    };
    return *this;
  }

  /// Any text but none. `what` stands for it in the help, like PATH or DIR.
  flags& text(char const* name, std::string* value, char const* what, char const* help) {
    add(name, help, what, *value, value).read = [](entry const& self, std::string_view t) {
      if (t.empty()) return "the value is empty; give --" + self.name + " " + self.what;
      *static_cast<std::string*>(self.value) = std::string(t);
      return std::string();
    };
    return *this;
  }

  /// One text of a few.
  flags& choice(char const* name, std::string* value, std::vector<std::string> const& choices, char const* help) {
    std::string all;
    for (std::string const& c : choices) all += (all.empty() ? "" : "|") + c;
    entry& e = add(name, help, all, *value, value);
    e.choices = choices;
    e.read = [](entry const& self, std::string_view t) {
      for (std::string const& c : self.choices)
        if (c == t) {
          *static_cast<std::string*>(self.value) = c;
          return std::string();
        }
      return quoted(t) + " is not one of " + self.what;
    };
    return *this;
  }

  /// Several texts, none of them empty; those on the command line replace the default.
  flags& list(char const* name, std::vector<std::string>* values, char const* what, char const* help) {
    std::string shown;
    for (std::string const& v : *values) shown += (shown.empty() ? "" : " ") + v;
    entry& e = add(name, help, std::string(what) + "...", shown, values);
    e.is_list = true;
    e.read = [](entry const& self, std::string_view t) {
      if (t.empty()) return "a value is empty; give --" + self.name + " " + self.what;
      auto& all = *static_cast<std::vector<std::string>*>(self.value);
      if (!self.seen) all.clear();
      all.emplace_back(t);
      return std::string();
    };
    return *this;
  }

  /// On or off: `--name` and `--no-name`.
  flags& toggle(char const* name, bool* value, char const* help) {
    add(name, help, "", *value ? "on" : "", value).is_toggle = true;
    return *this;
  }

  /// The flag that was declared last must be given.
  flags& required() {
    entries_.back().is_required = true;
    return *this;
  }

  /// Whether the command line named the flag.
  bool given(std::string_view name) const {
    for (entry const& e : entries_)
      if (e.name == name) return e.seen;
    return false;
  }

  /// Fills the members. Errors: usage_error at the first flag that is wrong, help_wanted for --help and -h.
  void parse(int argc, char const* const* argv) {
    std::vector<std::string_view> words(argv + (argc > 0 ? 1 : 0), argv + argc);
    for (std::string_view w : words)
      if (w == "--help" || w == "-h") throw help_wanted(help(argc > 0 ? argv[0] : "program"));
    for (std::size_t at = 0; at < words.size();) parse_flag(words, at);
    for (entry const& e : entries_)
      if (e.is_required && !e.seen) throw usage_error("--" + e.name + " is missing: give --" + e.name + " " + e.what);
  }

  std::string help(std::string_view program) const {
    std::string t = "usage: " + std::string(base_name(program)) + " [flags]\n\n" + wrapped(purpose_, 80) + "\n";
    for (entry const& e : entries_) {
      std::string left = "  --" + e.name + (e.what.empty() ? "" : " " + e.what);
      if (left.size() > 28)
        t += left + "\n" + std::string(30, ' ');
      else
        t += left + std::string(30 - left.size(), ' ');
      t += e.help;
      if (e.bounded) t += ", " + e.lo + " to " + e.hi;
      if (e.is_required)
        t += " (required)";
      else if (!e.shown_default.empty())
        t += " [" + e.shown_default + "]";
      t += '\n';
    }
    return t + "  --help                      this text\n";
  }

  static std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

 private:
  struct entry {
    std::string name, help, what, shown_default, lo, hi;
    std::vector<std::string> choices;
    void* value = nullptr;
    std::string (*read)(entry const&, std::string_view) = nullptr;  // returns what is wrong, or nothing
    bool is_list = false, is_toggle = false, is_required = false, bounded = false, seen = false;
  };

  static std::string quoted(std::string_view t) { return "'" + std::string(t) + "'"; }

  entry& add(char const* name, char const* help, std::string what, std::string shown, void* value) {
    HEDDLE_EXPECTS(!find(name), "a flag is declared once", name);
    entry e;
    e.name = name;
    e.help = help;
    e.what = std::move(what);
    e.shown_default = std::move(shown);
    e.value = value;
    entries_.push_back(std::move(e));
    return entries_.back();
  }

  entry* find(std::string_view name) {
    for (entry& e : entries_)
      if (e.name == name) return &e;
    return nullptr;
  }

  void parse_flag(std::vector<std::string_view> const& words, std::size_t& at) {
    std::string_view word = words[at++];
    if (word.substr(0, 2) != "--") throw usage_error(quoted(word) + " is no flag: flags start with --; see --help");
    std::size_t const equals = word.find('=');
    std::string_view const name = word.substr(2, equals == std::string_view::npos ? equals : equals - 2);
    entry* const off = name.substr(0, 3) == "no-" ? find(name.substr(3)) : nullptr;
    entry* const e = off && off->is_toggle ? off : find(name);
    if (!e) throw usage_error("--" + std::string(name) + " is no flag" + suggestion(name) + "; see --help");
    if (e->seen && !e->is_list) throw usage_error("--" + e->name + " is given twice: give it once");
    if (e->is_toggle) {
      if (equals != std::string_view::npos)
        throw usage_error("--" + std::string(name) + " takes no value: leave it out");
      *static_cast<bool*>(e->value) = e != off;
    } else if (equals != std::string_view::npos) {
      take(*e, word.substr(equals + 1));
    } else {
      if (at == words.size() || words[at].substr(0, 2) == "--")
        throw usage_error("--" + e->name + " needs a value: give --" + e->name + " " + e->what);
      do take(*e, words[at++]);
      while (e->is_list && at < words.size() && words[at].substr(0, 2) != "--");
    }
    e->seen = true;
  }

  static void take(entry& e, std::string_view value) {
    std::string const wrong = e.read(e, value);
    if (!wrong.empty()) throw usage_error("--" + e.name + ": " + wrong);
    e.seen = true;
  }

  // The nearest flag, if at most two letters (one in short names) are wrong.
  std::string suggestion(std::string_view name) const {
    entry const* best = nullptr;
    std::size_t least = name.size() < 4 ? 2 : 3;
    for (entry const& e : entries_)
      if (std::size_t const d = distance(name, e.name); d < least) {
        least = d;
        best = &e;
      }
    return best ? "; did you mean --" + best->name + "?" : "";
  }

  // Letters to insert, delete or replace.
  static std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j < row.size(); ++j) row[j] = j;
    for (std::size_t i = 0; i < a.size(); ++i) {
      std::size_t diagonal = row[0];
      row[0] = i + 1;
      for (std::size_t j = 0; j < b.size(); ++j) {
        std::size_t const replace = diagonal + (a[i] == b[j] ? 0 : 1);
        diagonal = row[j + 1];
        std::size_t const shift = (row[j] < row[j + 1] ? row[j] : row[j + 1]) + 1;
        row[j + 1] = replace < shift ? replace : shift;
      }
    }
    return row.back();
  }

  static std::string wrapped(std::string_view text, std::size_t columns) {
    std::string t;
    std::size_t column = 0;
    for (std::size_t at = 0; at < text.size();) {
      std::size_t end = text.find(' ', at);
      if (end == std::string_view::npos) end = text.size();
      if (column > 0 && column + 1 + (end - at) > columns) {
        t += '\n';
        column = 0;
      }
      if (column > 0) t += ' ', ++column;
      t += text.substr(at, end - at);
      column += end - at;
      at = end + 1;
    }
    return t + "\n";
  }

  std::string purpose_;
  std::vector<entry> entries_;
};

namespace detail {
/// A standard stream that was closed would give its number to the next file that is opened, and what is printed would
/// go there. It gets what refuses to be used instead.
inline void occupy_standard_streams() {
  for (int number : {0, 1, 2})
    if (::fcntl(number, F_GETFD) < 0 && ::open("/dev/null", number == 0 ? O_WRONLY : O_RDONLY) < 0) return;
}
}  // namespace detail

/// Runs `f(argc, argv)` and turns what it throws into one line on stderr and an exit status: 2 for usage, 130 where the
/// user interrupted, 1 for any other failure; --help prints to stdout and gives 0. Output that stdout did not take is a
/// failure, and so is a file beyond the process's limit, which would else end the process by a signal.
template <class F>
int run_main(int argc, char** argv, F const& f) {
  auto report = [&](char const* what, int status) {
    std::string line(what);
    while (!line.empty() && line.back() == '\n') line.pop_back();
    for (char& c : line) c = c == '\n' ? ' ' : c;
    std::string const program(flags::base_name(argc > 0 ? argv[0] : "program"));
    std::fprintf(stderr, "%s: %s\n", program.c_str(), line.c_str());
    return status;
  };
  auto finish = [&](int status) {
    bool const lost = std::fflush(stdout) != 0 || std::ferror(stdout) != 0;
    if (!lost || status != 0) return status;
    return report("can't write to the standard output: free some space or send it elsewhere", 1);
  };
  std::signal(SIGXFSZ, SIG_IGN);
  detail::occupy_standard_streams();
  try {
    return finish(f(argc, argv));
  } catch (help_wanted const& h) {
    std::fputs(h.what(), stdout);
    return finish(0);
  } catch (usage_error const& e) {
    return report(e.what(), 2);
  } catch (heddle::error const& e) {
    return report(e.what(), e.code() == heddle::errc::interrupted ? 130 : 1);
  } catch (std::bad_alloc const&) {
    return report("out of memory: choose smaller sizes", 1);
  } catch (std::exception const& e) {
    return report(e.what(), 1);
  }
}

}  // namespace examples
