// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/pipeline/simulate.hpp>

namespace {

using namespace heddle;

[[maybe_unused]] void right(pipeline::schedule const& s) {
  pipeline::simulate(s, [](pipeline::operation const&) { return index_t{1}; });
}

// expect cost_of_a_kind: operation_cost
#if defined(case_cost_of_a_kind)
void wrong(pipeline::schedule const& s) {
  pipeline::simulate(s, [](pipeline::op_kind) { return index_t{1}; });
}
#endif

}  // namespace
