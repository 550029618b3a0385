// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/algorithm/copy.hpp>
#include <heddle/attention/forward.hpp>
#include <heddle/attention/layer.hpp>
#include <heddle/model/decoder.hpp>

/// @file
/// The decoding form of a decoder: its own description, in which the layers that look at other tokens are replaced by
/// ones that know where a pass begins and keep the tokens before it in a cache. Everything else stays what it was, so
/// there is one definition of a model.
///
/// In a decoding form `call.first_row` is the position of the first row of a pass in its one sequence.

namespace heddle::model {

/// The decoding form of a layer: `type`, and `make(layer, capacity)` for sequences of at most `capacity` tokens.
/// Specialise it for layers of your own; one that treats each row alone is its own form: derive from row_wise.
template <class Layer>
struct decoding_form;

/// A layer whose rows do not see each other.
template <class Layer>
struct row_wise {
  using type = Layer;
  static HEDDLE_FN type make(Layer const& layer, index_t) { return layer; }
};

template <class Layer>
using decoding_t = typename decoding_form<Layer>::type;

/// The decoding form of a layer or of a whole `staged` model.
template <class Layer>
HEDDLE_FN decoding_t<Layer> decoding(Layer const& layer, index_t capacity) {
  return decoding_form<Layer>::make(layer, capacity);
}

/// Rotates by the position in the sequence: the first row of a pass stands at `call.first_row`.
struct rope_at_position : nn::no_parameters {
  nn::rope_layer whole;
  struct plan {};

  HEDDLE_FN constexpr explicit rope_at_position(nn::rope_layer const& l) noexcept : whole(l) {}
  HEDDLE_FN index_t out_width(index_t in) const { return in; }
  HEDDLE_FN plan make_plan(nn::planner& p, nn::layer_shape const& s) const {
    whole.make_plan(p, s);  // checks the shape
    return {};
  }
  HEDDLE_FN nn::life keep_x() const { return nn::life::fwd; }
  HEDDLE_FN nn::life keep_y() const { return nn::life::fwd; }
  HEDDLE_FN nn::life keep_dy() const { return nn::life::bwd; }

  template <class Call, class Weights, class X, class Y>
  HEDDLE_FN void forward(Call const& call, Weights const&, X const& x, Y const& y, plan const&,
                         nn::frame const&) const {
    nn::rope_options const o{.heads = whole.rotated_heads, .head_size = whole.head_size, .tokens = x.extent(0),
                             .first_position = call.first_row, .base = whole.base, .inverse = false};
    nn::rope(call.exec(), x, y, o);
  }
};

/// Causal self-attention of the rows of a pass over all tokens so far. Writes the keys and values of its rows to a
/// cache first.
///
/// Shapes: as attention::causal_layer with one sequence. Pre: call.first_row + rows <= capacity.
/// Memory: a cache of capacity * 2 key_heads * head_size elements.
/// Determinism: keys come in blocks from the start of the sequence, as in a pass over all of it: the same bits.
struct cached_attention : nn::no_parameters {
  attention::causal_layer whole;
  index_t capacity = 0;

  struct plan {
    nn::slot cache, lse;
  };

  HEDDLE_FN constexpr cached_attention(attention::causal_layer const& l, index_t tokens) noexcept
      : whole(l), capacity(tokens) {}
  HEDDLE_FN index_t out_width(index_t in) const { return whole.out_width(in); }
  HEDDLE_FN plan make_plan(nn::planner& p, nn::layer_shape const& s) const {
    HEDDLE_EXPECTS(s.sequences == 1, "a decoding form runs one sequence", s.sequences);
    HEDDLE_EXPECTS(s.width == q_columns() + 2 * kv_columns(),
                   "attention: the input must hold query, key and value heads", s.width, whole.query_heads,
                   whole.key_heads, whole.head_size);
    return {p.take_activation(nn::life::cache, capacity, 2 * kv_columns()),
            p.take_statistics(nn::life::fwd, s.rows() * whole.query_heads)};
  }
  HEDDLE_FN nn::life keep_x() const { return nn::life::fwd; }
  HEDDLE_FN nn::life keep_y() const { return nn::life::fwd; }
  HEDDLE_FN nn::life keep_dy() const { return nn::life::bwd; }

  template <class Call, class Weights, class X, class Y>
  HEDDLE_FN void forward(Call const& call, Weights const&, X const& x, Y const& y, plan const& pl,
                         nn::frame const& fr) const {
    using T = typename Y::value_type;
    index_t const rows = x.extent(0), first = call.first_row, all = first + rows;
    HEDDLE_EXPECTS(all <= capacity, "a sequence must fit its cache", first, rows, capacity);
    auto const cache = fr.at<T>(pl.cache);
    heddle::copy(call.exec(), slice(x, 1, q_columns(), x.extent(1)), slice(cache, 0, first, all));
    view<T const, 2> const seen = slice(cache, 0, 0, all);
    auto const lse = reshape(fr.vector_at<accumulator_t<T>>(pl.lse), dims<2>(whole.query_heads, rows));
    attention::options<attention::causal> o{};
    o.query_offset = first;
    attention::forward(call.exec(), heads(x, 0, whole.query_heads), heads(seen, 0, whole.key_heads),
                       heads(seen, whole.key_heads, whole.key_heads), heads(y, 0, whole.query_heads), lse, o);
  }

 private:
  HEDDLE_FN index_t q_columns() const { return whole.query_heads * whole.head_size; }
  HEDDLE_FN index_t kv_columns() const { return whole.key_heads * whole.head_size; }
  template <class V>
  HEDDLE_FN auto heads(V const& v, index_t first, index_t count) const {
    index_t const d = whole.head_size;
    return view<typename V::element_type, 3>(v.data() + first * d * v.stride(1), dims<3>(v.extent(0), count, d),
                                             v.stride(0), d * v.stride(1), v.stride(1));
  }
};

/// A source that adds the position table from the row of the pass's first token on.
template <class Source>
struct source_at_position {
  Source whole;

