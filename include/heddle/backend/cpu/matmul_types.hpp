// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/backend/cpu/matmul_decode.hpp>
#include <heddle/backend/cpu/matmul_decode_packed.hpp>
#include <heddle/backend/cpu/matmul_words_int4.hpp>
#include <heddle/backend/cpu/matmul_words_submit.hpp>
#include <heddle/linalg/packed_operand.hpp>

/// @file
/// Which products go by words, and which words: those of bf16, of bytes, of coded and of packed operands.

namespace heddle {
namespace cpu {

/// Products that `run_words` takes, and those among them that have a strict form elsewhere.
template <class A, class B>
inline constexpr bool goes_by_words = true;
template <class A, any_view B>
inline constexpr bool goes_by_words<A, B> =
    std::is_same_v<typename B::value_type, bf16> || !std::is_same_v<typename A::value_type, typename B::value_type> ||
    std::is_integral_v<typename A::value_type>;
template <class A, class B>
inline constexpr bool has_strict_form = false;
template <class A, any_view B>
inline constexpr bool has_strict_form<A, B> =
    std::is_same_v<typename A::value_type, bf16>&& std::is_same_v<typename B::value_type, bf16>;

namespace detail {

/// The words of a product whose a has elements of A.
template <class A>
struct words_of {
  using type = std::conditional_t<std::is_same_v<A, float>, float_words, bf16_words>;
};
template <std::integral A>
struct words_of<A> {
  using type = byte_words<std::is_signed_v<A>>;
};

/// The name of the layout that words of this kind have here.
template <class P>
struct word_form_body : words_marker<P> {
  template <class Isa>
  HEDDLE_SHIM void operator()(Isa, isa* const& set) const {
    *set = !word_format<Isa, P>::native && Isa::value > isa::avx512 ? isa::avx512 : Isa::value;
  }
};
template <class P>
HEDDLE_FN char const* word_form() {
  isa set = isa::baseline;
  dispatch_isa(word_form_body<P>{}, &set);
  return heddle::name(set);
}

/// Submits a product; one of few rows reads a large b in place.
template <class P, class E, class Left, class Right, class O>
HEDDLE_FN void submit_in_words(E& exec, word_problem<Left, Right> const& in, O const& out) {
  submit_words<P>(exec, in, out);
}
template <class P, class E, class A, class B, class O>
  requires(P::group > 1 && same_codes<P, B>)
HEDDLE_FN void submit_in_words(E& exec, word_problem<strided<A>, strided<B>> const& in, O const& out) {
  if (in.m <= decode_rows && in.b.across == 1 && in.k * in.n >= decode_elements)
    submit_decode<P>(exec, in, out);
  else
    submit_words<P>(exec, in, out);
}

/// Submits a product; one of few columns as the transposed one, where a and b may change places.
template <class P, class E, class Left, class Right, class O>
HEDDLE_FN void submit_either_way(E& exec, word_problem<Left, Right> const& in, O const& out) {
  if constexpr (!P::has_head && O::can_swap) {
    if (in.n < in.m && in.n <= 2 * word_sizes_of<P>(in.k).mr) {
      O turned = out;
      turned.swapped = true;
      return submit_in_words<P>(exec, word_problem<Right, Left>{in.b, in.a, in.n, in.m, in.k}, turned);
    }
  }
  submit_in_words<P>(exec, in, out);
}

template <class B>
inline constexpr bool is_block_int4 = false;
template <class Scale>
inline constexpr bool is_block_int4<block_int4<Scale>> = true;

template <class T, class Scale>
HEDDLE_FN int4_lines<T, Scale> lines_of(block_int4<Scale> const& b) {
  return {b};
}

template <class P, class E, class A, class B, class O>
HEDDLE_FN void submit_operand(E& exec, A const& a, B const& b, index_t i, index_t m, index_t n, index_t k,
                              O const& out) {
  using left = strided<typename A::value_type>;
  left const rows{a.data() + i * a.stride(0), a.stride(1), a.stride(2)};
  if constexpr (any_view<B>) {
    using right = strided<typename B::value_type>;
    right const columns{b.data() + i * b.stride(0), b.stride(2), b.stride(1)};
    submit_either_way<P>(exec, word_problem<left, right>{rows, columns, m, n, k}, out);
  } else if constexpr (is_block_int4<B>) {
    auto const columns = lines_of<typename A::value_type>(b);
    submit_words<P>(exec, word_problem<left, std::remove_const_t<decltype(columns)>>{rows, columns, m, n, k}, out);
  } else {
    using right = strided<typename B::operand_type>;
    word_problem<left, right> const in{rows, {}, m, n, k, static_cast<std::uint32_t const*>(b.data())};
    if (m > 0 && m <= decode_rows && k * n >= decode_elements)
      submit_packed_decode<P>(exec, in, out);
    else
      submit_words<P>(exec, in, out);
  }
}

/// The part of a batch of operands that some steps of k read; they are dimension D.
template <std::size_t D, any_view V>
HEDDLE_FN auto steps_of(V const& v, part const& steps) {
  index_t e[3] = {v.extent(0), v.extent(1), v.extent(2)};
  e[D] = steps.size;
  return view<typename V::element_type, 3, typename V::space>(
      v.data() + steps.offset * v.stride(D), dims<3>(e[0], e[1], e[2]), v.stride(0), v.stride(1), v.stride(2));
}

/// A product whose chains are the leaves of an elastic order: one product each, to sums that are added along the tree.
template <class P, class E, class A, class B, class O>
HEDDLE_FN void submit_leaves(E& exec, A const& a, B const& b, index_t i, index_t m, index_t n, O const& out,
                             linalg::detail::chain_cuts const& chains) {
  using T = typename O::number;
  index_t const pieces = chains.count(), pitch = round_up(n, 16), size = m * pitch;
  scratch_frame<E> frame(exec);
  T* const sums = frame.template take<T>(tree_slots(pieces, 0, pieces) * size);
  tree_accumulate tree(pieces, 0, pieces);
  for (index_t p = 0; p < pieces; ++p) {
    int slot = tree.next_slot();
    part const steps = chains.at(p);
    output<T, T, no_epilogue> const to{sums + slot * size, pitch, 1, T(1), T(0), false, {}};
    submit_operand<P>(exec, steps_of<2>(a, steps), steps_of<1>(b, steps), i, m, n, steps.size, to);
    for (int merges = tree.push(); merges > 0; --merges, --slot)
      exec.for_each_tile(m, [=](index_t r, int) {
        dispatch_isa(add_body<T>{}, static_cast<T const*>(sums + slot * size + r * pitch),
                     sums + (slot - 1) * size + r * pitch, pitch);
      });
  }
  exec.for_each_tile(m, [=](index_t r, int) {
    dispatch_isa(store_body{}, out, static_cast<T const*>(sums + r * pitch), pitch, r, index_t{1}, index_t{0}, n);
  });
}

/// A product in the order that the options name.
template <class P, class E, class A, class B, class O>
HEDDLE_FN void submit_in_order(E& exec, A const& a, B const& b, index_t i, index_t m, index_t n, index_t k,
                               O const& out, matmul_options const& options) {
  // Sums of integers are exact in any order.
  if constexpr (!std::is_integral_v<typename P::sum>) {
    if (options.order == order_policy::elastic) {
      HEDDLE_EXPECTS(any_view<B>, "an elastic product takes b as a view: a packed or coded one has the other order");
      if constexpr (any_view<B>) return submit_leaves<P>(exec, a, b, i, m, n, out, options.cuts(k));
    }
  }
  submit_operand<P>(exec, a, b, i, m, n, k, out);
}

}  // namespace detail

/// Runs a product of one of the types above.
template <class E, class A, class B, class C, class Epilogue>
HEDDLE_FN void run_words(E& exec, A const& a, B const& b, C const& c, matmul_options const& options,
                         Epilogue const& epilogue) {
  using element = typename A::value_type;
  using number = product_number_t<element, typename C::value_type>;
  using words = typename detail::words_of<element>::type;
  number const alpha = static_cast<number>(options.alpha), beta = static_cast<number>(options.beta);
  // With alpha 0 nothing of a and b may be read: the product of no columns.
  index_t const k = alpha == number(0) ? 0 : a.extent(2);
  if constexpr (!any_view<B> && !detail::is_block_int4<B>)
    linalg::detail::expect_form(b, detail::word_form<words>(), options.strict);
  for (index_t i = 0; i < c.extent(0); ++i) {
    output<typename C::value_type, number, Epilogue> const out{c.data() + i * c.stride(0),
                                                               c.stride(1),
                                                               c.stride(2),
                                                               alpha == number(0) ? number(1) : alpha,
                                                               beta,
                                                               false,
                                                               epilogue};
    if constexpr (std::is_same_v<words, bf16_words> &&
                  (any_view<B> || detail::is_block_int4<B>)&&!has_strict_form<A, B>)
      if (options.strict) {
        detail::submit_in_order<float_words>(exec, a, b, i, c.extent(1), c.extent(2), k, out, options);
        continue;
      }
    detail::submit_in_order<words>(exec, a, b, i, c.extent(1), c.extent(2), k, out, options);
  }
}

}  // namespace cpu

/// Panels of words, in the layout of the instruction set in use.
template <>
struct kernel<pack_fn, cpu_tag> {
  template <class T>
  static HEDDLE_FN char const* name() {
    return cpu::detail::word_form<words<T>>();
  }
  template <class T>
  static HEDDLE_FN index_t bytes(index_t rows, index_t columns) {
    cpu::word_sizes const s = cpu::word_sizes_of<words<T>>(rows);
    return checked_product(checked_product((columns + s.nr - 1) / s.nr, s.panel), 4);
  }
  template <class E, class B>
  static HEDDLE_FN void run(E& exec, B const& b, unsigned char* memory) {
    using T = typename B::value_type;
    index_t const k = b.extent(0), n = b.extent(1);
    cpu::word_sizes const s = cpu::word_sizes_of<words<T>>(k);
    cpu::strided<T> const from{b.data(), b.stride(1), b.stride(0)};
    std::uint32_t* const to = reinterpret_cast<std::uint32_t*>(memory);
    index_t const panels = (n + s.nr - 1) / s.nr, together = cpu::word_panels_at_once(s);
    exec.for_each_tile((panels + together - 1) / together, [=](index_t i, int) {
      index_t const p = i * together, count = panels - p < together ? panels - p : together;
      dispatch_isa(cpu::detail::word_panels_body<words<T>>{}, from, p * s.nr, n - p * s.nr, count, k, to + p * s.panel,
                   s.panel);
    });
  }

 private:
  // Bytes of b lie alike for signed and unsigned a.
  template <class T>
  using words = typename cpu::detail::words_of<T>::type;
};

}  // namespace heddle
