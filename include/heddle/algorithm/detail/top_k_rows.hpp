// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/algorithm/detail/radix_bucket.hpp>
#include <heddle/tile/run.hpp>

/// @file
/// The best elements of a row, by one worker.

namespace heddle {
namespace detail {

/// The best of what has been offered, best first. Keys of one row are offered by rising index, so that an equal one
/// that comes later stays behind.
template <class Key>
struct best_list {
  static constexpr int most = 64;

  int wanted, held;
  Key keys[most];
  index_t at[most];

  HEDDLE_HD_FN explicit best_list(index_t k) : wanted(static_cast<int>(k)), held(0) {}
  /// Whether a key would find a place.
  HEDDLE_TILE bool takes(Key key) const { return held < wanted || key < keys[wanted - 1]; }
  /// Pre: it takes the key.
  HEDDLE_HD_FN void offer(Key key, index_t index) {
    int i = held < wanted ? held++ : held - 1;
    for (; i > 0 && key < keys[i - 1]; --i) {
      keys[i] = keys[i - 1];
      at[i] = at[i - 1];
    }
    keys[i] = key;
    at[i] = index;
  }
};

/// What top_k works on; smaller keys are better.
template <class T, class I>
struct top_k_operands {
  view<T const, 2> x;
  view<T, 2> values;
  view<I, 2> indices;
  key_order<T> order;

  HEDDLE_HD_FN index_t k() const { return values.extent(1); }
  HEDDLE_HD_FN T const* row(index_t r) const { return x.data() + r * x.stride(0); }
  template <class List>
  HEDDLE_HD_FN void write(index_t r, List const& list) const {
    T const* const from = row(r);
    T* const value = values.data() + r * values.stride(0);
    I* const index = indices.data() + r * indices.stride(0);
    for (int i = 0; i < list.held; ++i) {
      value[i * values.stride(1)] = from[list.at[i] * x.stride(1)];
      index[i * indices.stride(1)] = static_cast<I>(list.at[i]);
    }
  }
  HEDDLE_FN span work() const {
    return {.operation = "top_k",
            .shape = {x.extent(0), x.extent(1), k()},
            .bytes = element_bytes(x, values, indices),
            .flops = x.size()};
  }
};

/// Short lists: one pass with a list of the best.
template <class T, class I>
struct top_k_list_program {
  using plain = void;
  top_k_operands<T, I> all;

  template <class Ctx>
  struct shared {};
  HEDDLE_FN span work() const { return all.work(); }
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return all.x.extent(0);
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    index_t const r = ctx.tile();
    ctx.for_each(1, [this, r](index_t) { run(r); });
  }

 private:
  HEDDLE_HD_FN void run(index_t r) const {
    best_list<typename key_order<T>::key> best(all.k());
    T const* const row = all.row(r);
    for (index_t j = 0; j < all.x.extent(1); ++j) {
      auto const key = all.order(row[j * all.x.stride(1)]);
      if (best.takes(key)) best.offer(key, j);
    }
    all.write(r, best);
  }
};

template <class T>
struct top_k_entry {
  typename key_order<T>::key value;
  index_t at;
};

/// A few long rows, cut into parts: the best of each part first, then those of each row.
template <class T, class I, bool Join>
struct top_k_parts_program {
  using plain = void;
  using key = typename key_order<T>::key;
  using list = best_list<key>;
  using entry = top_k_entry<T>;

  top_k_operands<T, I> all;
  index_t part, parts;
  entry* best;  ///< [m, parts, k]

  template <class Ctx>
  struct shared {};
  HEDDLE_FN span work() const {
    return Join ? span{.operation = "top_k.join", .shape = {all.x.extent(0), parts, all.k()}} : all.work();
  }
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return Join ? all.x.extent(0) : all.x.extent(0) * parts;
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    index_t const t = ctx.tile();
    ctx.for_each(1, [this, t](index_t) {
      if constexpr (Join)
        join(t);
      else
        look(t / parts, t % parts);
    });
  }

