// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/algorithm/detail/selection.hpp>
#include <heddle/core/overlap.hpp>
#include <heddle/tile/run.hpp>

namespace heddle {

namespace detail {
template <class F, class In>
concept predicate_on = std::is_trivially_copyable_v<F> && std::is_invocable_r_v < bool,
        F const&, tile::value_t<typename In::value_type>
const& > ;
template <class F, class In>
concept equality_on = std::is_trivially_copyable_v<F> && std::is_invocable_r_v < bool,
        F const&, tile::value_t<typename In::value_type>
const&, tile::value_t<typename In::value_type> const& > ;
template <class V>
concept flags_input = input_vector<V> && std::integral<typename V::value_type>;
template <class V>
concept output_vector = vector_view<V> && writable_view<V>;
template <class V>
concept index_vector = output_vector<V> && std::integral<typename V::value_type>;

template <class In, class Out, class... Others>
HEDDLE_FN void expect_room(char const* operation, In const& in, Out const& out, Others const&... others) {
  HEDDLE_EXPECTS(out.extent(0) >= in.extent(0), "the output has room for every element", operation, out.extent(0),
                 in.extent(0));
  expect_apart(operation, out, in, others...);
}
template <class In>
HEDDLE_FN auto positions_of(In const& in) {
  return iota_view<index_t>{{in.extent(0)}, 0};
}
}  // namespace detail

/// The elements for which pred holds, in their order: out[0, count).
///
/// Shapes: in a vector, lazy ones included; out a vector of at least in's extent; count one element. Types: pred gets
/// narrow floats as float; elements convert to out's; count has 64 bits. Pre: pred is trivially copyable and pure; out
/// overlaps nothing that is read. Post: out at and behind count is left as it was. Complexity: reads twice, writes
/// once. Sync: submits; `read(exec, count)` fetches the count. Memory: 8 bytes per 4096 elements, of the arena.
/// Determinism: exact.
struct select_if_fn {
  template <executor E, input_vector In, detail::output_vector Out, detail::one_count C, detail::predicate_on<In> F>
  HEDDLE_FN void operator()(E& exec, In const& in, Out const& out, C const& count, F const& pred) const {
    detail::expect_room("select_if", in, out, count);
    using source = detail::source_t<In>;
    detail::select_as(exec, "select_if", in.extent(0), detail::keep_if<source, F>{detail::source_of(in), pred},
                      detail::write_selected<source, typename Out::element_type>{detail::source_of(in), canonical(out)},
                      count);
  }
};

/// The elements whose flag is not zero, in their order. Shapes: flags as in. Otherwise as select_if.
struct select_flagged_fn {
  template <executor E, input_vector In, detail::flags_input Flags, detail::output_vector Out, detail::one_count C>
  HEDDLE_FN void operator()(E& exec, In const& in, Flags const& flags, Out const& out, C const& count) const {
    detail::expect_room("select_flagged", in, out, flags, count);
    HEDDLE_EXPECTS(flags.extent(0) == in.extent(0), "every element has a flag", flags.extent(0), in.extent(0));
    detail::select_as(
        exec, "select_flagged", in.extent(0), detail::keep_flagged<detail::source_t<Flags>>{detail::source_of(flags)},
        detail::write_selected<detail::source_t<In>, typename Out::element_type>{detail::source_of(in), canonical(out)},
        count);
  }
};

/// The positions, ascending, of the elements for which pred holds. Types: out integers that hold the extent of in.
/// Otherwise as select_if.
struct select_indices_fn {
  template <executor E, input_vector In, detail::index_vector Out, detail::one_count C, detail::predicate_on<In> F>
  HEDDLE_FN void operator()(E& exec, In const& in, Out const& out, C const& count, F const& pred) const {
    detail::expect_room("select_indices", in, out, count);
    using out_t = typename Out::element_type;
    HEDDLE_EXPECTS(in.extent(0) <= 1 || static_cast<index_t>(static_cast<out_t>(in.extent(0) - 1)) == in.extent(0) - 1,
                   "a position must fit the output", in.extent(0));
    detail::select_as(
        exec, "select_indices", in.extent(0), detail::keep_if<detail::source_t<In>, F>{detail::source_of(in), pred},
        detail::write_selected<detail::iota_view<index_t>, out_t>{detail::positions_of(in), canonical(out)}, count);
  }
};

/// All elements, those for which pred holds first; both parts keep their order. Post: count says how many hold.
/// Otherwise as select_if.
struct partition_fn {
  template <executor E, input_vector In, detail::output_vector Out, detail::one_count C, detail::predicate_on<In> F>
  HEDDLE_FN void operator()(E& exec, In const& in, Out const& out, C const& count, F const& pred) const {
    detail::expect_room("partition", in, out, count);
    using source = detail::source_t<In>;
    detail::select_as(
        exec, "partition", in.extent(0), detail::keep_if<source, F>{detail::source_of(in), pred},
        detail::write_partitioned<source, typename Out::element_type>{detail::source_of(in), canonical(out)}, count);
  }
};

/// The first element of every run of equal neighbours. `equal` compares an element with the one before it; == by
/// default, so that every NaN is a run of its own. Otherwise as select_if.
struct unique_fn {
  template <executor E, input_vector In, detail::output_vector Out, detail::one_count C,
            detail::equality_on<In> Equal = detail::equal_values>
  HEDDLE_FN void operator()(E& exec, In const& in, Out const& out, C const& count, Equal const& equal = {}) const {
    detail::expect_room("unique", in, out, count);
    using source = detail::source_t<In>;
    detail::select_as(exec, "unique", in.extent(0), detail::keep_heads<source, Equal>{detail::source_of(in), equal},
                      detail::write_selected<source, typename Out::element_type>{detail::source_of(in), canonical(out)},
                      count);
  }
};

/// As unique, and lengths[r] = how many elements run r has. Shapes: lengths of at least in's extent. Types: lengths of
/// 64 bits.
struct run_length_encode_fn {
  template <executor E, input_vector In, detail::output_vector Out, detail::one_count L, detail::one_count C,
            detail::equality_on<In> Equal = detail::equal_values>
  HEDDLE_FN void operator()(E& exec, In const& in, Out const& out, L const& lengths, C const& count,
                            Equal const& equal = {}) const {
    detail::expect_room("run_length_encode", in, out, lengths, count);
    detail::expect_room("run_length_encode", in, lengths, count);
    using source = detail::source_t<In>;
    detail::select_as(exec, "run_length_encode", in.extent(0),
                      detail::keep_heads<source, Equal>{detail::source_of(in), equal},
                      detail::write_runs<source, typename Out::element_type>{detail::source_of(in), canonical(out),
                                                                             canonical(lengths)},
                      count, true);
  }
};

inline constexpr select_if_fn select_if{};
inline constexpr select_flagged_fn select_flagged{};
inline constexpr select_indices_fn select_indices{};
inline constexpr partition_fn partition{};
inline constexpr unique_fn unique{};
inline constexpr run_length_encode_fn run_length_encode{};

}  // namespace heddle
