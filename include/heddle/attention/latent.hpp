// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/attention/decode.hpp>
#include <heddle/linalg/matmul.hpp>

namespace heddle {
namespace attention {

struct latent_fn {
  /// Multi-head latent attention over a cache of latent rows, without ever making the heads' own keys and values: q is
  /// projected into the latent space, attends there as one key head whose values are the first columns of its keys, and
  /// the result is projected back.
  ///
  /// Equals attention with, for each head h, keys [latent w_k[h]^T, rope] and values latent w_v[h].
  /// Shapes: q [tokens, H, dn + dr], w_k [H, dn, dc], w_v [H, dc, dv], cache [tokens_k, dc + dr] (latent columns, then
  /// the ones that positions were rotated into), out [tokens, H, dv], lse [H, tokens]; columns of q, cache and out lie
  /// side by side.
  /// Types: one element type for q, weights and cache; the two products in between are rounded to it.
  /// Pre: as decode; the default scale is 1 / sqrt(dn + dr). Post and Errors: as decode. Sync: submits.
  /// Complexity: 2 H tokens (dn dc + dc dv) flops beside decode's with dk = dc + dr and dv = dc.
  /// Determinism: as decode. Memory: scratch of (2 dc + dr) elements for each query and head, and decode's.
  /// Source: arXiv 2405.04434, section 2.1.
  template <executor Executor, any_view Q, any_view WK, any_view WV, any_view Cache, writable_view Out,
            writable_view Lse, mask Mask = causal, bias Bias = no_bias>
    requires(Q::rank() == 3 && WK::rank() == 3 && WV::rank() == 3 && Cache::rank() == 2 && Out::rank() == 3)
  HEDDLE_FN void operator()(Executor& exec, Q const& q, WK const& w_k, WV const& w_v, Cache const& cache,
                            Out const& out, Lse const& lse, options<Mask, Bias> o = {}) const {
    using element = typename Q::value_type;
    static_assert(std::is_same_v<element, typename Cache::value_type>, "q and the cache have one element type");
    index_t const tokens = q.extent(0), heads = q.extent(1), dn = w_k.extent(1), dc = w_k.extent(2),
                  dr = q.extent(2) - dn, wide = cache.extent(1);
    bool const weights_fit = w_k.extent(0) == heads && w_v.extent(0) == heads && w_v.extent(1) == dc;
    HEDDLE_EXPECTS(weights_fit && dr >= 0 && wide == dc + dr, "q, weights and the latent cache must fit", heads, dn, dc,
                   dr, wide);
    detail::expect_unit_columns(q, "q");
    HEDDLE_EXPECTS(wide <= 1 || cache.stride(1) == 1, "columns must lie side by side", "cache", cache.stride(1));
    detail::expect_output(out, tokens, heads, w_v.extent(2), "out");
    detail::expect_numbers(lse, tokens, heads, "lse");
    expect_apart("attention.latent", out, q, w_k, w_v, cache, lse);
    expect_apart("attention.latent", lse, q, w_k, w_v, cache);
    observed_span<Executor> const scope(exec, [&] {
      return span{.operation = "attention.latent",
                  .shape = {tokens, cache.extent(0), heads, wide},
                  .bytes = element_bytes(q, w_k, w_v, cache, out, lse),
                  .flops = 2 * tokens * heads * (dn * dc + dc * w_v.extent(2) + cache.extent(0) * (wide + dc))};
    });
    if (!o.scale.given()) o.scale = 1 / heddle::sqrt(static_cast<double>(dn + dr));
    scratch_frame frame(exec);
    dims<3> const rows(tokens, heads, wide), results(tokens, heads, dc);
    view<element, 3, typename Q::space> const latent_q(frame.template take<element>(tokens * heads * wide), rows),
        latent_out(frame.template take<element>(tokens * heads * dc), results);
    matmul(exec, transpose(slice(q, 2, 0, dn), 0, 1), w_k, transpose(slice(latent_q, 2, 0, dc), 0, 1));
    exec.for_each_tile(tokens, [from = detail::rows_of(canonical_input(q)), to = detail::rows_of(latent_q), heads, dn,
                                dc, dr](index_t token, int) {
      for (index_t h = 0; h < heads; ++h)
        for (index_t d = 0; d < dr; ++d) to.row(token, h)[dc + d] = from.row(token, h)[dn + d];
    });
    dims<3> const keys(cache.extent(0), 1, wide), values(cache.extent(0), 1, dc);
    view<element const, 3, typename Q::space> const k(cache.data(), keys, cache.stride(0), cache.stride(0), 1),
        v(cache.data(), values, cache.stride(0), cache.stride(0), 1);
    decode(exec, latent_q, k, v, latent_out, lse, o);
    matmul(exec, transpose(latent_out, 0, 1), w_v, transpose(out, 0, 1));
  }
};

/// Multi-head latent attention over its cache. See latent_fn.
inline constexpr latent_fn latent{};

}  // namespace attention
}  // namespace heddle
