// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// What the tests of the figures that operations give share.

#include <heddle/exec/observed.hpp>
#include <heddle/exec/plan.hpp>

#include <support/catch.hpp>

#include <cstdint>
#include <type_traits>
#include <vector>

namespace heddle::test {

/// Zeros of any type that views are put on; each call takes its own.
struct memory {
  std::vector<std::vector<double>> pieces;

  template <class T>
  T* take(index_t n) {
    pieces.emplace_back(static_cast<std::size_t>(n + 1));
    return reinterpret_cast<T*>(pieces.back().data());
  }
  template <class T>
  view<T, 1> vector(index_t n) {
    return view<T, 1>(take<std::remove_const_t<T>>(n), dims<1>(n));
  }
  template <class T>
  view<T, 2> matrix(index_t rows, index_t columns) {
    return view<T, 2>(take<std::remove_const_t<T>>(rows * columns), dims<2>(rows, columns));
  }
};

inline view<unsigned char, 1> aligned_bytes(memory& m, index_t n) {
  auto const at = reinterpret_cast<std::uintptr_t>(m.take<unsigned char>(n + 64));
  return view<unsigned char, 1>(reinterpret_cast<unsigned char*>((at + 63) / 64 * 64), dims<1>(n));
}

/// Plans and runs `submit(exec)`; checks what both say, and that as many operations are seen.
template <class E, class Submit>
void expect_work(E& exec, index_t operations, index_t bytes, index_t flops, Submit const& submit) {
  work_plan const planned = plan(exec, [&] { submit(exec); });
  CHECK(planned.bytes_moved == bytes);
  CHECK(planned.flops == flops);
  counter seen;
  observed<E, counter> watched(exec, seen);
  submit(watched);
  watched.synchronize();
  CHECK(seen.operations == operations);
  CHECK(seen.bytes == bytes);
  CHECK(seen.flops == flops);
}

}  // namespace heddle::test
