// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/backend/cpu/detail/lane_few.hpp>
#include <heddle/backend/cpu/detail/lane_forward.hpp>

namespace heddle::attention::detail {

/// Where a worker keeps what belongs to one task of bf16. Sizes in 32-bit numbers.
struct pair_scratch {
  index_t dk, dv;
  bool panel;  ///< whether scores or weights are changed pair by pair

  /// Words of a row of values.
  HEDDLE_SHIM index_t pitch() const noexcept { return few_pitch(); }
  /// Numbers of a row of sums of few lanes: whole vectors.
  HEDDLE_SHIM index_t few_pitch() const noexcept { return (dv + 15) / 16 * 16; }
  HEDDLE_SHIM index_t tile_size() const noexcept { return forward_state<float>::size(pairs_of(dk), dv); }
  HEDDLE_SHIM index_t scores_size() const noexcept {
    index_t const rows = block_columns > pairs_of(dk) ? block_columns : pairs_of(dk);
    return (rows > pitch() ? rows : pitch()) * lanes;
  }
  HEDDLE_SHIM index_t weights_size() const noexcept { return pairs_of(block_columns) * lanes; }
  HEDDLE_SHIM index_t keys_size() const noexcept { return block_columns * pairs_of(dk); }
  HEDDLE_SHIM index_t values_size() const noexcept { return pairs_of(block_columns) * pitch(); }
  HEDDLE_SHIM index_t size() const noexcept {
    return tiles_per_task * tile_size() + scores_size() + weights_size() + keys_size() + values_size() +
           (panel ? block_columns * lanes : 0);
  }
};

/// Operands of bf16 as pairs: steps of a score are pairs of columns, steps of an output pairs of keys.
template <class Work>
struct pair_form {
  Work const& w;
  float* memory;
  pair_scratch room;
  float* scores;
  std::uint32_t *weights, *values;
  std::uint32_t* copies;  ///< of keys that can't be read where they lie
  float* panel;
  bf16 const *keys, *rows_of_values;
  index_t key_stride, value_stride;
  bf16 const* next;  ///< keys of the block behind, and how many
  index_t coming;
  struct block_rows {
    index_t token, head, rows;
  } here;
  bool packed;  ///< whether `values` holds the words of this block

  HEDDLE_SHIM pair_form(Work const& work, float* at, pair_scratch const& r)
      : w(work),
        memory(at),
        room(r),
        scores(memory + tiles_per_task * room.tile_size()),
        weights(reinterpret_cast<std::uint32_t*>(scores + room.scores_size())),
        values(weights + room.weights_size()),
        copies(values + room.values_size()),
        panel(reinterpret_cast<float*>(copies + room.keys_size())),
        keys(nullptr),
        rows_of_values(nullptr),
        key_stride(0),
        value_stride(0),
        next(nullptr),
        coming(0),
        here{},
        packed(false) {}

  HEDDLE_SHIM forward_state<float> state(index_t t) const {
    return {memory + t * room.tile_size(), pairs_of(room.dk), room.dv};
  }
  HEDDLE_SHIM std::uint32_t* words_room() const { return reinterpret_cast<std::uint32_t*>(scores); }
  HEDDLE_SHIM std::uint32_t* queries_of(index_t t) const { return reinterpret_cast<std::uint32_t*>(state(t).q); }

  /// Queries with one lane each; lanes out of use are zero.
  template <class Isa>
  HEDDLE_SHIM void start(query_tile const& tile, index_t t) const {
    index_t const words = pairs_of(room.dk);
    for (index_t lane = 0; lane < lanes; ++lane) {
      bf16 const* const row = lane < tile.rows ? w.q.row(tile.token(lane), tile.head(lane)) : nullptr;
      word_row(words_room() + lane * words, row, room.dk);
    }
    using U = typename pair_vector<Isa>::U;
    turn_into_lanes<U>(queries_of(t), words_room(), words);
    state(t).clear(room.dv);
  }
  template <class Isa>
  HEDDLE_SHIM void stage(index_t token, index_t head, index_t n, index_t ahead) {
    if (room.dk % 2 == 0 && w.k.run(token, n) == n) {
      keys = w.k.row(token, head);
      key_stride = w.k.token_stride;
    } else {
      keys = reinterpret_cast<bf16 const*>(copies);
      key_stride = 2 * pairs_of(room.dk);
      for (index_t r = 0; r < n; ++r) word_row(copies + r * pairs_of(room.dk), w.k.row(token + r, head), room.dk);
    }
    here = {token, head, n};
    next = ahead > 0 ? w.k.row(token + n, head) : nullptr;
    coming = ahead < block_columns ? ahead : block_columns;
    packed = false;
  }
  /// One block of keys for one lane tile.
  template <class Isa>
  HEDDLE_SHIM void take(any_rules<float> const& rules, index_t t, visibility& seen, key_columns const& queries,
                        query_tile const& tile) {
    forward_state<float> const s = state(t);
    index_t const lo = seen.run.lo, hi = seen.run.hi, rows = tile.rows;
    index_t const used = rows <= few_lanes ? rows : lanes;
    if (rows <= few_lanes) {
      few_rows<Isa>();
      few_products<Isa>(t, lo, hi, rows);
    } else {
      pair_row_product<Isa, lane_blocking<Isa, float>::vectors>(scores + lo * lanes, keys + lo * key_stride, key_stride,
                                                                hi - lo, queries_of(t), pairs_of(room.dk), used,
                                                                w.rules.rule.scale);
    }
    change_scores<Isa>(w, rules, scores, panel, seen, queries);
    weigh_block<Isa>(scores, s.max, s.sum, s.factor, seen, 0.0f, used);
    if (w.rules.drop.active()) {
      drop_panel(w.rules.drop, tile, queries.first, seen.run, panel);
      multiply_panel<Isa>(scores, panel, seen.run);
    }
    narrow_weights<Isa>(scores, weights, seen.run, used);
    if (rows <= few_lanes)
      few_sums<Isa>(s, seen, rows);
    else
      add_values<Isa>(s, seen);
  }
  template <class Isa>
  HEDDLE_SHIM void end(index_t t, index_t rows) const {
    if (rows <= few_lanes) rows_into_panel(state(t).acc, scores, room.few_pitch(), room.dv, rows);
  }

