// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/comm/detail/check_round.hpp>
#include <heddle/comm/detail/reduce_work.hpp>

/// @file
/// Reductions over blocking messages, all along the canonical tree: recursive doubling for small all_reduces, direct
/// reduce-scatter and pairwise all-gather for large ones and for elastic pieces, binomial reduce to a root.

namespace heddle::detail {

inline constexpr index_t small_reduce_bytes = 4096;

/// One rank's part in a reduction over messages.
template <class C, class In, class T, class Acc, class Op>
class message_reduce {
 public:
  using work_type = reduce_work<In, T, Acc, Op>;

  HEDDLE_FN message_reduce(C& comm, work_type const& w, message_scratch const& s) noexcept
      : comm_(comm), work_(w), key_(collective_channel(w.kind())), scratch_(s.data), p_(comm.size()), r_(comm.rank()) {}
  message_reduce(message_reduce const&) = delete;
  message_reduce& operator=(message_reduce const&) = delete;

  HEDDLE_FN void run() {
    if (total() == 0) return;
    if (work_.kind() == traffic::reduce_to_root && work_.shape.leaves == 0) return binomial();
    if (doubles(work_)) return recursive_doubling();
    direct();
    if (work_.kind() == traffic::all_reduce) hand_out();
  }

  static HEDDLE_FN bool doubles(work_type const& w) noexcept {
    return w.kind() == traffic::all_reduce && w.shape.leaves == 0 &&
           w.shape.total * static_cast<index_t>(sizeof(Acc)) <= small_reduce_bytes;
  }

  static HEDDLE_FN std::size_t scratch_bytes(work_type const& w, int p, int r) noexcept {
    index_t const n = w.shape.total;
    if (doubles(w) || (w.kind() == traffic::reduce_to_root && w.shape.leaves == 0))
      return 2 * static_cast<std::size_t>(n) * sizeof(Acc);
    bool const unknown = w.kind() == traffic::reduce_to_root || w.shape.by_counts;
    index_t const block = unknown ? n : balanced_part(n, p, r).size;
    index_t pieces = w.shape.leaves == 0 ? p : 0;
    for (int s = 0; s < p && w.shape.leaves; ++s) pieces += pieces_of(w, p, s);
    return static_cast<std::size_t>(pieces * block) * sizeof(In);
  }

 private:
  static HEDDLE_FN index_t pieces_of(work_type const& w, int p, int r) noexcept {
    if (w.shape.leaves == 0) return 1;
    part const own = balanced_part(w.shape.leaves, p, r);
    return tree_piece_count(w.shape.leaves, own.offset, own.end());
  }
  HEDDLE_FN index_t total() const noexcept { return work_.shape.total; }
  HEDDLE_FN In const* own_piece(index_t i) const noexcept {
    return reinterpret_cast<In const*>(static_cast<char const*>(work_.post.in) + i * work_.post.in_stride);
  }
  /// What rank d ends the combining phase with.
  HEDDLE_FN part block_of(int d) const noexcept {
    return work_.kind() == traffic::all_reduce ? balanced_part(total(), p_, d) : work_.range_of(p_, d);
  }
  template <class X>
  HEDDLE_FN static std::size_t bytes(index_t n) noexcept {
    return static_cast<std::size_t>(n) * sizeof(X);
  }

  HEDDLE_FN void load(Acc* to) const {
    for (index_t i = 0; i < total(); ++i) to[i] = static_cast<Acc>(own_piece(0)[i]);
  }
  /// Combines what came from a peer into ours; `lower`: the peer's leaves come first.
  HEDDLE_FN void merge(Acc* ours, Acc const* theirs, bool lower) const {
    for (index_t i = 0; i < total(); ++i)
      ours[i] = lower ? work_.op(theirs[i], ours[i]) : work_.op(ours[i], theirs[i]);
  }
  HEDDLE_FN void store(Acc const* a) const {
    T* const out = static_cast<T*>(work_.post.out);
    store_tile(work_.op, a, total(), work_.terms(p_), out);
  }
  HEDDLE_FN bool alone() const {  // T(1) is the input, bit for bit
    if (p_ > 1 || !work_.copies_one()) return false;
    __builtin_memmove(work_.post.out, work_.post.in, bytes<In>(total()));
    return true;
  }

  /// Virtual ranks: 2i + 1 stands for the pair of i < f, where the lower one has handed over its vector.
  HEDDLE_FN void recursive_doubling() {
    if (alone()) return;
    Acc* const a = reinterpret_cast<Acc*>(scratch_);
    Acc* const b = a + total();
    int const q = static_cast<int>(power_below(p_)), f = p_ - q;
    mutable_bytes const in{b, bytes<Acc>(total())};
    const_bytes const out{a, bytes<Acc>(total())};
    load(a);
    if (r_ < 2 * f && r_ % 2 == 0) {
      comm_.send(r_ + 1, key_, out);
      return comm_.receive(r_ + 1, key_, {work_.post.out, bytes<T>(total())});
    }
    if (r_ < 2 * f) {
      comm_.receive(r_ - 1, key_, in);
      merge(a, b, true);
    }
    int const v = r_ < 2 * f ? r_ / 2 : r_ - f;
    for (int d = 1; d < q; d *= 2) {
      int const w = v ^ d, peer = w < f ? 2 * w + 1 : w + f;
      if (v < w) comm_.send(peer, key_, out);
      comm_.receive(peer, key_, in);
      if (v > w) comm_.send(peer, key_, out);
      merge(a, b, w < v);
    }
    store(a);
    if (r_ < 2 * f) comm_.send(r_ - 1, key_, {work_.post.out, bytes<T>(total())});
  }

