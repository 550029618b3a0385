// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// A program that prints one hash per operation: `<operation> <hash>`. Its argument is the number of threads.
/// cmake/checks/bits.py builds it with several compilers and flags, runs it under every instruction set, and compares
/// what it prints. Each file of this folder registers the operations of one folder of include/heddle.

#include <heddle/core/tensor_view.hpp>
#include <heddle/exec/threads_executor.hpp>

#include <support/random.hpp>

#include <cstdio>
#include <cstring>
#include <vector>

namespace heddle::test {

/// Of the executors that the operations run on; set by main.
inline int threads = 1;

/// A dense array with a view, filled from a seed.
template <class T, std::size_t Rank>
struct array {
  std::vector<T> data;
  view<T, Rank> v;

  explicit array(dims<Rank> const& e) : data(static_cast<std::size_t>(e.size())), v(data.data(), e) {}
  array(dims<Rank> const& e, std::uint64_t seed, double lo = -1, double hi = 1) : array(e) {
    fill_random(v, seed, lo, hi);
  }
  array(array const&) = delete;
};

/// Prints the hash (FNV-1a, 64 bits) of bytes. NaNs count as one value: their payload is no promise.
template <class T>
void print_bits(char const* operation, T const* data, index_t n) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (index_t i = 0; i < n; ++i) {
    unsigned char bytes[sizeof(T)];
    if (data[i] == data[i])
      std::memcpy(bytes, &data[i], sizeof(T));
    else
      std::memset(bytes, 0xff, sizeof(T));
    for (unsigned char b : bytes) hash = (hash ^ b) * 0x100000001b3u;
  }
  std::printf("%s %016llx\n", operation, static_cast<unsigned long long>(hash));
}

template <class T, std::size_t Rank>
void print_bits(char const* operation, array<T, Rank> const& a) {
  print_bits(operation, a.data.data(), static_cast<index_t>(a.data.size()));
}

/// A file's operations, called by main in the order of their names.
struct section {
  char const* name;
  void (*run)();
  section* next;
  inline static section* first = nullptr;

  section(char const* n, void (*r)()) : name(n), run(r), next(nullptr) {
    section** at = &first;
    while (*at && std::strcmp((*at)->name, n) < 0) at = &(*at)->next;
    next = *at;
    *at = this;
  }
};

}  // namespace heddle::test