 private:
  template <class Isa>
  HEDDLE_SHIM void few_products(index_t t, index_t lo, index_t hi, index_t rows) const {
    using P = word_vector<Isa>;
    using W = std::uint32_t;
    constexpr index_t width = P::V::width;
    index_t const words = pairs_of(room.dk);
    bf16 const* const from = keys + lo * key_stride;
    float* const out = scores + lo * lanes;
    overwrite_scaled const finish{w.rules.rule.scale};
    index_t done = 0;
    // Words that lie as words.
    if (key_stride % 2 == 0 && reinterpret_cast<std::uintptr_t>(from) % sizeof(W) == 0) {
      row_requests next_values(rows_of_values + lo * value_stride, value_stride, room.dv, hi - lo);
      index_t const lines = width * width * static_cast<index_t>(sizeof(W)) / 64 * room.dv / room.dk + 1;
      done = few_scores<P>(out, reinterpret_cast<W const*>(from), key_stride / 2, hi - lo, queries_of(t), words, rows,
                           next_values, lines, finish);
    }
    if (done < hi - lo)
      pair_row_product<Isa, 1>(out + done * lanes, from + done * key_stride, key_stride, hi - lo - done, queries_of(t),
                               words, rows, finish.factor);
  }
  /// Values of the block in rows of whole vectors: in place, or copied where the words of pairs would lie.
  template <class Isa>
  HEDDLE_SHIM void few_rows() {
    constexpr index_t width = pair_vector<Isa>::V::width;
    if (room.dv % width == 0 && w.v.run(here.token, here.rows) == here.rows) {
      rows_of_values = w.v.row(here.token, here.head);
      value_stride = w.v.token_stride;
      return;
    }
    bf16* const copy = reinterpret_cast<bf16*>(values);
    packed = false;  // the copy lies where a wide tile has its words
    for (index_t r = 0; r < here.rows; ++r) {
      bf16 const* const row = w.v.row(here.token + r, here.head);
      for (index_t d = 0; d < room.few_pitch(); ++d)
        copy[r * room.few_pitch() + d].bits = d < room.dv ? row[d].bits : std::uint16_t{0};
    }
    rows_of_values = copy;
    value_stride = room.few_pitch();
  }
  template <class Isa>
  HEDDLE_SHIM void few_sums(forward_state<float> const& s, visibility const& seen, index_t rows) {
    column_run const& run = seen.run;
    index_t const pitch = room.few_pitch();
    if (finite_rows(rows_of_values, value_stride, run.lo, run.full_begin, room.dv) &&
        finite_rows(rows_of_values, value_stride, run.full_end, run.hi, room.dv)) {
      constexpr index_t width = pair_vector<Isa>::V::width;
      row_requests ahead(next, w.k.token_stride, room.dk, next ? coming : 0);
      few_values<few_words<Isa>>(s.acc, pitch, rows_of_values, value_stride, (room.dv + width - 1) / width * width,
                                 weights, run.lo, run.hi, s.factor, rows, ahead);
      return;
    }
    rows_into_panel(s.acc, scores, pitch, room.dv, rows);
    add_values<Isa>(s, seen);
    panel_into_rows(s.acc, scores, pitch, room.dv, rows);
  }
  template <class Isa>
  HEDDLE_SHIM void add_values(forward_state<float> const& s, visibility const& seen) {
    index_t const lo = seen.run.lo, hi = seen.run.hi, pitch = room.pitch();
    if (!packed) pack_row_pairs<Isa>(w.v, here.token, here.head, here.rows, room.dv, values, pitch);
    packed = true;
    add_to_scaled<float> const finish{s.factor};
    // Where the values behind partly visible columns are finite, a weight of 0 excludes them without masks.
    if (finite_pairs(values, pitch, lo, seen.run.full_begin) && finite_pairs(values, pitch, seen.run.full_end, hi))
      pair_column_product<Isa>(s.acc, values, pitch, room.dv, weights, lo / 2, pairs_of(hi), finish);
    else
      pair_masked_product<Isa>(s.acc, values, pitch, room.dv, weights, seen, finish);
  }
};

struct forward_pairs_body : cpu::words_marker<bf16_words> {
  template <class Isa, class Work>
  HEDDLE_SHIM void operator()(Isa, Work const& w, any_rules<float> const& rules, query_tile const& task,
                              float* const& memory) const {
    geometry const& g = w.rules.sizes;
    pair_form<Work> form(w, memory, {g.dk, g.dv, rules.bias != nullptr || w.rules.drop.active()});
    forward_task<Isa>(w, rules, task, form);
  }
};

}  // namespace heddle::attention::detail