 private:
  HEDDLE_HD_FN index_t end_of(index_t p) const { return p + 1 < parts ? (p + 1) * part : all.x.extent(1); }
  HEDDLE_HD_FN void look(index_t r, index_t p) const {
    list found(all.k());
    T const* const row = all.row(r);
    for (index_t j = p * part; j < end_of(p); ++j) {
      key const x = all.order(row[j * all.x.stride(1)]);
      if (found.takes(x)) found.offer(x, j);
    }
    entry* const to = best + (r * parts + p) * all.k();
    for (int i = 0; i < found.held; ++i) to[i] = entry{found.keys[i], found.at[i]};
  }
  // Equal keys still come by rising index: parts do, and so does each list.
  HEDDLE_HD_FN void join(index_t r) const {
    list found(all.k());
    for (index_t p = 0; p < parts; ++p) {
      index_t const size = end_of(p) - p * part, held = size < all.k() ? size : all.k();
      entry const* const from = best + (r * parts + p) * all.k();
      for (index_t i = 0; i < held && found.takes(from[i].value); ++i) found.offer(from[i].value, from[i].at);
    }
    all.write(r, found);
  }
};

/// Long lists: the key of the last one by digits, the better ones and the first of its equals in their order, and a
/// stable sort of those.
template <class T, class I>
struct top_k_select_program {
  using plain = void;
  using data = records<T, I>;
  using key = typename key_order<T>::key;

  top_k_operands<T, I> all;
  data first, second;  ///< [m, k] each

  template <class Ctx>
  struct shared {};
  HEDDLE_FN span work() const { return all.work(); }
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return all.x.extent(0);
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    index_t const r = ctx.tile();
    ctx.for_each(1, [this, r](index_t) { run(r); });
  }

 private:
  HEDDLE_HD_FN key key_at(T const* row, index_t j) const { return all.order(row[j * all.x.stride(1)]); }
  HEDDLE_HD_FN void run(index_t r) const {
    index_t const n = all.x.extent(1), k = all.k();
    T const* const row = all.row(r);
    index_t equals = 0;
    key const last = find_last(row, n, k, equals);
    data const kept = first.from(r * k), other = second.from(r * k);
    for (index_t j = 0, to = 0; to < k && j < n; ++j) {
      key const x = key_at(row, j);
      if (x > last || (x == last && equals-- <= 0)) continue;
      kept.keys[to] = row[j * all.x.stride(1)];
      kept.values[to++] = static_cast<I>(j);
    }
    radix_bucket<T, I>(all.order).sort(kept, kept, other, k);
    for (index_t i = 0; i < k; ++i) {
      all.values.data()[r * all.values.stride(0) + i * all.values.stride(1)] = kept.keys[i];
      all.indices.data()[r * all.indices.stride(0) + i * all.indices.stride(1)] = kept.values[i];
    }
  }
  // The key that k - 1 stand before, and how many of its equals are among the k.
  HEDDLE_HD_FN key find_last(T const* row, index_t n, index_t k, index_t& equals) const {
    constexpr int digit_bits = 8, digits = 1 << digit_bits;
    key prefix = 0;
    index_t left = k;
    for (int shift = key_order<T>::bits - digit_bits; shift >= 0; shift -= digit_bits) {
      index_t counts[digits] = {};
      for (index_t j = 0; j < n; ++j) {
        key const x = key_at(row, j);
        if ((std::uint64_t{x} >> shift >> digit_bits) == (std::uint64_t{prefix} >> shift >> digit_bits))
          ++counts[(x >> shift) & (digits - 1)];
      }
      key d = 0;
      for (; counts[d] < left; ++d) left -= counts[d];
      prefix |= d << shift;
    }
    equals = left;
    return prefix;
  }
};

}  // namespace detail
}  // namespace heddle
