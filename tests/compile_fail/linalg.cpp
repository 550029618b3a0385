// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/backend/cpu/matmul.hpp>
#include <heddle/exec/serial_executor.hpp>

namespace {

using namespace heddle;

using matrix = view<float, 2>;

[[maybe_unused]] void right(serial_executor& exec, matrix a) {
  matmul(exec, a, a, a, {}, [](auto const& v, index_t, index_t, index_t) HEDDLE_LAMBDA { return v; });
}

// expect first epilogue_of_numbers: an epilogue takes numbers and vectors: write
#if defined(case_epilogue_of_numbers)
void wrong(serial_executor& exec, matrix a) {
  matmul(exec, a, a, a, {}, [](float v, index_t, index_t, index_t) { return v; });
}
#endif

// expect first epilogue_of_one_argument: an epilogue takes numbers and vectors: write
#if defined(case_epilogue_of_one_argument)
void wrong(serial_executor& exec, matrix a) {
  matmul(exec, a, a, a, {}, [](auto const& v) HEDDLE_LAMBDA { return v; });
}
#endif

}  // namespace