  template <class F>
  using parameters = typename Source::template parameters<F>;
  template <class F>
  HEDDLE_FN parameters<F> tree() const {
    return whole.template tree<F>();
  }
  template <class Visitor, class... Trees>
  HEDDLE_FN void describe(Visitor& v, Trees&... trees) const {
    whole.describe(v, trees...);
  }
  HEDDLE_FN index_t width() const { return whole.width(); }

  template <class Call, class Weights, class Y>
  HEDDLE_FN void forward(Call const& call, Weights const& w, nn::token_batch const& batch, Y const& y) const {
    Weights at = w;
    if (whole.positions > 0) {
      index_t const end = call.first_row + batch.tokens.extent(0);
      HEDDLE_EXPECTS(end <= whole.positions, "a sequence must not be longer than the table of positions", end,
                     whole.positions);
      at.positions.local = slice(w.positions.local, 0, call.first_row, end);
    }
    whole.forward(call, at, batch, y);
  }
};

template <>
struct decoding_form<nn::linear> : row_wise<nn::linear> {};
template <>
struct decoding_form<nn::layer_norm_layer> : row_wise<nn::layer_norm_layer> {};
template <>
struct decoding_form<nn::rms_norm_layer> : row_wise<nn::rms_norm_layer> {};
template <>
struct decoding_form<nn::gelu_layer> : row_wise<nn::gelu_layer> {};
template <>
struct decoding_form<nn::swiglu_layer> : row_wise<nn::swiglu_layer> {};

template <>
struct decoding_form<nn::rope_layer> {
  using type = rope_at_position;
  static HEDDLE_FN type make(nn::rope_layer const& l, index_t) { return type(l); }
};
template <>
struct decoding_form<attention::causal_layer> {
  using type = cached_attention;
  static HEDDLE_FN type make(attention::causal_layer const& l, index_t capacity) { return type(l, capacity); }
};
template <nn::fixed_string Tokens, nn::fixed_string Positions>
struct decoding_form<nn::token_source<Tokens, Positions>> {
  using type = source_at_position<nn::token_source<Tokens, Positions>>;
  static HEDDLE_FN type make(nn::token_source<Tokens, Positions> const& l, index_t) { return {l}; }
};

template <nn::fixed_string Name, class Inner>
struct decoding_form<nn::named<Name, Inner>> {
  using type = nn::named<Name, decoding_t<Inner>>;
  static HEDDLE_FN type make(nn::named<Name, Inner> const& l, index_t capacity) {
    return {decoding(l.inner, capacity)};
  }
};
template <class Inner>
struct decoding_form<nn::labelled<Inner>> {
  using type = nn::labelled<decoding_t<Inner>>;
  static HEDDLE_FN type make(nn::labelled<Inner> const& l, index_t capacity) {
    return {l.label, decoding(l.inner, capacity)};
  }
};
template <class Inner>
struct decoding_form<nn::residual<Inner>> {
  using type = nn::residual<decoding_t<Inner>>;
  static HEDDLE_FN type make(nn::residual<Inner> const& l, index_t capacity) { return {decoding(l.inner, capacity)}; }
};
/// Nothing is made again where nothing goes back.
template <class Inner>
struct decoding_form<nn::recomputed<Inner>> {
  using type = decoding_t<Inner>;
  static HEDDLE_FN type make(nn::recomputed<Inner> const& l, index_t capacity) { return decoding(l.inner, capacity); }
};
template <class First, class Second>
struct decoding_form<nn::concat<First, Second>> {
  using type = nn::concat<decoding_t<First>, decoding_t<Second>>;
  static HEDDLE_FN type make(nn::concat<First, Second> const& l, index_t capacity) {
    return {decoding(l.first, capacity), decoding(l.second, capacity)};
  }
};
template <class Inner>
struct decoding_form<nn::repeat<Inner>> {
  using type = nn::repeat<decoding_t<Inner>>;
  static HEDDLE_FN type make(nn::repeat<Inner> const& l, index_t capacity) {
    return {decoding(l.inner, capacity), l.first, l.count};
  }
};
template <class... Layers>
struct decoding_form<nn::sequence<Layers...>> {
  using type = nn::sequence<decoding_t<Layers>...>;
  static HEDDLE_FN type make(nn::sequence<Layers...> const& l, index_t capacity) { return unfold(l, capacity); }

 private:
  template <class First, class... Rest, class... Made>
  static HEDDLE_FN type unfold(nn::sequence<First, Rest...> const& l, index_t capacity, Made const&... made) {
    if constexpr (sizeof...(Rest) == 0)
      return type(made..., decoding(l.first, capacity));
    else
      return unfold(l.rest, capacity, made..., decoding(l.first, capacity));
  }
};
template <class Source, class Block, class Back, class Sink>
struct decoding_form<nn::staged<Source, nn::repeat<Block>, Back, Sink>> {
  using whole = nn::staged<Source, nn::repeat<Block>, Back, Sink>;
  using type = nn::staged<decoding_t<Source>, nn::repeat<decoding_t<Block>>, decoding_t<Back>, Sink>;
  static HEDDLE_FN type make(whole const& l, index_t capacity) {
    HEDDLE_EXPECTS(l.first && l.last, "only a whole model has a decoding form, not one stage of it");
    return {decoding(l.source, capacity), decoding(l.blocks, capacity), decoding(l.back, capacity), l.sink,
            l.blocks_path, true, true};
  }
};

}  // namespace heddle::model
