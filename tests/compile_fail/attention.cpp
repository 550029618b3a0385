// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/attention/backward.hpp>
#include <heddle/attention/forward.hpp>
#include <heddle/attention/merge.hpp>
#include <heddle/exec/reference_executor.hpp>
#include <heddle/exec/serial_executor.hpp>

namespace {

using namespace heddle;

struct operands {
  view<float const, 3> q;
  view<double const, 3> wide;
  view<float, 3> out;
  view<float, 2> lse;
};

// The least that a mask is; each case below takes one member away.
struct least {
  bool visible(index_t, index_t) const { return true; }
#if !defined(case_without_kv_range)
  attention::block kv_range(attention::block k) const { return k; }
#endif
#if !defined(case_without_kind)
  attention::block_kind kind(attention::block, attention::block) const { return attention::block_kind::partial; }
#endif
#if defined(case_mask_that_owns)
  ~least() {}
#endif
};

// expect without_kv_range: m\.kv_range\(b\)
// expect without_kind: m\.kind\(b, ?b\)
// expect mask_that_owns: is_trivially_copyable
[[maybe_unused]] void right(reference_executor& exec, operands const& o) {
  attention::forward(exec, o.q, o.q, o.q, o.out, o.lse, attention::options<least>{});
}

// expect mixed_elements: q, k and v have one element type
#if defined(case_mixed_elements)
void wrong(reference_executor& exec, operands const& o) { attention::forward(exec, o.q, o.wide, o.q, o.out, o.lse); }
#endif

// expect wide_inputs_narrow_sums: lse is float, or double for double inputs
#if defined(case_wide_inputs_narrow_sums)
void wrong(reference_executor& exec, operands const& o) {
  attention::forward(exec, o.wide, o.wide, o.wide, o.out, o.lse);
}
#endif

// expect out_is_const: writable_view
#if defined(case_out_is_const)
void wrong(reference_executor& exec, operands const& o) { attention::forward(exec, o.q, o.q, o.q, o.q, o.lse); }
#endif

// expect matrix_as_heads: rank\(\)
#if defined(case_matrix_as_heads)
void wrong(reference_executor& exec, operands const& o) { attention::forward(exec, o.lse, o.q, o.q, o.out, o.lse); }
#endif

// expect large_mask: this mask is too large to be queued
#if defined(case_large_mask)
struct table : least {
  bool seen[600] = {};
};
void wrong(reference_executor& exec, operands const& o) {
  attention::forward(exec, o.q, o.q, o.q, o.out, o.lse, attention::with_mask(table{}));
}
#endif

// A tuned form that is declared must be included; the message names the header.
// expect undeclared_forward: #include <heddle/backend/cpu/attention_forward\.hpp>
#if defined(case_undeclared_forward)
void wrong(serial_executor& exec, operands const& o) { attention::forward(exec, o.q, o.q, o.q, o.out, o.lse); }
#endif

// expect undeclared_backward: #include <heddle/backend/cpu/attention_backward\.hpp>
#if defined(case_undeclared_backward)
void wrong(serial_executor& exec, operands const& o) {
  attention::backward(exec, o.q, o.q, o.q, o.q, o.lse, o.q, o.out, o.out, o.out);
}
#endif

}  // namespace
