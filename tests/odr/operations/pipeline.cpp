// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/comm/transport/thread.hpp>
#include <heddle/mesh/box.hpp>
#include <heddle/mesh/mesh.hpp>
#include <heddle/mesh/runs.hpp>
#include <heddle/pipeline/generate.hpp>
#include <heddle/pipeline/lower.hpp>
#include <heddle/pipeline/simulate.hpp>
#include <heddle/pipeline/slots.hpp>
#include <heddle/pipeline/text_format.hpp>
#include <heddle/pipeline/verify.hpp>

#include <utility>

using namespace heddle;

template class heddle::mesh<thread_communicator>;

template <class T>
static void pass_on(T const& value) {
  T a(value), b(std::move(a));
  a = value;
  b = std::move(a);
}

index_t use_pipeline() {
  namespace pl = heddle::pipeline;
  pl::schedule const s = pl::one_forward_one_backward(2, 4);
  pass_on(s);
  pass_on(pl::verify(s));
  pass_on(pl::slots(s));
  pass_on(pl::simulate(s, pl::costs{}));
  pass_on(pl::simulate(s, [](pl::operation const&) { return index_t{1}; }));
  return s.devices;
}

index_t use_mesh() {
  box<2> const all = whole(dims<2>(4, 4)), part = shard_of<layout::ceil>(all, 0, 2, 0);
  index_t n = owner_of(4, 2, 3) + contains(all, placed<shard<1>>(part, 2, 1)) + erase_rank(intersect(all, part)).size();
  for_each_run(part, all, part, [&n](index_t, index_t, index_t size) { n += size; });
  for_each_box(all, {1, 7}, [&n](auto const& b, index_t) { n += b.size(); });
  return n;
}
