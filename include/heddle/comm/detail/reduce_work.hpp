// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/comm/detail/fold.hpp>
#include <heddle/comm/detail/work.hpp>
#include <heddle/exec/wait.hpp>

namespace heddle::detail {

/// Which contributions a reduction combines, and where its blocks end.
struct reduce_shape {
  index_t total = 0;    ///< elements of the whole
  index_t leaves = 0;   ///< V of an elastic reduction; 0: the ranks are the leaves
  bool by_counts = false;
};

/// Chunks small enough that p inputs and an output stay in half of a level-two cache, and enough for every worker.
HEDDLE_FN index_t reduce_chunk_elements(index_t total, index_t element_bytes, int ranks) noexcept {
  index_t bytes = 512 * 1024 / (ranks + 1);
  index_t const workers = ranks < usable_cores() ? ranks : usable_cores();
  index_t const share = total * element_bytes / (4 * workers);
  if (bytes > share) bytes = share;
  bytes = bytes < 4096 ? 4096 : bytes > 65536 ? 65536 : bytes / 64 * 64;
  return bytes > element_bytes ? bytes / element_bytes : 1;
}

/// Collectives with arithmetic: reduce, all_reduce, reduce_scatter, along T(p) or T(V). `T` is the element of the
/// output, `In` that of the input.
template <class In, class T, class Acc, class Op>
struct reduce_work : work_base {
  static constexpr bool may_throw = !std::is_nothrow_invocable_v<Op const&, Acc const&, Acc const&>;
  using stack = tile_stack<In, Acc, Op>;

  Op op;
  reduce_shape shape;

  HEDDLE_FN reduce_work(Op const& o, reduce_shape const& s) : op(o), shape(s) {}

  HEDDLE_FN void use_counts() noexcept { shape.by_counts = true; }

  /// Reads the counts, when the work runs, and checks sizes against them.
  HEDDLE_FN void prepare(int ranks, int me) noexcept {
    if (!shape.by_counts || post.fault) return;
    index_t const sum = sum_of_counts(post.counts, ranks);
    index_t const out = static_cast<index_t>(post.out_bytes / sizeof(T));
    require(sum == shape.total, "counts must not be negative and must add up to the input", sum, shape.total);
    if (post.fault) return;
    post.call.counts_hash = hash_counts(post.counts, ranks);
    require(out == post.counts[me], "the output must have the size that the counts say", out, post.counts[me]);
    check_aliasing(*this, 0, range_of(ranks, me).offset * static_cast<index_t>(sizeof(T)));
  }

  /// The part of the whole that a rank's output holds. Units: elements.
  HEDDLE_FN part range_of(int ranks, int r) const noexcept {
    if (kind() == traffic::all_reduce || (kind() == traffic::reduce_to_root && r == root())) return {0, shape.total};
    if (kind() == traffic::reduce_to_root) return {0, 0};
    if (!shape.by_counts) return balanced_part(shape.total, ranks, r);
    index_t offset = 0;
    for (int i = 0; i < r; ++i) offset += post.counts[i];
    return {offset, post.counts[r]};
  }

  /// Whether one contribution is the result, bit for bit.
  static HEDDLE_FN constexpr bool copies_one() noexcept {
    return std::is_same_v<In, T> &&
           (std::is_same_v<Op, mean> || !requires(Op const& o, Acc const& a) { o.finish(a, 1); });
  }
  HEDDLE_FN index_t terms(int ranks) const noexcept { return shape.leaves ? shape.leaves : ranks; }
  /// Terms that are added to a first one to make the block that is this rank's to reduce.
  HEDDLE_FN index_t combinations(int ranks, int me) const noexcept {
    if (post.fault) return 0;
    index_t pieces = ranks;
    if (shape.leaves) {
      pieces = 0;
      for (int r = 0; r < ranks; ++r) {
        part const own = balanced_part(shape.leaves, ranks, r);
        pieces += tree_piece_count(shape.leaves, own.offset, own.end());
      }
    }
    index_t block = balanced_part(shape.total, ranks, me).size;
    if (kind() == traffic::reduce_to_root) block = me == root() ? shape.total : 0;
    if (kind() == traffic::reduce_scatter) block = static_cast<index_t>(post.out_bytes / sizeof(T));
    return (pieces - 1) * block;
  }
  HEDDLE_FN bool fits_inline(int) const noexcept {
    return !may_throw && shape.leaves == 0 && shape.total * static_cast<index_t>(sizeof(In)) <= inline_payload_bytes;
  }
  HEDDLE_FN bool consistent(peers const&, text&) const noexcept { return true; }
  HEDDLE_FN index_t chunks(peers const& all) const noexcept {
    index_t const c = reduce_chunk_elements(shape.total, sizeof(Acc), all.size);
    return (shape.total + c - 1) / c;
  }

