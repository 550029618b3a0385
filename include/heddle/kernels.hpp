// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// The kernels that the CMake target heddle::kernels holds, so that the files of a project need not each compile them:
/// those of matmul, attention, the layers and Adam over the usual element types, whatever the executor.
///
/// Nobody includes this by hand: linking heddle::kernels defines HEDDLE_KERNELS, the tags of the library's own flags,
/// and tile/targets.hpp then reads the declarations below. A file whose flags give it another HEDDLE_TAG calls
/// functions of another name; for it nothing is declared here, and it compiles its kernels itself.

#include <heddle/core/scalar.hpp>
#include <heddle/tile/targets.hpp>

#if defined(HEDDLE_KERNELS)

namespace heddle {

struct gelu_tanh_value;
struct swiglu_value;
struct gelu_erf_value;
struct no_epilogue;
namespace epilogue {
template <class>
struct add_bias;
}
namespace cpu {
template <class>
struct inputs;
template <class, class, class>
struct output;
struct bf16_words;
template <class>
struct strided;
namespace detail {
template <class>
struct word_size_body;
template <class>
struct word_product;
template <class>
struct word_body;
template <class>
struct word_rows_body;
template <class>
struct word_panels_body;
template <class>
struct decode_rows_body;
template <class, class>
struct decode_product;
template <class>
struct decode_body;
template <class>
struct decode_order_body;
template <class>
struct chain_body;
template <class>
struct add_body;
template <int>
struct stream_body;
struct dot_body;
struct pack_body;
template <class>
struct operand_lines;
struct store_body;
struct tile_size_body;
struct panel_size_body;
template <class>
struct direct_tiles;
template <class>
struct direct_body;
template <class>
struct panel_product;
template <class, class, int>
struct panel_body;
struct lines_ahead;
template <class>
struct float_decode;
template <class>
struct float_decode_body;
template <class, class>
struct panel_pass;
template <class, class>
struct panel_pass_body;
}  // namespace detail
}  // namespace cpu

namespace attention::detail {
struct forward_body;
struct forward_pairs_body;
struct delta_body;
struct query_gradient_body;
struct key_gradient_body;
template <class>
struct any_rules;
struct query_tile;
struct key_tile;
template <class>
struct head_rows;
template <class, class, class, class>
struct forward_operands;
template <class, class, class>
struct delta_rows;
template <class, class>
struct backward_operands;
template <class>
struct gradients;
}  // namespace attention::detail

template <class>
struct plus;
struct gelu_tanh_value;
struct gelu_erf_value;
namespace tile {
struct pass_fn;
namespace detail {
template <class>
struct cpu_tile;
}
}  // namespace tile

namespace nn::detail {
template <class, class>
struct softmax_program;
template <class, class, class>
struct softmax_backward_program;
template <class, class, class>
struct layer_norm_program;
template <class, class, class, class>
struct layer_norm_backward_program;
template <class, class, class>
struct layer_norm_weight_program;
template <class, class, class>
struct rms_norm_program;
template <class, class, class, class>
struct rms_norm_backward_program;
template <class, class, class>
struct rms_norm_weight_program;
template <class, class>
struct cross_entropy_program;
template <class, class, class>
struct cross_entropy_backward_program;
template <class>
struct cross_entropy_total_program;
template <class, class, class>
struct embedding_program;
template <class, class>
struct embedding_weight_program;
template <class, class>
struct column_sum_program;
template <class, class>
struct rope_program;
template <class>
struct rope_table_program;
struct gelu_tanh_gradient;
struct gelu_erf_gradient;
template <class, class, class>
struct swiglu_backward_program;
}  // namespace nn::detail

namespace optim::detail {
struct step_in_vectors;
template <class>
struct adam_formula;
}  // namespace optim::detail

namespace detail {
template <class, class, class...>
struct transform_program;

/// Whether the library was built with the flags of this file: `tags` are words with a slash between them.
HEDDLE_FN constexpr bool has_own_tag(char const* tags) noexcept {
  constexpr char own[] = HEDDLE_TAG;
  for (char const* word = tags; *word;) {
    int i = 0;
    while (own[i] && word[i] == own[i]) ++i;
    if (!own[i] && (word[i] == '/' || word[i] == 0)) return true;
    while (*word && *word != '/') ++word;
    if (*word) ++word;
  }
  return false;
}
/// The set itself where the library holds this file's kernels for it, else a number that is no set.
HEDDLE_FN constexpr isa held(isa set) noexcept {
  return has_own_tag(HEDDLE_KERNELS) && instantiates(set) ? set : static_cast<isa>(-1 - static_cast<int>(set));
}
/// The same for bodies that have code of their own for avx512_bf16 (`uses_bf16_instructions`), with g++.
HEDDLE_FN constexpr isa held_dot() noexcept {
#if defined(__clang__)
  return static_cast<isa>(-1 - static_cast<int>(isa::avx512_bf16));
#else
  constexpr isa set = isa::avx512_bf16;
  return has_own_tag(HEDDLE_KERNELS) && HEDDLE_MULTI_TARGET ? set : static_cast<isa>(-1 - static_cast<int>(set));
#endif
}
}  // namespace detail

// One kernel for every set of these flags, declared or defined.
#define HEDDLE_KERNEL_OF(WORDS, ...)                                       \
  WORDS struct detail::compiled<detail::held(isa::baseline), __VA_ARGS__>; \
  WORDS struct detail::compiled<detail::held(isa::avx2), __VA_ARGS__>;     \
  WORDS struct detail::compiled<detail::held(isa::avx512), __VA_ARGS__>;
#define HEDDLE_DECLARED_KERNEL(...) HEDDLE_KERNEL_OF(extern template, __VA_ARGS__)
#define HEDDLE_DEFINED_KERNEL(...) HEDDLE_KERNEL_OF(template, __VA_ARGS__)
// And for dot products.
#define HEDDLE_DOT_KERNEL_OF(WORDS, ...) \
  HEDDLE_KERNEL_OF(WORDS, __VA_ARGS__)   \
  WORDS struct detail::compiled<detail::held_dot(), __VA_ARGS__>;
#define HEDDLE_DECLARED_DOT_KERNEL(...) HEDDLE_DOT_KERNEL_OF(extern template, __VA_ARGS__)
#define HEDDLE_DEFINED_DOT_KERNEL(...) HEDDLE_DOT_KERNEL_OF(template, __VA_ARGS__)

// The lists: X is applied to a body and the types of its arguments. T is the type of sums.
#define HEDDLE_MATMUL_SUMS(X, T)                                                   \
  X(cpu::detail::chain_body<T>, T const*, T const*, index_t, index_t, T*, index_t) \
  X(cpu::detail::direct_body<T>, cpu::detail::direct_tiles<T>)                     \
  X(cpu::detail::add_body<T>, T const*, T*, index_t)                               \
  X(cpu::detail::float_decode_body<T>, cpu::detail::float_decode<T>)               \
  X(cpu::detail::tile_size_body, T, index_t*, index_t*)                            \
  X(cpu::detail::panel_size_body, T, index_t, index_t*, index_t*, index_t*)
#define HEDDLE_MATMUL_INPUTS(X, A, T)                                                          \
  X(cpu::detail::panel_pass_body<T, A>, cpu::detail::panel_pass<T, A>)                         \
  X(cpu::detail::panel_body<T, A, 2>, cpu::detail::panel_product<T>, cpu::detail::lines_ahead) \
  X(cpu::detail::panel_body<T, A, 3>, cpu::detail::panel_product<T>, cpu::detail::lines_ahead) \
  X(cpu::detail::panel_body<T, A, 4>, cpu::detail::panel_product<T>, cpu::detail::lines_ahead) \
  X(cpu::detail::pack_body, cpu::detail::operand_lines<A>, T*, index_t)                        \
  X(cpu::detail::dot_body, cpu::inputs<A>, T*, index_t, index_t, index_t, index_t, index_t)    \
  X(cpu::detail::stream_body<1>, cpu::inputs<A>, T*, index_t, index_t, index_t, index_t)       \
  X(cpu::detail::stream_body<4>, cpu::inputs<A>, T*, index_t, index_t, index_t, index_t)
#define HEDDLE_MATMUL_STORE(X, C, T, ...) \
  X(cpu::detail::store_body, cpu::output<C, T, __VA_ARGS__>, T const*, index_t, index_t, index_t, index_t, index_t)
#define HEDDLE_MATMUL_KERNELS(X)                                  \
  HEDDLE_MATMUL_SUMS(X, float)                                    \
  HEDDLE_MATMUL_SUMS(X, double)                                   \
  HEDDLE_MATMUL_INPUTS(X, float, float)                           \
  HEDDLE_MATMUL_INPUTS(X, bf16, float)                            \
  HEDDLE_MATMUL_INPUTS(X, fp16, float)                            \
  HEDDLE_MATMUL_INPUTS(X, double, double)                         \
  HEDDLE_MATMUL_STORE(X, float, float, no_epilogue)               \
  HEDDLE_MATMUL_STORE(X, float, float, epilogue::add_bias<float>) \
  HEDDLE_MATMUL_STORE(X, bf16, float, no_epilogue)                \
  HEDDLE_MATMUL_STORE(X, bf16, float, epilogue::add_bias<bf16>)   \
  HEDDLE_MATMUL_STORE(X, fp16, float, no_epilogue)                \
  HEDDLE_MATMUL_STORE(X, double, double, no_epilogue)

#define HEDDLE_MATMUL_DOT_KERNELS_OF(X, P, A)                                                                       \
  X(cpu::detail::word_size_body<P>, index_t*, index_t*, index_t*)                                                   \
  X(cpu::detail::word_body<P>, cpu::detail::word_product<P>)                                                        \
  X(cpu::detail::word_rows_body<P>, cpu::strided<A>, index_t, index_t, index_t, std::uint32_t*)                     \
  X(cpu::detail::word_panels_body<P>, cpu::strided<A>, index_t, index_t, index_t, index_t, std::uint32_t*, index_t) \
  X(cpu::detail::decode_rows_body<P>, cpu::strided<A>, index_t, std::uint32_t*, index_t)                            \
  X(cpu::detail::decode_body<P>, cpu::detail::decode_product<P, A>)                                                 \
  X(cpu::detail::decode_order_body<P>, float*, index_t, index_t, index_t)
#define HEDDLE_MATMUL_DOT_KERNELS(X) HEDDLE_MATMUL_DOT_KERNELS_OF(X, cpu::bf16_words, bf16)

#define HEDDLE_ATTENTION_KERNELS_OF(X, A, T)                                                                           \
  X(attention::detail::forward_body,                                                                                   \
    attention::detail::forward_operands<A, A, T, attention::detail::head_rows<A const>>,                               \
    attention::detail::any_rules<T>, attention::detail::query_tile, T*)                                                \
  X(attention::detail::delta_body, attention::detail::delta_rows<A, A, T>, index_t)                                    \
  X(attention::detail::query_gradient_body, attention::detail::backward_operands<A, T>,                                \
    attention::detail::gradients<A>, attention::detail::any_rules<T>, attention::detail::query_tile, T*)               \
  X(attention::detail::key_gradient_body, attention::detail::backward_operands<A, T>, attention::detail::gradients<A>, \
    attention::detail::any_rules<T>, attention::detail::key_tile, T*)
#define HEDDLE_ATTENTION_KERNELS(X)            \
  HEDDLE_ATTENTION_KERNELS_OF(X, float, float) \
  HEDDLE_ATTENTION_KERNELS_OF(X, bf16, float)  \
  HEDDLE_ATTENTION_KERNELS_OF(X, double, double)
#define HEDDLE_ATTENTION_DOT_KERNELS(X)                                                               \
  X(attention::detail::forward_pairs_body,                                                            \
    attention::detail::forward_operands<bf16, bf16, float, attention::detail::head_rows<bf16 const>>, \
    attention::detail::any_rules<float>, attention::detail::query_tile, float*)

#define HEDDLE_PROGRAM(X, ...) X(tile::detail::cpu_tile<__VA_ARGS__>, void*, index_t, index_t)
#define HEDDLE_NN_KERNELS_OF(X, A)                                                           \
  HEDDLE_PROGRAM(X, detail::transform_program<plus<void>, A, A, A>)                          \
  HEDDLE_PROGRAM(X, detail::transform_program<tile::pass_fn, A, A>)                          \
  HEDDLE_PROGRAM(X, detail::transform_program<gelu_tanh_value, A, A>)                        \
  HEDDLE_PROGRAM(X, detail::transform_program<nn::detail::gelu_tanh_gradient, A, A, A>)      \
  HEDDLE_PROGRAM(X, detail::transform_program<gelu_erf_value, A, A>)                         \
  HEDDLE_PROGRAM(X, detail::transform_program<nn::detail::gelu_erf_gradient, A, A, A>)       \
  HEDDLE_PROGRAM(X, detail::transform_program<swiglu_value, A, A, A>)                        \
  HEDDLE_PROGRAM(X, nn::detail::swiglu_backward_program<A, A, A>)                            \
  HEDDLE_PROGRAM(X, nn::detail::softmax_program<A, A>)                                       \
  HEDDLE_PROGRAM(X, nn::detail::softmax_backward_program<A, A, A>)                           \
  HEDDLE_PROGRAM(X, nn::detail::layer_norm_program<A, A, A>)                                 \
  HEDDLE_PROGRAM(X, nn::detail::layer_norm_backward_program<A, A, A, A>)                     \
  HEDDLE_PROGRAM(X, nn::detail::layer_norm_weight_program<A, A, float>)                      \
  HEDDLE_PROGRAM(X, nn::detail::rms_norm_program<A, A, A>)                                   \
  HEDDLE_PROGRAM(X, nn::detail::rms_norm_backward_program<A, A, A, A>)                       \
  HEDDLE_PROGRAM(X, nn::detail::rms_norm_weight_program<A, A, float>)                        \
  HEDDLE_PROGRAM(X, nn::detail::cross_entropy_program<A, float>)                             \
  HEDDLE_PROGRAM(X, nn::detail::cross_entropy_backward_program<A, float, A>)                 \
  HEDDLE_PROGRAM(X, nn::detail::embedding_program<A, A, A>)                                  \
  HEDDLE_PROGRAM(X, nn::detail::embedding_weight_program<A, float>)                          \
  HEDDLE_PROGRAM(X, nn::detail::column_sum_program<A, float>)                                \
  HEDDLE_PROGRAM(X, nn::detail::rope_program<A, A>)
#define HEDDLE_NN_KERNELS(X)                                               \
  HEDDLE_NN_KERNELS_OF(X, float)                                           \
  HEDDLE_NN_KERNELS_OF(X, bf16)                                            \
  HEDDLE_PROGRAM(X, detail::transform_program<tile::pass_fn, bf16, float>) \
  HEDDLE_PROGRAM(X, nn::detail::cross_entropy_total_program<float>)        \
  HEDDLE_PROGRAM(X, nn::detail::rope_table_program<float>)                 \
  X(optim::detail::step_in_vectors, optim::detail::adam_formula<float>, index_t, index_t)

HEDDLE_MATMUL_KERNELS(HEDDLE_DECLARED_KERNEL)
HEDDLE_MATMUL_DOT_KERNELS(HEDDLE_DECLARED_DOT_KERNEL)
HEDDLE_ATTENTION_KERNELS(HEDDLE_DECLARED_KERNEL)
HEDDLE_ATTENTION_DOT_KERNELS(HEDDLE_DECLARED_DOT_KERNEL)
HEDDLE_NN_KERNELS(HEDDLE_DECLARED_KERNEL)

}  // namespace heddle

#endif
