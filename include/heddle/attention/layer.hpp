// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/attention/backward.hpp>
#include <heddle/attention/forward.hpp>
#include <heddle/nn/layer.hpp>

namespace heddle {
namespace attention {

/// Causal self-attention over each sequence: y = attention of the heads in x = [query heads, key heads, value heads].
///
/// Shapes: x [rows, (query_heads + 2 key_heads) head_size], y [rows, query_heads head_size]; rows are whole sequences.
/// Memory: needs x and y from F to B; keeps one log-sum-exp per row and query head from F to B.
struct causal_layer : nn::no_parameters {
  index_t query_heads = 1;
  index_t key_heads = 1;
  index_t head_size = 0;

  struct plan {
    nn::slot lse;
    index_t sequences = 0;
  };

  HEDDLE_FN constexpr causal_layer(index_t q_heads, index_t kv_heads, index_t size) noexcept
      : query_heads(q_heads), key_heads(kv_heads), head_size(size) {}

  HEDDLE_FN index_t out_width(index_t) const { return query_heads * head_size; }
  HEDDLE_FN plan make_plan(nn::planner& p, nn::layer_shape const& s) const {
    HEDDLE_EXPECTS(query_heads >= 0 && query_heads <= s.width && key_heads >= 0 && key_heads <= s.width &&
                       s.width == checked_product(query_heads + 2 * key_heads, head_size),
                   "attention: the input must hold query, key and value heads", s.width, query_heads, key_heads,
                   head_size);
    return {p.take_statistics(nn::life::saved, s.rows() * query_heads), s.sequences};
  }
  HEDDLE_FN nn::life keep_x() const { return nn::life::saved; }
  HEDDLE_FN nn::life keep_y() const { return nn::life::saved; }
  HEDDLE_FN nn::life keep_dy() const { return nn::life::bwd; }

  template <class Call, class Weights, class X, class Y>
  HEDDLE_FN void forward(Call const& call, Weights const&, X const& x, Y const& y, plan const& pl,
                         nn::frame const& fr) const {
    if (x.extent(0) == 0) return;
    attention::forward(call.exec(), queries(x), keys(x), values(x), queries(y), lse<X>(pl, fr, x.extent(0)),
                       rules(pl));
  }
  template <class Call, class Weights, class X, class Y, class DY, class DX>
  HEDDLE_FN void backward_input(Call const& call, Weights const&, X const& x, Y const& y, DY const& dy, DX const& dx,
                                plan const& pl, nn::frame const& fr) const {
    if (x.extent(0) == 0) return;
    attention::backward(call.exec(), queries(x), keys(x), values(x), queries(y), lse<X>(pl, fr, x.extent(0)),
                        queries(dy), queries(dx), keys(dx), values(dx), rules(pl));
  }

 private:
  static HEDDLE_FN options<causal> rules(plan const& pl) {
    options<causal> o{};
    o.sequences = pl.sequences;
    return o;
  }
  template <class V>
  HEDDLE_FN auto heads(V const& v, index_t first, index_t count) const {
    return view<typename V::element_type, 3>(v.data() + first * head_size * v.stride(1),
                                             dims<3>(v.extent(0), count, head_size), v.stride(0),
                                             head_size * v.stride(1), v.stride(1));
  }
  template <class V>
  HEDDLE_FN auto queries(V const& v) const {
    return heads(v, 0, query_heads);
  }
  template <class V>
  HEDDLE_FN auto keys(V const& v) const {
    return heads(v, query_heads, key_heads);
  }
  template <class V>
  HEDDLE_FN auto values(V const& v) const {
    return heads(v, query_heads + key_heads, key_heads);
  }
  template <class X>
  HEDDLE_FN auto lse(plan const& pl, nn::frame const& fr, index_t rows) const {
    using number = accumulator_t<typename X::value_type>;
    return reshape(fr.vector_at<number>(pl.lse), dims<2>(query_heads, rows));
  }
};

}  // namespace attention
}  // namespace heddle