  /// The bytes of direct reduce-scatter, and of handing out the blocks; the accumulator travels in elastic pieces.
  HEDDLE_FN sent_amount sent(int ranks, int me) const noexcept {
    sent_amount s{};
    index_t pieces = 1;
    if (shape.leaves) {
      part const own = balanced_part(shape.leaves, ranks, me);
      pieces = tree_piece_count(shape.leaves, own.offset, own.end());
    }
    auto const add = [&s](index_t messages, index_t elements, std::size_t size) {
      if (elements == 0) return;
      s.messages += messages;
      s.bytes += messages * elements * static_cast<index_t>(size);
    };
    if (kind() == traffic::reduce_to_root) {
      if (me != root()) add(pieces, shape.total, sizeof(In));
      return s;
    }
    bool const everywhere = kind() == traffic::all_reduce;
    for (int d = 0; d < ranks; ++d) {
      part const block = everywhere ? balanced_part(shape.total, ranks, d) : range_of(ranks, d);
      if (d != me) add(pieces, block.size, sizeof(In));
      if (d != me && everywhere) add(1, balanced_part(shape.total, ranks, me).size, sizeof(T));
    }
    return s;
  }

  /// One range of the whole, reduced once and written to every output that has it.
  template <class Stop>
  HEDDLE_FN void chunk(peers const& all, index_t c, Stop const& stop) const {
    index_t const size = reduce_chunk_elements(shape.total, sizeof(Acc), all.size);
    index_t const end = (c + 1) * size < shape.total ? (c + 1) * size : shape.total;
    for (index_t at = c * size; at < end; at += stack::tile) {
      if (stop()) return;
      index_t const n = end - at < stack::tile ? end - at : stack::tile;
      stack s(op, n);
      fold(all, at, s);
      if (kind() == traffic::all_reduce)
        write_all(all, at, s);
      else
        for (int r = 0; r < all.size; ++r) write(all, r, at, s);
    }
  }

  HEDDLE_FN void local(peers const& all, int me) const {
    part const mine = range_of(all.size, me);
    for (index_t at = mine.offset; at < mine.end(); at += stack::tile) {
      stack s(op, mine.end() - at < stack::tile ? mine.end() - at : stack::tile);
      fold(all, at, s);
      write(all, me, at, s);
    }
  }

 private:
  HEDDLE_FN void fold(peers const& all, index_t at, stack& s) const {
    if (shape.leaves) {
      auto const source = [&](index_t r, index_t piece) {
        char const* const base = static_cast<char const*>(all.in(static_cast<int>(r)));
        return reinterpret_cast<In const*>(base + piece * all.at(static_cast<int>(r)).in_stride) + at;
      };
      piece_fold(s, shape.leaves, all.size, source).run();
    } else {
      fold_ranks(s, all.size, [&](index_t r) { return static_cast<In const*>(all.in(static_cast<int>(r))) + at; });
    }
  }

  HEDDLE_FN void write_all(peers const& all, index_t at, stack& s) const {
    write(all, 0, at, s);  // finished and rounded once, then copied
    T const* const first = static_cast<T const*>(all.out(0)) + at;
    for (int r = 1; r < all.size; ++r)
      __builtin_memcpy(static_cast<T*>(all.out(r)) + at, first, static_cast<std::size_t>(s.size()) * sizeof(T));
  }

  HEDDLE_FN void write(peers const& all, int r, index_t at, stack& s) const {
    part const range = range_of(all.size, r);
    index_t const lo = at > range.offset ? at : range.offset;
    index_t const hi = at + s.size() < range.end() ? at + s.size() : range.end();
    if (lo >= hi) return;
    T* const out = static_cast<T*>(all.out(r)) + (lo - range.offset);
    if constexpr (copies_one())
      if (terms(all.size) == 1) {
        In const* const only = static_cast<In const*>(all.in(0));
        __builtin_memmove(out, only + lo, static_cast<std::size_t>(hi - lo) * sizeof(T));
        return;
      }
    store_tile(op, s.result() + (lo - at), hi - lo, terms(all.size), out);
  }
};

}  // namespace heddle::detail
