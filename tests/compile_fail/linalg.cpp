// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/backend/reference/matmul.hpp>
#include <heddle/core/bf16.hpp>
#include <heddle/core/fp8.hpp>
#include <heddle/core/tensor.hpp>
#include <heddle/exec/reference_executor.hpp>
#include <heddle/linalg/gemv.hpp>
#include <heddle/linalg/grouped_matmul.hpp>

namespace {

using namespace heddle;

struct operands {
  view<float const, 2> a;
  view<double const, 2> wide;
  view<int const, 2> whole;
  view<float, 2> c;
  view<float, 1> y;
  view<float, 3> batch;
  tensor_view<float, extents<4, 6>> four_by_six;
  tensor_view<float, extents<5, 4>> five_by_four;
};

[[maybe_unused]] void right(reference_executor& exec, operands const& o) {
  matmul(exec, o.a, o.a, o.c);
  matmul(exec, transpose(o.four_by_six), o.four_by_six, o.c);
  gemv(exec, o.a, o.y, o.y);
}

// expect mixed_elements: matmul_results
#if defined(case_mixed_elements)
void wrong(reference_executor& exec, operands const& o) { matmul(exec, o.a, o.wide, o.c); }
#endif

// expect whole_numbers: matmul_results
#if defined(case_whole_numbers)
void wrong(reference_executor& exec, operands const& o) { matmul(exec, o.whole, o.whole, o.c); }
#endif

// expect narrow_result: matmul_results
#if defined(case_narrow_result)
void wrong(reference_executor& exec, operands const& o, view<bf16, 2> c) { matmul(exec, o.wide, o.wide, c); }
#endif

// expect groups_of_bytes: grouped_elements
#if defined(case_groups_of_bytes)
void wrong(reference_executor& exec, view<std::int8_t const, 2> a, view<std::int8_t const, 3> b,
           view<index_t const, 1> offsets, view<std::int32_t, 2> c) {
  grouped_matmul(exec, a, b, offsets, c);
}
#endif

// expect groups_of_codes: grouped_elements
#if defined(case_groups_of_codes)
void wrong(reference_executor& exec, view<float const, 2> a, view<fp8_e4m3 const, 2> b,
           view<index_t const, 1> offsets, view<float, 3> c) {
  grouped_matmul_weight(exec, a, b, offsets, c);
}
#endif

// expect result_is_const: writable_view
#if defined(case_result_is_const)
void wrong(reference_executor& exec, operands const& o) { matmul(exec, o.a, o.a, o.a); }
#endif

// expect matrix_with_batch: rank\(\)
#if defined(case_matrix_with_batch)
void wrong(reference_executor& exec, operands const& o) { matmul(exec, o.a, o.batch, o.c); }
#endif

// expect matrix_as_vector: vector_view
#if defined(case_matrix_as_vector)
void wrong(reference_executor& exec, operands const& o) { gemv(exec, o.a, o.c, o.y); }
#endif

// expect static_extents_differ: the columns of a must be the rows of b
#if defined(case_static_extents_differ)
void wrong(reference_executor& exec, operands const& o) { matmul(exec, o.four_by_six, o.five_by_four, o.c); }
#endif

// expect static_rows_differ: y must have the rows of a
#if defined(case_static_rows_differ)
void wrong(reference_executor& exec, operands const& o, tensor_view<float, extents<3>> y) {
  gemv(exec, o.four_by_six, o.y, y);
}
#endif

// A temporary that owns its memory is gone before queued work runs.
// expect temporary_operand: deleted
#if defined(case_temporary_operand)
tensor<float, 2> made();
void wrong(reference_executor& exec, operands const& o) { matmul(exec, made().view(), o.c, o.c); }
#endif

// expect no_form: this operation has no form on the executor's backend
#if defined(case_no_form)
struct odd_executor : reference_executor {
  using backend = struct odd_tag;
};
void wrong(odd_executor& exec, operands const& o) { matmul(exec, o.a, o.a, o.c); }
#endif

// expect first epilogue_of_numbers: an epilogue takes numbers and vectors: write
#if defined(case_epilogue_of_numbers)
void wrong(reference_executor& exec, operands const& o) {
  matmul(exec, o.a, o.a, o.c, {}, [](float v, index_t, index_t, index_t) { return v; });
}
#endif

// expect first epilogue_of_one_argument: an epilogue takes numbers and vectors: write
#if defined(case_epilogue_of_one_argument)
void wrong(reference_executor& exec, operands const& o) {
  matmul(exec, o.a, o.a, o.c, {}, [](auto const& v) HEDDLE_LAMBDA { return v; });
}
#endif

}  // namespace
