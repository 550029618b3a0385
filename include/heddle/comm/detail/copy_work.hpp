// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/comm/detail/work.hpp>

namespace heddle::detail {

/// A run of bytes that moves from one rank's input to another rank's output.
struct piece {
  void const* from = nullptr;
  void* to = nullptr;
  index_t bytes = 0;
};

/// Collectives that only move data: broadcast, all_gather(v), gather(v), scatter(v), all_to_all(v).
///
/// The data of a call is `total` elements cut in one block per rank, by `counts` where there are any, else balanced;
/// all_to_all has one block per pair. Piece k of the call is a (source, destination) pair.
struct copy_work : work_base {
  static constexpr index_t chunk_bytes = 64 * 1024;
  static constexpr bool may_throw = false;

  index_t element = 1;  ///< bytes of one element
  index_t total = 0;    ///< elements of the whole
  bool by_counts = false;

  HEDDLE_FN void use_counts() noexcept { by_counts = true; }

  /// Reads the counts, when the work runs, and checks sizes against them.
  HEDDLE_FN void prepare(int ranks, int me) noexcept {
    if (!by_counts || post.fault) return;
    total = sum_of_counts(post.counts, ranks);
    if (total < 0) return fail("counts must not be negative");
    index_t in = total, out = total;
    if (kind() == traffic::all_to_all) {
      out = sum_of_counts(post.receive_counts, ranks);
      if (out < 0) return fail("counts must not be negative");
    } else {
      post.call.count = total;
      post.call.counts_hash = hash_counts(post.counts, ranks);
      (kind() == traffic::scatter ? out : in) = post.counts[me];
    }
    index_t const in_size = static_cast<index_t>(post.in_bytes) / element;
    index_t const out_size = static_cast<index_t>(post.out_bytes) / element;
    if (kind() != traffic::scatter || me == root())
      require(in_size == in, "the input must have the size that the counts say", in_size, in);
    if (kind() != traffic::gather || me == root())
      require(out_size == out, "the output must have the size that the counts say", out_size, out);
    index_t const before = block(ranks, me).offset * element;
    if (kind() != traffic::all_to_all)
      check_aliasing(*this, kind() == traffic::scatter ? 0 : before, kind() == traffic::scatter ? before : 0);
  }

  /// The block of a rank in the whole. Units: elements.
  HEDDLE_FN part block(int ranks, int r) const noexcept {
    if (!by_counts) return balanced_part(total, ranks, r);
    index_t offset = 0;
    for (int i = 0; i < r; ++i) offset += post.counts[i];
    return {offset, post.counts[r]};
  }

  HEDDLE_FN index_t combinations(int, int) const noexcept { return 0; }
  HEDDLE_FN bool fits_inline(int) const noexcept {
    if (kind() == traffic::all_to_all && by_counts) return false;
    return total * element <= inline_payload_bytes;
  }

  /// Counts of all_to_all_v must agree in pairs.
  HEDDLE_FN bool consistent(peers const& all, text& why) const noexcept {
    if (kind() != traffic::all_to_all || !by_counts) return true;
    for (int s = 0; s < all.size; ++s)
      for (int d = 0; d < all.size; ++d)
        if (all.counts(s)[d] != all.receive_counts(d)[s]) {
          why = make_text("all_to_all: rank ", s, " sends ", all.counts(s)[d], " elements to rank ", d,
                          ", which expects ", all.receive_counts(d)[s]);
          return false;
        }
    return true;
  }

  HEDDLE_FN index_t pieces(int ranks) const noexcept {
    switch (kind()) {
      case traffic::split:
      case traffic::all_gather:
      case traffic::all_to_all: return index_t{ranks} * ranks;
      default: return ranks;
    }
  }

