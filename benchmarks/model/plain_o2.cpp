// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// @file
/// What a plain build costs: peers/plain.cpp built with -O2 and with -O3 -march=native, both as child processes that
/// run in turns. Prints evidence plain_o2: time with -O3 -march=native / time with -O2, the geometric mean over a
/// product, attention, a sum and a sort. The bits of every result must be the same.
///
/// Usage: bench_model_plain_o2 [--quick]    with it, three rounds.

#include <support/measure.hpp>
#include <support/plain.hpp>
#include <support/timing.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <thread>

using namespace heddle;

namespace {

/// A program that answers to bytes.
class child {
 public:
  explicit child(std::string const& path) {
    int to[2], from[2];
    if (pipe(to) != 0 || pipe(from) != 0) std::exit(1);
    id_ = fork();
    if (id_ == 0) {
      dup2(to[0], 0), dup2(from[1], 1);
      for (int end : {to[0], to[1], from[0], from[1]}) close(end);
      execl(path.c_str(), path.c_str(), static_cast<char*>(nullptr));
      _exit(1);
    }
    close(to[0]), close(from[1]);
    to_ = to[1], from_ = from[0];
  }
  child(child const&) = delete;
  child& operator=(child const&) = delete;
  ~child() {
    close(to_), close(from_);
    waitpid(id_, nullptr, 0);
  }

  bench::plain_answer ask(int what) {
    timespec const rest{0, 3000000};
    nanosleep(&rest, nullptr);
    char const byte = static_cast<char>(what);
    bench::plain_answer answer{};
    if (write(to_, &byte, 1) != 1 || read(from_, &answer, sizeof answer) != sizeof answer)
      std::puts("a child ended"), std::exit(1);
    return answer;
  }

 private:
  pid_t id_;
  int to_, from_;
};

}  // namespace

int main(int argc, char** argv) {
  bool const quick = argc > 1 && std::strcmp(argv[1], "--quick") == 0;
  std::string const self = argv[0], folder = self.substr(0, self.rfind('/') + 1);
  // The second child holds a copy of the first one's pipe, and is destroyed first.
  child native(folder + "bench_peers_plain_native"), plain(folder + "bench_peers_plain_o2");
  double logarithms = 0;
  int const cases = static_cast<int>(std::size(bench::plain_cases)), rounds = quick ? 3 : 15;
  for (int what = 0; what < cases; ++what) {
    if (plain.ask(what).hash != native.ask(what).hash) return std::puts("the bits of the two builds differ"), 1;
    std::vector<double> us, them;
    for (int r = 0; r < rounds; ++r) us.push_back(plain.ask(what).seconds), them.push_back(native.ask(what).seconds);
    bench::measurement const m{.bench = "model_plain_o2",
                               .name = bench::plain_cases[what],
                               .threads = static_cast<int>(std::thread::hardware_concurrency()),
                               .seconds = bench::median(us),
                               .peers = {{"-O3 -march=native", bench::median(them)}}};
    bench::print_measure(m);
    logarithms += std::log(bench::ratio(m));
  }
  std::printf("evidence plain_o2 %.3f ratio\n", std::exp(logarithms / cases));
}
