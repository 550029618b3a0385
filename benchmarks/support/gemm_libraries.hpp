// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// How each library's product is called, with the core that it is forced to. A library decides on its core when it is
/// loaded, so each stands in a process of its own (support/peers.hpp).

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

extern char** environ;

namespace heddle::bench {

/// One product of row-major operands, each perhaps stored transposed.
struct gemm_shape {
  int m = 0, n = 0, k = 0;
  bool at = false, bt = false;
};

struct peer_config {
  char const* library;   ///< openblas, blis, onednn, or the stem of a module of peers/
  char const* variable;  ///< environment variable that forces a core, or null
  char const* core;
};
inline constexpr peer_config peer_configs[] = {
    {"openblas", nullptr, "automatic"},
    {"openblas", "OPENBLAS_CORETYPE", "SkylakeX"},
    {"openblas", "OPENBLAS_CORETYPE", "Cooperlake"},
    {"openblas", "OPENBLAS_CORETYPE", "Haswell"},
    {"blis", nullptr, "automatic"},
    {"blis", "BLIS_ARCH_TYPE", "skx"},
    {"onednn", nullptr, "automatic"},
    {"gemm_libxsmm", nullptr, "just in time"},
    {"gemm_eigen", nullptr, "march=native"},
};

namespace detail {

/// Calls one library. The C signatures are those of BLAS (column-major, all by address), of dnnl_sgemm (row-major), and
/// of `heddle_peer_sgemm`, which the modules of peers/ export.
class gemm_library {
 public:
  explicit gemm_library(peer_config const& config) {
    clean_environment();
    if (config.variable) setenv(config.variable, config.core, 1);
    std::string const name = config.library;
    if (name == "openblas") {
      open({"libopenblas.so.0", "libopenblas.so"});
      set_threads_ = find<void (*)(int)>("openblas_set_num_threads");
    } else if (name == "blis") {
      open({"libblis.so.4", "libblis.so"});
      set_threads_long_ = find<void (*)(long)>("bli_thread_set_num_threads");
    } else if (name == "onednn") {
      open({"libdnnl.so.2", "libdnnl.so.3", "libdnnl.so"});
      onednn_ = find<onednn_function>("dnnl_sgemm");
      set_threads_ = find<void (*)(int)>("omp_set_num_threads");
    } else {
      open({(HEDDLE_BENCH_PEERS + ("/" + name + ".so")).c_str()});
      module_ = find<module_function>("heddle_peer_sgemm");
    }
    blas_ = find<gemm_function>("sgemm_");
    gemv_ = find<gemv_function>("sgemv_");
  }

  bool loaded() const {
    return module_ || (set_threads_ && onednn_) || (blas_ && gemv_ && (set_threads_ || set_threads_long_));
  }

  void set_threads(int threads) {
    threads_ = threads;
    if (set_threads_) set_threads_(threads);
    if (set_threads_long_) set_threads_long_(threads);
  }

  /// False where the library has nothing for the shape.
  bool run(gemm_shape const& s, float const* a, float const* b, float* c) const {
    float const one = 1, zero = 0;
    int const lda = s.at ? s.m : s.k, ldb = s.bt ? s.k : s.n, step = 1;
    if (module_) return module_(s.m, s.n, s.k, s.at, s.bt, a, b, c, threads_);
    if (onednn_) return onednn_(s.at ? 'T' : 'N', s.bt ? 'T' : 'N', s.m, s.n, s.k, 1, a, lda, b, ldb, 0, c, s.n) == 0;
    // Column-major libraries see the transposed problem.
    if (s.m == 1 && s.bt)
      gemv_("T", &s.k, &s.n, &one, b, &ldb, a, &step, &zero, c, &step);
    else if (s.m == 1)
      gemv_("N", &s.n, &s.k, &one, b, &ldb, a, &step, &zero, c, &step);
    else
      blas_(s.bt ? "T" : "N", s.at ? "T" : "N", &s.n, &s.m, &s.k, &one, b, &ldb, a, &lda, &zero, c, &s.n);
    return true;
  }

 private:
  using gemm_function = void (*)(char const*, char const*, int const*, int const*, int const*, float const*,
                                 float const*, int const*, float const*, int const*, float const*, float*, int const*);
  using gemv_function = void (*)(char const*, int const*, int const*, float const*, float const*, int const*,
                                 float const*, int const*, float const*, float*, int const*);
  using onednn_function = int (*)(char, char, long, long, long, float, float const*, long, float const*, long, float,
                                  float*, long);
  using module_function = bool (*)(int, int, int, bool, bool, float const*, float const*, float*, int);

  static void clean_environment() {
    for (bool again = true; again;) {
      again = false;
      for (char** e = environ; *e && !again; ++e)
        for (char const* prefix : {"OPENBLAS_", "BLIS_", "DNNL_", "ONEDNN_", "LIBXSMM_", "OMP_", "GOMP_"})
          if (std::strncmp(*e, prefix, std::strlen(prefix)) == 0) {
            unsetenv(std::string(*e, std::strcspn(*e, "=")).c_str());
            again = true;
            break;
          }
    }
  }
  void open(std::initializer_list<char const*> names) {
    for (char const* name : names)
      if (!library_) library_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  }
  template <class F>
  F find(char const* name) const {
    return library_ ? reinterpret_cast<F>(dlsym(library_, name)) : nullptr;
  }

  void* library_ = nullptr;
  gemm_function blas_ = nullptr;
  gemv_function gemv_ = nullptr;
  onednn_function onednn_ = nullptr;
  module_function module_ = nullptr;
  void (*set_threads_)(int) = nullptr;
  void (*set_threads_long_)(long) = nullptr;
  int threads_ = 1;
};

}  // namespace detail
}  // namespace heddle::bench