  HEDDLE_FN piece get(peers const& all, int source, int destination) const noexcept {
    part from{0, 0}, to{0, 0};
    switch (kind()) {
      case traffic::broadcast: from = to = {0, total}; break;
      case traffic::split:
      case traffic::all_gather:
      case traffic::gather:
        to = block(all.size, source);
        from = {0, to.size};
        break;
      case traffic::scatter:
        from = block(all.size, destination);
        to = {0, from.size};
        break;
      default: exchange(all, source, destination, from, to);
    }
    char const* const in = static_cast<char const*>(all.in(source));
    char* const out = static_cast<char*>(all.out(destination));
    if (from.size == 0) return {};
    return {in + from.offset * element, out + to.offset * element, from.size * element};
  }

  HEDDLE_FN piece get(peers const& all, index_t k) const noexcept {
    switch (kind()) {
      case traffic::split:
      case traffic::all_gather:
      case traffic::all_to_all: return get(all, static_cast<int>(k / all.size), static_cast<int>(k % all.size));
      case traffic::gather: return get(all, static_cast<int>(k), root());
      default: return get(all, root(), static_cast<int>(k));
    }
  }

  HEDDLE_FN index_t chunks(peers const& all) const noexcept {
    index_t longest = 0;
    for (index_t k = 0; k < pieces(all.size); ++k) {
      index_t const bytes = get(all, k).bytes;
      if (bytes > longest) longest = bytes;
    }
    return pieces(all.size) * ((longest + chunk_bytes - 1) / chunk_bytes);
  }

  template <class Stop>
  HEDDLE_FN void chunk(peers const& all, index_t c, Stop const& stop) const noexcept {
    piece const p = get(all, c % pieces(all.size));
    index_t const begin = c / pieces(all.size) * chunk_bytes;
    if (p.from == p.to || begin >= p.bytes || stop()) return;
    copy(p, begin, p.bytes - begin < chunk_bytes ? p.bytes - begin : chunk_bytes);
  }

  HEDDLE_FN sent_amount sent(int ranks, int me) const noexcept {
    sent_amount s{};
    auto const add = [&s, this](index_t messages, index_t elements) {
      if (elements == 0) return;
      s.messages += messages;
      s.bytes += messages * elements * element;
    };
    bool const is_root = me == root();
    switch (kind()) {
      case traffic::broadcast: add(is_root ? ranks - 1 : 0, total); break;
      case traffic::split:
      case traffic::all_gather: add(ranks - 1, block(ranks, me).size); break;
      case traffic::gather: add(is_root ? 0 : 1, block(ranks, me).size); break;
      default:
        for (int d = 0; d < ranks; ++d)
          if (d != me && (is_root || kind() == traffic::all_to_all))
            add(1, kind() == traffic::scatter ? block(ranks, d).size : by_counts ? post.counts[d] : total / ranks);
    }
    return s;
  }

  /// What rank `me` receives, read from the payloads.
  HEDDLE_FN void local(peers const& all, int me) const noexcept {
    switch (kind()) {
      case traffic::broadcast:
      case traffic::scatter: copy_all(get(all, root(), me)); break;
      case traffic::gather:
        if (me != root()) return;
        [[fallthrough]];
      default:
        for (int s = 0; s < all.size; ++s) copy_all(get(all, s, me));
    }
  }

 private:
  HEDDLE_FN static void copy(piece const& p, index_t begin, index_t n) noexcept {
    __builtin_memcpy(static_cast<char*>(p.to) + begin, static_cast<char const*>(p.from) + begin,
                     static_cast<std::size_t>(n));
  }
  HEDDLE_FN static void copy_all(piece const& p) noexcept {
    if (p.bytes > 0 && p.from != p.to) copy(p, 0, p.bytes);
  }
  HEDDLE_FN void exchange(peers const& all, int source, int destination, part& from, part& to) const noexcept {
    if (!by_counts) {
      index_t const n = total / all.size;
      from = {destination * n, n};
      to = {source * n, n};
      return;
    }
    for (int d = 0; d < destination; ++d) from.offset += all.counts(source)[d];
    for (int s = 0; s < source; ++s) to.offset += all.counts(s)[destination];
    from.size = to.size = all.counts(source)[destination];
  }
};

}  // namespace heddle::detail
