// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/mesh/box.hpp>

#include <vector>

/// @file
/// The flat layout of a list of parameters: buckets that are reduced together, and what each data-parallel rank owns.

namespace heddle::optim {

/// A piece of one parameter inside a flat bucket. Units: elements.
struct flat_piece {
  index_t parameter = 0;  ///< position in the list that the layout was made from
  segment range;          ///< of the parameter's own row-major elements
  index_t offset = 0;     ///< in the bucket, or in the shard where a shard was asked for

  HEDDLE_FN friend bool operator==(flat_piece const& a, flat_piece const& b) noexcept {
    return a.parameter == b.parameter && a.range == b.range && a.offset == b.offset;
  }
};

/// Parameters [first, last) of the list, one after the other, and nothing else. Units: elements.
struct flat_bucket {
  index_t first = 0;
  index_t last = 0;
  index_t offset = 0;  ///< of the bucket in the whole flat buffer
  index_t size = 0;
};

/// Where the elements of a list of parameters lie in one flat buffer, and how `ranks` share each bucket.
///
/// Each bucket is cut `byte_even`: rank r owns the balanced cut of its elements, so a parameter may straddle ranks.
/// Empty parameters, empty buckets and ranks that own nothing are legal. Made at set-up; holds sizes only.
class flat_layout {
 public:
  /// One entry per parameter, in the order of the buffer: its size and the bucket it belongs to.
  struct parameter {
    index_t size = 0;
    index_t bucket = 0;
  };

  HEDDLE_FN flat_layout() : ranks_(1) {}
  /// Pre: sizes >= 0; bucket numbers start at 0 and never fall along the list; ranks >= 1.
  HEDDLE_FN flat_layout(std::vector<parameter> const& list, index_t ranks) : ranks_(ranks) {
    HEDDLE_EXPECTS(ranks >= 1, "at least one rank shares the buffer", ranks);
    index_t at = 0;
    for (parameter const& p : list) {
      HEDDLE_EXPECTS(p.size >= 0, "a parameter has no negative size", p.size);
      HEDDLE_EXPECTS(p.bucket >= 0 && p.bucket + 1 >= buckets(), "buckets follow each other along the list", p.bucket,
                     buckets());
      index_t const i = static_cast<index_t>(start_.size());
      while (static_cast<index_t>(buckets_.size()) <= p.bucket) buckets_.push_back({i, i, at, 0});
      start_.push_back(at);
      size_.push_back(p.size);
      buckets_.back().last = i + 1;
      buckets_.back().size += p.size;
      at += p.size;
    }
    total_ = at;
  }
  HEDDLE_FN flat_layout(flat_layout const& o)
      : start_(o.start_), size_(o.size_), buckets_(o.buckets_), ranks_(o.ranks_), total_(o.total_) {}
  HEDDLE_FN flat_layout& operator=(flat_layout const& o) {
    start_ = o.start_;
    size_ = o.size_;
    buckets_ = o.buckets_;
    ranks_ = o.ranks_;
    total_ = o.total_;
    return *this;
  }
  HEDDLE_FN ~flat_layout() {}

  /// The same buckets, shared by another number of ranks.
  HEDDLE_FN flat_layout recut(index_t ranks) const {
    HEDDLE_EXPECTS(ranks >= 1, "at least one rank shares the buffer", ranks);
    flat_layout other = *this;
    other.ranks_ = ranks;
    return other;
  }

  HEDDLE_FN index_t ranks() const noexcept { return ranks_; }
  HEDDLE_FN index_t size() const noexcept { return total_; }
  HEDDLE_FN index_t parameters() const noexcept { return static_cast<index_t>(size_.size()); }
  HEDDLE_FN index_t buckets() const noexcept { return static_cast<index_t>(buckets_.size()); }
  HEDDLE_FN flat_bucket const& bucket(index_t b) const {
    HEDDLE_EXPECTS(b >= 0 && b < buckets(), "the bucket must exist", b, buckets());
    return buckets_[static_cast<std::size_t>(b)];
  }
  /// Where parameter `at` of the list lies in the whole buffer.
  HEDDLE_FN segment place(index_t at) const {
    HEDDLE_EXPECTS(at >= 0 && at < parameters(), "the parameter must exist", at, parameters());
    std::size_t const i = static_cast<std::size_t>(at);
    return {start_[i], start_[i] + size_[i]};
  }

  /// What a rank owns of a bucket, as a range of the bucket.
  HEDDLE_FN segment owned(index_t b, index_t rank) const { return cut(bucket(b).size, ranks_, rank); }
  /// The elements that a rank owns in all buckets.
  HEDDLE_FN index_t owned_size(index_t rank) const {
    index_t n = 0;
    for (index_t b = 0; b < buckets(); ++b) n += owned(b, rank).size();
    return n;
  }

  /// Calls f(piece) for each non-empty piece of a parameter inside a range of a bucket, ascending; piece.offset counts
  /// from the start of the range.
  template <class F>
  HEDDLE_FN void for_each_piece(index_t b, segment range, F&& f) const {
    flat_bucket const& k = bucket(b);
    HEDDLE_EXPECTS(range.lo >= 0 && range.hi <= k.size, "the range must lie inside the bucket", range.lo, range.hi,
                   k.size);
    for (index_t p = k.first; p < k.last; ++p) {
      segment const at = place(p);
      index_t const lo = at.lo - k.offset, hi = at.hi - k.offset;
      index_t const from = lo > range.lo ? lo : range.lo, to = hi < range.hi ? hi : range.hi;
      if (from < to) f(flat_piece{p, {from - lo, to - lo}, from - range.lo});
    }
  }

  /// Calls f(piece) for each piece that a rank owns, bucket after bucket; piece.offset counts in the rank's own shard,
  /// which holds its parts of all buckets one after the other.
  template <class F>
  HEDDLE_FN void for_each_owned(index_t rank, F&& f) const {
    index_t base = 0;
    for (index_t b = 0; b < buckets(); ++b) {
      segment const mine = owned(b, rank);
      for_each_piece(b, mine, [&](flat_piece p) {
        p.offset += base;
        f(p);
      });
      base += mine.size();
    }
  }

 private:
  std::vector<index_t> start_, size_;
  std::vector<flat_bucket> buckets_;
  index_t ranks_;
  index_t total_ = 0;
};

}  // namespace heddle::optim
