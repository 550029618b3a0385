// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// @file
/// Products of indices and strides above 2^31: rows that lie gigabytes apart in memory that is reserved, not used.

#include "problems.hpp"

#include <sys/mman.h>

using namespace heddle;
using namespace heddle::test;
namespace at = heddle::attention;

namespace {

/// Address space for `tokens` rows that are `pitch` elements apart; only pages that are written cost memory.
struct sparse_rows {
  std::size_t bytes;
  void* memory;
  view<float, 3> rows;

  sparse_rows(index_t tokens, index_t heads, index_t columns, index_t pitch)
      : bytes(static_cast<std::size_t>((tokens - 1) * pitch + heads * columns) * sizeof(float)),
        memory(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)),
        rows() {
    REQUIRE(memory != MAP_FAILED);
    rows = {static_cast<float*>(memory), dims<3>(tokens, heads, columns), pitch, columns, 1};
  }
  sparse_rows(sparse_rows const&) = delete;
  sparse_rows& operator=(sparse_rows const&) = delete;
  ~sparse_rows() { munmap(memory, bytes); }

  void set(array<float> const& a) {
    for (index_t t = 0; t < a.a; ++t)
      for (index_t h = 0; h < a.b; ++h)
        for (index_t d = 0; d < a.c; ++d) rows(t, h, d) = a(t, h, d);
  }
  bool equals(array<float> const& a) const {
    for (index_t t = 0; t < a.a; ++t)
      for (index_t h = 0; h < a.b; ++h)
        for (index_t d = 0; d < a.c; ++d)
          if (rows(t, h, d) != a(t, h, d)) return false;
    return true;
  }
};

}  // namespace

TEMPLATE_LIST_TEST_CASE("rows further apart than 2^31 elements", "[attention]", executor_cases) {
  TestType setup;
  auto& exec = setup.exec;
  index_t const pitch = 225304 * index_t{9728};  // above 2^31
  shape const s{3, 3, 2, 1, 8, 4};
  problem<float> p(s, 3);
  p.forward(exec, at::options<>{});
  p.backward(exec, at::options<>{});
  sparse_rows q(3, 2, 8, pitch), k(3, 1, 8, pitch), v(3, 1, 4, pitch), out(3, 2, 4, pitch), dq(3, 2, 8, pitch),
      dk(3, 1, 8, pitch);
  q.set(p.q), k.set(p.k), v.set(p.v);
  array<float> lse(2, 3), dv(3, 1, 4);
  at::forward(exec, q.rows, k.rows, v.rows, out.rows, lse.numbers());
  at::backward(exec, q.rows, k.rows, v.rows, out.rows, lse.numbers(), p.dout.rows(), dq.rows, dk.rows, dv.rows());
  exec.synchronize();
  REQUIRE(out.equals(p.out));
  REQUIRE(same_bits(lse, p.lse));
  REQUIRE(dq.equals(p.dq));
  REQUIRE(dk.equals(p.dk));
  REQUIRE(same_bits(dv, p.dv));
}
