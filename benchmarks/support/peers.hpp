// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// BLAS libraries of the machine as peers, each in a child process with an environment of its own: the core that a
/// library takes is decided when it is loaded.

#include <support/gemm_libraries.hpp>
#include <support/timing.hpp>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <memory>
#include <string>

namespace heddle::bench {

namespace detail {

struct request {
  enum { prepare, run, quit } what = quit;
  gemm_shape shape;
  int threads = 1, repetitions = 1;
};

inline bool read_all(int from, void* to, std::size_t n) {
  for (std::size_t done = 0; done < n;) {
    ssize_t const got = ::read(from, static_cast<char*>(to) + done, n - done);
    if (got <= 0) return false;
    done += static_cast<std::size_t>(got);
  }
  return true;
}
inline bool write_all(int to, void const* from, std::size_t n) {
  return ::write(to, from, n) == static_cast<ssize_t>(n);
}

/// What runs in the child.
class peer_server {
 public:
  explicit peer_server(peer_config const& config) : library_(config) {}

  bool loaded() const { return library_.loaded(); }

  /// Fills the operands, runs once, and says whether sampled elements are within the error bound.
  bool prepare(gemm_shape const& s) {
    shape_ = s;
    a_ = random_floats(static_cast<std::size_t>(s.m) * static_cast<std::size_t>(s.k), 1);
    b_ = random_floats(static_cast<std::size_t>(s.k) * static_cast<std::size_t>(s.n), 2);
    c_.assign(static_cast<std::size_t>(s.m) * static_cast<std::size_t>(s.n), __builtin_nanf(""));
    library_.set_threads(1);
    if (!library_.run(shape_, a_.data(), b_.data(), c_.data())) return false;
    for (std::size_t i = 0; i < 64; ++i)
      if (!right(i * 2654435761u % c_.size())) return false;
    return true;
  }

  /// Seconds per call, the mean of the repetitions.
  double seconds(int threads, int repetitions) {
    library_.set_threads(threads);
    double const start = now(watch_for(threads));
    for (int i = 0; i < repetitions; ++i) library_.run(shape_, a_.data(), b_.data(), c_.data());
    return (now(watch_for(threads)) - start) / repetitions;
  }

 private:
  bool right(std::size_t at) const {
    auto const m = static_cast<std::size_t>(shape_.m), n = static_cast<std::size_t>(shape_.n),
               k = static_cast<std::size_t>(shape_.k), i = at / n, j = at % n;
    double sum = 0, size = 0;
    for (std::size_t d = 0; d < k; ++d) {
      double const x = static_cast<double>(a_[shape_.at ? d * m + i : i * k + d]) *
                       static_cast<double>(b_[shape_.bt ? j * k + d : d * n + j]);
      sum += x, size += std::fabs(x);
    }
    double const ku = static_cast<double>(k) * 0x1p-24;
    return std::fabs(static_cast<double>(c_[at]) - sum) <= ku / (1 - ku) * size;
  }

  gemm_library library_;
  gemm_shape shape_;
  std::vector<float> a_, b_, c_;
};

[[noreturn]] inline void serve_peer(peer_config const& config, int in, int out) {
  peer_server server(config);
  char ok = server.loaded();
  write_all(out, &ok, 1);
  request r;
  while (ok && read_all(in, &r, sizeof r) && r.what != request::quit) {
    if (r.what == request::prepare) {
      char const right = server.prepare(r.shape);
      write_all(out, &right, 1);
    } else {
      double const t = server.seconds(r.threads, r.repetitions);
      write_all(out, &t, sizeof t);
    }
  }
  _exit(0);
}

}  // namespace detail

/// One library with one core in a child process. Made before this process starts threads.
class peer {
 public:
  explicit peer(peer_config const& config) : name_(std::string(config.library) + " (" + config.core + ")") {
    int to[2], from[2];
    if (pipe(to) != 0 || pipe(from) != 0) return;
    child_ = fork();
    if (child_ == 0) {
      close(to[1]), close(from[0]);
      detail::serve_peer(config, to[0], from[1]);
    }
    close(to[0]), close(from[1]);
    to_ = to[1], from_ = from[0];
    char ok = 0;
    usable_ = detail::read_all(from_, &ok, 1) && ok;
    pause();
  }
  peer(peer const&) = delete;
  peer& operator=(peer const&) = delete;
  ~peer() {
    // Said, because later children hold copies of this pipe.
    detail::request const r{detail::request::quit, {}, 1, 1};
    go_on();
    if (usable_) detail::write_all(to_, &r, sizeof r);
    close(to_), close(from_);
    if (child_ > 0) waitpid(child_, nullptr, 0);
  }

  bool usable() const { return usable_; }
  std::string const& name() const { return name_; }

  /// False where the library gives wrong numbers, or ends.
  bool prepare(gemm_shape const& s) {
    char ok = 0;
    detail::request const r{detail::request::prepare, s, 1, 1};
    go_on();
    usable_ = usable_ && detail::write_all(to_, &r, sizeof r) && detail::read_all(from_, &ok, 1);
    pause();
    return usable_ && ok;
  }
  /// Seconds per call, the mean of the repetitions.
  double seconds(int threads, int repetitions = 1) {
    double t = HUGE_VAL;
    detail::request const r{detail::request::run, {}, threads, repetitions};
    go_on();
    usable_ = usable_ && detail::write_all(to_, &r, sizeof r) && detail::read_all(from_, &t, sizeof t);
    pause();
    return t;
  }

 private:
  // The library's threads spin between its calls: stopped, they leave the cores to whoever is measured.
  void pause() const {
    if (child_ > 0) kill(child_, SIGSTOP);
  }
  void go_on() const {
    if (child_ > 0) kill(child_, SIGCONT);
  }

  std::string name_;
  pid_t child_ = -1;
  int to_ = -1, from_ = -1;
  bool usable_ = false;
};

/// Every library and core that this machine can load.
inline std::vector<std::unique_ptr<peer>> find_peers() {
  signal(SIGPIPE, SIG_IGN);
  std::vector<std::unique_ptr<peer>> found;
  for (peer_config const& c : peer_configs) {
    auto p = std::make_unique<peer>(c);
    if (p->usable()) found.push_back(std::move(p));
  }
  return found;
}

}  // namespace heddle::bench
