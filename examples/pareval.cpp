// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The sixty problems of ParEval (Nichols et al., HPDC 2024), each as a short function over any executor: how much code
// a parallel program needs. The functions are in pareval/<category>.hpp; each is checked against a plain loop.

#include "pareval/problem.hpp"

#include <heddle/exec/openmp_executor.hpp>
#include <heddle/exec/reference_executor.hpp>
#include <heddle/exec/serial_executor.hpp>
#include <heddle/exec/threads_executor.hpp>

#include <support/flags.hpp>

#include <cstdio>

namespace pareval {
namespace {

struct options {
  std::string problem = "all";
  std::string executor = "threads";
  index_t size = 1000;
  int threads = 3;
  bool list = false;
  bool check = false;
};

void declare(examples::flags& f, options& o) {
  f.text("problem", &o.problem, "NAME", "a problem, a category, or all");
  f.choice("executor", &o.executor, {"reference", "serial", "threads", "openmp"}, "what runs it");
  f.number("size", &o.size, "elements, or rows of a matrix; at most what a problem's check can afford", 0, 1 << 24);
  f.number("threads", &o.threads, "of the threads and OpenMP executors", 1, 1024);
  f.toggle("list", &o.list, "only prints the names");
  f.toggle("check", &o.check, "runs every size, kind of input and executor, and counts what is right");
}

std::vector<problem> all_problems() {
  std::vector<problem> all;
  for (auto const& category : {dense_la_problems(), fft_problems(), geometry_problems(), graph_problems(),
                               histogram_problems(), reduce_problems(), scan_problems(), search_problems(),
                               sort_problems(), sparse_la_problems(), stencil_problems(), transform_problems()})
    all.insert(all.end(), category.begin(), category.end());
  return all;
}

std::vector<problem> chosen_problems(std::string const& name) {
  std::vector<problem> chosen;
  for (problem const& p : all_problems())
    if (name == "all" || name == p.category || name == p.name) chosen.push_back(p);
  if (chosen.empty()) throw examples::usage_error("no problem is called '" + name + "': see --list");
  return chosen;
}

/// The executors that a run may name.
class executors {
 public:
  explicit executors(int threads)
      : threads_(threads),
#if defined(_OPENMP)
        openmp_(threads),
#endif
        plain_(reference_) {
  }

  static std::vector<std::string> names() {
#if defined(_OPENMP)
    return {"reference", "serial", "threads", "openmp"};
#else
    return {"reference", "serial", "threads"};
#endif
  }

  /// One check on the executor of that name: what is wrong, or nothing.
  std::string run(std::string const& name, problem const& p, index_t n, shape s, double& seconds) {
    std::mt19937 const random(static_cast<unsigned>(n * 8 + static_cast<index_t>(s)));
    if (name == "reference") return run_on(plain_, p.on_reference, n, s, random, seconds);
    cpu_executor exec(serial_);
    if (name == "threads") exec = cpu_executor(threads_);
#if defined(_OPENMP)
    if (name == "openmp") exec = cpu_executor(openmp_);
#endif
    return run_on(exec, p.on_cpu, n, s, random, seconds);
  }

 private:
  template <class E>
  static std::string run_on(E& exec, std::string (*check)(trial<E>&), index_t n, shape s, std::mt19937 const& random,
                            double& seconds) {
    trial<E> t{exec, n, s, random};
    try {
      std::string const wrong = check(t);
      seconds += t.seconds;
      return wrong;
    } catch (std::exception const& e) {
      return std::string("it throws: ") + e.what();
    }
  }

  heddle::reference_executor reference_;
  heddle::serial_executor serial_;
  heddle::threads_executor threads_;
#if defined(_OPENMP)
  heddle::openmp_executor openmp_;
#endif
  oracle_executor plain_;
};

/// Prints what is wrong with a problem, if something is.
bool report(problem const& p, std::string const& executor, index_t n, shape s, std::string const& wrong) {
  if (!wrong.empty())
    std::printf("%s/%s on %s, size %lld, %s: %s\n", p.category, p.name, executor.c_str(), static_cast<long long>(n),
                name_of(s), wrong.c_str());
  return wrong.empty();
}

/// Every legal size and kind of input on every executor, up to the first difference on each.
bool is_solved(executors& on, problem const& p) {
  constexpr index_t sizes[] = {0, 1, 2, 3, 4, 5, 7, 16, 33, 64, 100, 255, 1000, 4096, 4097, 20000};
  bool right = true;
  for (std::string const& executor : executors::names()) {
    bool ok = true;
    for (index_t n : sizes)
      for (shape s : all_shapes) {
        double seconds = 0;
        if (ok && n >= p.least && n <= p.most) ok = report(p, executor, n, s, on.run(executor, p, n, s, seconds));
      }
    right = right && ok;
  }
  return right;
}

int check_all(std::vector<problem> const& problems, executors& on) {
  int solved = 0;
  for (problem const& p : problems) solved += is_solved(on, p) ? 1 : 0;
  std::printf("evidence pareval.solved %d problems\n", solved);
  return solved == static_cast<int>(problems.size()) ? 0 : 1;
}

int run_each(std::vector<problem> const& problems, executors& on, options const& o) {
  bool right = true;
  for (problem const& p : problems) {
    index_t const n = std::clamp(o.size, p.least, p.most);
    double seconds = 0;
    bool const ok = report(p, o.executor, n, shape::random, on.run(o.executor, p, n, shape::random, seconds));
    std::printf("%-10s %-28s size %8lld  %10.3f ms  %s\n", p.category, p.name, static_cast<long long>(n), 1e3 * seconds,
                ok ? "right" : "WRONG");
    right = right && ok;
  }
  return right ? 0 : 1;
}

int run(int argc, char** argv) {
  options o;
  examples::flags f("Sixty problems of parallel programming, from ParEval (Nichols et al. 2024), each in a few lines.");
  declare(f, o);
  f.parse(argc, argv);
  std::vector<problem> const problems = chosen_problems(o.problem);
  if (o.list) {
    for (problem const& p : problems) std::printf("%-10s %s\n", p.category, p.name);
    return 0;
  }
  std::vector<std::string> const names = executors::names();
  if (std::find(names.begin(), names.end(), o.executor) == names.end())
    throw examples::usage_error("--executor " + o.executor + ": this program was built without OpenMP");
  executors on(o.threads);
  return o.check ? check_all(problems, on) : run_each(problems, on, o);
}

}  // namespace
}  // namespace pareval

int main(int argc, char** argv) { return examples::run_main(argc, argv, pareval::run); }
