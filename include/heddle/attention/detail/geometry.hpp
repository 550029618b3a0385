// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/attention/lists.hpp>
#include <heddle/attention/mask.hpp>
#include <heddle/core/segment_of.hpp>

namespace heddle::attention::detail {

/// One sequence: where its queries and keys lie, the position of query 0 in key coordinates, and its number.
struct segment {
  index_t q_begin, q_length, k_begin, k_length, offset, number;
};

/// The sizes of a problem and how its tokens are cut into sequences. With `paged`, every sequence has room for
/// tokens_k / sequences keys, and cu_k holds how many of them are in use.
struct geometry {
  index_t tokens_q, tokens_k, heads_q, heads_kv, dk, dv, sequences;
  integer_list cu_q, cu_k, offsets;
  [[no_unique_address]] setting<index_t> offset;  // what follows fits behind its flag
  bool paged = false;

  HEDDLE_TILE index_t group() const noexcept { return heads_q / heads_kv; }
  HEDDLE_TILE bool has_lists() const noexcept { return cu_q.size() != 0 || cu_k.size() != 0 || offsets.size() != 0; }
  /// Tokens of each sequence where all are equal, and on average where lists cut them; 0 where there are none.
  HEDDLE_TILE index_t share_q() const noexcept { return sequences ? tokens_q / sequences : 0; }
  HEDDLE_TILE index_t share_k() const noexcept { return sequences ? tokens_k / sequences : 0; }

  /// Where sequence s begins. Reads the lists unchecked: at(s) checks.
  HEDDLE_FN index_t begin_q(index_t s) const { return cu_q.size() ? cu_q[s] : s * share_q(); }
  HEDDLE_FN index_t begin_k(index_t s) const { return cu_k.size() && !paged ? cu_k[s] : s * share_k(); }

  /// Reads the lists, so only work may call it. Errors: contract_error where the lists fall or leave the tokens.
  HEDDLE_FN segment at(index_t s) const {
    segment g;
    g.number = s;
    bounds(cu_q, tokens_q, s, g.q_begin, g.q_length);
    if (paged)
      used(s, g.k_begin, g.k_length);
    else
      bounds(cu_k, tokens_k, s, g.k_begin, g.k_length);
    g.offset = offsets.size() ? offsets[s] : offset.value_or(g.k_length - g.q_length);
    HEDDLE_EXPECTS(g.offset > -no_bound / 4 && g.offset < no_bound / 4, "a query offset lies within 2^60", s, g.offset);
    return g;
  }
  /// The first token that no sequence owns.
  HEDDLE_FN index_t end_q() const { return cu_q.size() ? cu_q[sequences] : tokens_q; }
  HEDDLE_FN index_t end_k() const { return cu_k.size() ? cu_k[sequences] : tokens_k; }

 private:
  HEDDLE_FN void bounds(integer_list const& cu, index_t tokens, index_t s, index_t& begin, index_t& length) const {
    if (cu.size() == 0) {
      length = tokens / sequences;  // there is sequence s
      begin = s * length;
      return;
    }
    begin = cu[s];
    length = cu[s + 1] - begin;
    HEDDLE_EXPECTS(s > 0 || begin == 0, "the first sequence starts at token 0", begin);
    HEDDLE_EXPECTS(begin >= 0 && length >= 0, "cu_seqlens must not fall", s, begin, cu[s + 1]);
    HEDDLE_EXPECTS(begin + length <= tokens, "cu_seqlens must stay inside the tokens", s, begin + length, tokens);
  }
  HEDDLE_FN void used(index_t s, index_t& begin, index_t& length) const {
    index_t const room = tokens_k / sequences;
    begin = s * room;
    length = cu_k[s];
    HEDDLE_EXPECTS(length >= 0 && length <= room, "a used length lies inside the pages of its sequence", s, length,
                   room);
  }
};

/// The sequence of one query token or, with Keys, of one key token; false in slack rows.
template <bool Keys>
HEDDLE_FN bool find_segment(geometry const& g, index_t token, segment& found) {
  if (g.sequences == 0) return false;
  found = g.at(segment_of(g.sequences, token, [&](index_t s) { return Keys ? g.begin_k(s) : g.begin_q(s); }));
  return token < (Keys ? found.k_begin + found.k_length : found.q_begin + found.q_length);
}

/// Sequences cut into blocks of `unit` items, in a number of slots that is known before the lists are: sequence s,
/// whose items begin at `begin`, owns the slots from here on, as many as it can need; some stay empty.
HEDDLE_TILE index_t first_slot(index_t s, index_t begin, index_t unit) noexcept { return begin / unit + s; }
/// Enough slots for any cut of the items into sequences.
HEDDLE_TILE index_t slots_for(geometry const& g, index_t items, index_t unit) noexcept {
  return g.sequences ? items / unit + g.sequences : 0;
}

/// The sequence that owns a slot, and how many of its slots come before. begin(s): the first item of s.
/// Pre: there are slots.
template <class Begin>
HEDDLE_FN segment slot_owner(geometry const& g, index_t slot, index_t unit, index_t& before, Begin const& begin) {
  index_t const s = segment_of(g.sequences, slot, [&](index_t n) { return first_slot(n, begin(n), unit); });
  before = slot - first_slot(s, begin(s), unit);
  return g.at(s);
}

/// The part of a block that lies in [0, length).
HEDDLE_TILE block clamp(block b, index_t length) noexcept {
  return {b.begin < 0 ? 0 : b.begin, b.end > length ? length : b.end};
}

/// Where a mask is asked, for masks that differ by sequence or head.
HEDDLE_TILE place place_of(geometry const& g, segment const& s, index_t kv_head) noexcept {
  return {s.number, g.sequences, kv_head, g.heads_kv, s.offset, s.q_length, s.k_length};
}

}  // namespace heddle::attention::detail
