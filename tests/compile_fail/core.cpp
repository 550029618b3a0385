// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/core/extents.hpp>
#include <heddle/core/tensor.hpp>
#include <heddle/core/tensor_view.hpp>
#include <heddle/exec/serial_executor.hpp>

namespace {

using namespace heddle;

[[maybe_unused]] tensor<float, 1> make(serial_executor& exec) {
  return tensor<float, 1>(exec, exec.scratch().space(), dims<1>(4));
}

// A view of a temporary would outlive the memory.
// expect view_of_temporary: deleted
#if defined(case_view_of_temporary)
auto dangling(serial_executor& exec) { return make(exec).view(); }
#endif

// expect conversion_of_temporary: deleted
#if defined(case_conversion_of_temporary)
view<float, 1> dangling(serial_executor& exec) { return make(exec); }
#endif

// expect static_extents_differ: no matching (function|conversion|constructor)
#if defined(case_static_extents_differ)
extents<4> const four = extents<4>(extents<3>());
#endif

// expect rank_differs: no matching (function|constructor)|could not convert|no viable conversion
#if defined(case_rank_differs)
view<float, 2> grow(view<float, 1> v) { return v; }
#endif

// expect const_is_dropped: no matching (function|constructor)|could not convert|no viable conversion
#if defined(case_const_is_dropped)
view<float, 1> drop(view<float const, 1> v) { return v; }
#endif

// expect too_many_indices: no match
#if defined(case_too_many_indices)
float& at(view<float, 1> v) { return v(1, 2); }
#endif

// expect copied_tensor: deleted
#if defined(case_copied_tensor)
tensor<float, 1> copy(tensor<float, 1> const& t) { return t; }
#endif

// expect tensor_of_owners: a tensor holds trivially copyable elements
#if defined(case_tensor_of_owners)
tensor<tensor<float, 1>, 1> nested;
#endif

// expect select_from_nothing: no matching function
#if defined(case_select_from_nothing)
auto part(view<float, 0> v) { return heddle::select(v, 0, 0); }
#endif

}  // namespace
