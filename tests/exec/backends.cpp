// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/exec/backends.hpp>

#include <support/catch.hpp>
#include <support/executors.hpp>

namespace {
struct probe_fn {
  template <class E>
  static void generic(E& exec, int* out) {
    exec.for_each_tile(1, [out](heddle::index_t, int) { *out = 1; });
  }
};
}  // namespace

// A row of the grid: a tuned form for the cpu backend only.
namespace heddle {
HEDDLE_DECLARE_KERNEL(::probe_fn, cpu_tag, "tests/exec/backends.cpp");
template <>
struct kernel<::probe_fn, cpu_tag> {
  template <class E>
  static void run(E& exec, int* out) {
    exec.for_each_tile(1, [out](index_t, int) { *out = 2; });
  }
};
}  // namespace heddle

using namespace heddle;

TEMPLATE_LIST_TEST_CASE("the backend of the executor decides which form runs", "[exec]", test::executor_cases) {
  TestType setup;
  auto& exec = setup.exec;
  int form = 0;
  run_kernel<probe_fn>(exec, &form);
  exec.synchronize();
  using backend = typename std::remove_reference_t<decltype(exec)>::backend;
  CHECK(form == (std::same_as<backend, cpu_tag> ? 2 : 1));
}
