// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/attention/paged_cache.hpp>
#include <heddle/attention/problem.hpp>
#include <heddle/core/overlap.hpp>
#include <heddle/exec/executor.hpp>

namespace heddle {
namespace attention {

namespace detail {

template <class T>
struct append_work {
  geometry sizes;  ///< new rows as queries
  head_rows<T const> k, v;
  paged_rows<T> to_k, to_v;

  HEDDLE_FN void check() const {
    for (index_t s = 0; s < sizes.sequences; ++s) {
      segment const seg = sizes.at(s);
      HEDDLE_EXPECTS(seg.q_length <= seg.k_length, "the used length counts the rows to be appended: advance it first",
                     s, seg.k_length, seg.q_length);
    }
  }
  HEDDLE_FN void operator()(index_t token, int) const {
    segment seg;
    if (!find_segment<false>(sizes, token, seg)) return;
    index_t const to = seg.k_begin + seg.k_length - seg.q_length + token - seg.q_begin;
    for (index_t head = 0; head < sizes.heads_kv; ++head) {
      copy(k.row(token, head), to_k.row(to, head), sizes.dk);
      copy(v.row(token, head), to_v.row(to, head), sizes.dv);
    }
  }

 private:
  static HEDDLE_FN void copy(T const* from, T* to, index_t columns) {
    for (index_t d = 0; d < columns; ++d) to[d] = from[d];
  }
};

}  // namespace detail

struct append_fn {
  /// Writes new keys and values to the last used rows of each sequence of a paged cache.
  ///
  /// Shapes: k [tokens, Hkv, dk], v [tokens, Hkv, dv], columns side by side. Tokens are cut into the cache's sequences
  /// equally, or by `cu`, sequences + 1 numbers from 0, never falling; rows past the last one are not read.
  /// Types: one element type for k, v and the cache.
  /// Pre: `cache.lengths` already counts the new rows: those of sequence s go to [lengths[s] - new, lengths[s]). No two
  /// sequences share a page that is written. Post: no other row of the cache is touched.
  /// Errors: contract_error for shapes at the call, for lists and tables when the work runs. Sync: submits.
  template <executor Executor, any_view K, any_view V, any_paged_cache Cache>
    requires(K::rank() == 3 && V::rank() == 3 && !std::is_const_v<typename Cache::element_type>)
  HEDDLE_FN void operator()(Executor& exec, K const& k, V const& v, Cache const& cache,
                            integer_list const& cu = {}) const {
    using element = typename Cache::value_type;
    static_assert(std::is_same_v<element, typename K::value_type> && std::is_same_v<element, typename V::value_type>,
                  "k, v and the cache have one element type");
    detail::expect_cache(cache);
    index_t const tokens = k.extent(0), heads = cache.k.extent(2), s = cache.sequences();
    detail::expect_shape(k, tokens, heads, cache.k.extent(3), "k");
    detail::expect_shape(v, tokens, heads, cache.v.extent(3), "v");
    detail::geometry const g{
        tokens, s * cache.capacity(), heads, heads, cache.k.extent(3), cache.v.extent(3), s, cu, cache.lengths, {}, {},
        true};
    detail::check_sequences(g);
    expect_apart("attention.append", cache.k, k, v, cache.v, cache.table, cache.lengths);
    expect_apart("attention.append", cache.v, k, v, cache.table, cache.lengths);
    observed_span<Executor> const scope(exec, [&] {
      return span{.operation = "attention.append",
                  .shape = {tokens, heads, g.dk, g.dv},
                  .bytes = 2 * tokens * heads * (g.dk + g.dv) * static_cast<index_t>(sizeof(element))};
    });
    detail::append_work<element> const work{g, detail::rows_of(canonical_input(k)), detail::rows_of(canonical_input(v)),
                                            detail::paged_rows_of<element>(cache.k, cache.table),
                                            detail::paged_rows_of<element>(cache.v, cache.table)};
    detail::submit_page_check(exec, g, work.to_k, cache.k.extent(0));
    exec.for_each_tile(1, [work](index_t, int) { work.check(); });
    exec.for_each_tile(tokens, work);
  }
};

/// Rows for a paged cache. See append_fn.
inline constexpr append_fn append{};

}  // namespace attention
}  // namespace heddle
