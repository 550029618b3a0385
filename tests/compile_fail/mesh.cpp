// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/mesh/box.hpp>
#include <heddle/mesh/propagate.hpp>

namespace {

using namespace heddle;
using sum = partial<red::sum>;

[[maybe_unused]] matmul_placement<shard<0>, varying> rows;
[[maybe_unused]] matmul_placement<shard<1>, shard<0>> term;

// The data-parallel weight must be varying in use, else its gradient misses the all-reduce.
// expect replicated_weight_on_sharded_rows: redistribute<varying> it first
#if defined(case_replicated_weight_on_sharded_rows)
[[maybe_unused]] matmul_placement<shard<0>, replicated> wrong;
#endif

// expect replicated_input_of_column_parallel: redistribute<varying> it first
#if defined(case_replicated_input_of_column_parallel)
[[maybe_unused]] matmul_placement<replicated, shard<1>> wrong;
#endif

// expect product_of_sums: a partial sum can't be multiplied
#if defined(case_product_of_sums)
[[maybe_unused]] matmul_placement<sum, sum> wrong;
#endif

// expect contraction_sharded_in_one: the contracted dimension must be sharded in both
#if defined(case_contraction_sharded_in_one)
[[maybe_unused]] matmul_placement<shard<1>, varying> wrong;
#endif

// expect rows_and_columns_on_one_axis: would lie on one mesh axis
#if defined(case_rows_and_columns_on_one_axis)
[[maybe_unused]] matmul_placement<shard<0>, shard<1>> wrong;
#endif

// expect layouts_differ: cut differently
#if defined(case_layouts_differ)
[[maybe_unused]] matmul_placement<shard<1>, shard<0, layout::ceil>> wrong;
#endif

// expect bias_on_partial_sum: would be added once per rank
#if defined(case_bias_on_partial_sum)
[[maybe_unused]] add_placement<sum, replicated> wrong;
#endif

// expect replicated_with_varying: redistribute<varying> it first
#if defined(case_replicated_with_varying)
[[maybe_unused]] add_placement<replicated, varying> wrong;
#endif

// expect activation_of_partial_sum: a non-linear operation on a partial sum
#if defined(case_activation_of_partial_sum)
[[maybe_unused]] nonlinear_placement<sum> wrong;
#endif

// expect two_partial_operations: two different partial operations
#if defined(case_two_partial_operations)
[[maybe_unused]] spec<sum, partial<red::max>> wrong;
#endif

// expect six_axes: a mesh has five axes
#if defined(case_six_axes)
[[maybe_unused]] spec<resident, varying, varying, varying, varying, varying> wrong;
#endif

// A parameter is never varying or a sum at rest.
// expect varying_leaf: constraints? not satisfied|not satisfy
#if defined(case_varying_leaf)
[[maybe_unused]] in_use<spec<resident, varying>> wrong;
#endif

// expect dual_of_max: constraints? not satisfied|constraint failure|not satisfy|because
#if defined(case_dual_of_max)
[[maybe_unused]] dual<partial<red::max>> wrong;
#endif

// expect cyclic_cut: use layout::balanced or layout::ceil
#if defined(case_cyclic_cut)
[[maybe_unused]] segment const wrong = cut<layout::cyclic>(4, 2, 0);
#endif

}  // namespace
