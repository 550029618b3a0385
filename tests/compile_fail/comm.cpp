// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/comm/counting.hpp>
#include <heddle/comm/exchanges.hpp>
#include <heddle/comm/reductions.hpp>
#include <heddle/exec/reference_executor.hpp>
#include <heddle/mesh/mesh.hpp>

namespace {

using namespace heddle;

// The least that a transport is; each case below takes one member away.
struct least {
#if !defined(case_without_rank)
  int rank() const { return 0; }
#endif
#if !defined(case_without_size)
  int size() const { return 1; }
#endif
#if !defined(case_without_send)
  void send(int, channel, const_bytes) {}
#endif
#if !defined(case_without_receive)
  void receive(int, channel, mutable_bytes) {}
#endif
};

// expect without_rank: c\.rank\(\)
// expect without_size: c\.size\(\)
// expect without_send: c\.send\(peer, ?key, ?out\)
// expect without_receive: c\.receive\(peer, ?key, ?in\)
[[maybe_unused]] void right(least& comm, reference_executor& exec, view<float const, 1> in, view<float, 1> out) {
  all_reduce(comm, exec, in, out);
}

// expect result_is_const: writable_view
#if defined(case_result_is_const)
void wrong(least& comm, reference_executor& exec, view<float const, 1> in) { all_reduce(comm, exec, in, in); }
#endif

// expect operation_of_another_type: reduction_for
#if defined(case_operation_of_another_type)
struct join {
  char const* operator()(char const* a, char const*) const { return a; }
};
void wrong(least& comm, reference_executor& exec, view<float, 1> v) { all_reduce(comm, exec, v, v, join{}); }
#endif

// A mesh needs groups along its axes.
// expect mesh_without_split: splittable_communicator
#if defined(case_mesh_without_split)
[[maybe_unused]] mesh<least>* wrong;
#endif

}  // namespace