  /// The root stands for its own pair, and every send goes toward its virtual index.
  HEDDLE_FN void binomial() {
    if (alone()) return;
    Acc* const a = reinterpret_cast<Acc*>(scratch_);
    Acc* const b = a + total();
    int const q = static_cast<int>(power_below(p_)), f = p_ - q, root = work_.root();
    int const goal = root < 2 * f ? root / 2 : root - f;
    auto const real = [&](int w) { return w >= f ? w + f : w == goal && root < 2 * f ? root : 2 * w; };
    int const v = r_ < 2 * f ? r_ / 2 : r_ - f;
    mutable_bytes const in{b, bytes<Acc>(total())};
    const_bytes const out{a, bytes<Acc>(total())};
    load(a);
    if (r_ < 2 * f) {
      if (r_ != real(v)) return comm_.send(real(v), key_, out);
      comm_.receive(r_ ^ 1, key_, in);
      merge(a, b, r_ % 2 == 1);
    }
    for (int d = 1; d < q; d *= 2) {
      if (((v ^ goal) & d) != 0) return comm_.send(real(v ^ d), key_, out);
      comm_.receive(real(v ^ d), key_, in);
      merge(a, b, (v ^ d) < v);
    }
    store(a);
  }

  /// Every rank sends each block to its owner; the owner folds the pieces of all ranks.
  HEDDLE_FN void direct() {
    part const mine = block_of(r_);
    In* const inbox = reinterpret_cast<In*>(scratch_);
    auto const first_of = [&](int s) {  // pieces of the ranks before s
      index_t at = 0;
      for (int i = 0; i < s; ++i) at += pieces_of(work_, p_, i);
      return at;
    };
    for_each_pair(
        comm_,
        [&](int d) {
          part const b = block_of(d);
          for (index_t i = 0; i < pieces_of(work_, p_, r_) && b.size > 0; ++i)
            comm_.send(d, key_, {own_piece(i) + b.offset, bytes<In>(b.size)});
        },
        [&](int s) {
          for (index_t i = 0; i < pieces_of(work_, p_, s) && mine.size > 0; ++i)
            comm_.receive(s, key_, {inbox + (first_of(s) + i) * mine.size, bytes<In>(mine.size)});
        });
    T* const out = static_cast<T*>(work_.post.out) + (work_.kind() == traffic::all_reduce ? mine.offset : 0);
    for (index_t at = 0; at < mine.size; at += work_type::stack::tile) {
      index_t const left = mine.size - at;
      typename work_type::stack s(work_.op, left < work_type::stack::tile ? left : work_type::stack::tile);
      auto const source = [&](index_t from, index_t piece) {
        int const peer = static_cast<int>(from);
        return peer == r_ ? own_piece(piece) + mine.offset + at : inbox + (first_of(peer) + piece) * mine.size + at;
      };
      if (work_.shape.leaves)
        piece_fold(s, work_.shape.leaves, p_, source).run();
      else
        fold_ranks(s, p_, [&](index_t from) { return source(from, 0); });
      if (work_.copies_one() && work_.terms(p_) == 1)
        __builtin_memmove(out + at, source(0, 0), bytes<In>(s.size()));
      else
        store_tile(work_.op, s.result(), s.size(), work_.terms(p_), out + at);
    }
  }
  HEDDLE_FN void hand_out() {
    T* const out = static_cast<T*>(work_.post.out);
    auto const block = [&](int d) { return balanced_part(total(), p_, d); };
    for_each_pair(
        comm_,
        [&](int d) {
          part const b = block(r_);
          if (b.size > 0) comm_.send(d, key_, {out + b.offset, bytes<T>(b.size)});
        },
        [&](int s) {
          part const b = block(s);
          if (b.size > 0) comm_.receive(s, key_, {out + b.offset, bytes<T>(b.size)});
        });
  }

  C& comm_;
  work_type const& work_;
  channel key_;
  std::byte* scratch_;
  int p_, r_;
};

template <class C, class In, class T, class Acc, class Op>
HEDDLE_FN void run_over_messages(C& comm, reduce_work<In, T, Acc, Op> const& work, collective_options const& options,
                                 message_scratch const& scratch) {
  check_round(comm, work.post, options);
  message_reduce<C, In, T, Acc, Op>(comm, work, scratch).run();
}
template <class In, class T, class Acc, class Op>
HEDDLE_FN std::size_t scratch_bytes(reduce_work<In, T, Acc, Op> const& work, int ranks, int rank) noexcept {
  return message_reduce<int, In, T, Acc, Op>::scratch_bytes(work, ranks, rank);
}

}  // namespace heddle::detail
