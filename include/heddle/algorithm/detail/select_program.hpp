// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/algorithm/detail/radix_bucket.hpp>
#include <heddle/tile/run.hpp>

/// @file
/// The element at one place of the sorted order, found digit by digit.

namespace heddle {
namespace detail {

enum class select_step { begin, count, pick, take };

struct select_state {
  std::uint64_t prefix;  ///< the digits found so far
  index_t rank;          ///< how many of those that begin so stand before the wanted one
};

template <class T, select_step Step>
struct select_program {
  using plain = void;
  using key = typename key_order<T>::key;
  static constexpr int digit_bits = 11, digits = 1 << digit_bits;

  view<T const, 1> in;
  index_t k, chunk, chunks;
  key_order<T> order;
  int shift;        ///< of the digit at work
  index_t* counts;  ///< [chunks, digits]
  select_state* found;
  T* result;

  template <class Ctx>
  struct shared {};
  HEDDLE_FN span work() const {
    constexpr char const* names[] = {"select.begin", "select.count", "select.pick", "select"};
    return {.operation = names[static_cast<int>(Step)],
            .shape = {in.extent(0)},
            .bytes = Step == select_step::count ? element_bytes(in) : 0};
  }
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return Step == select_step::count ? chunks : 1;
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    index_t const c = ctx.tile();
    ctx.for_each(1, [this, c](index_t) { step(c); });
  }

 private:
  HEDDLE_HD_FN void step(index_t c) const {
    if constexpr (Step == select_step::begin)
      *found = select_state{0, k};
    else if constexpr (Step == select_step::count)
      count(c);
    else if constexpr (Step == select_step::pick)
      pick();
    else
      take();
  }
  HEDDLE_HD_FN index_t first_of(index_t c) const { return c * chunk < in.extent(0) ? c * chunk : in.extent(0); }
  HEDDLE_HD_FN key key_at(index_t i) const { return order(in.data()[i * in.stride(0)]); }

  HEDDLE_HD_FN void count(index_t c) const {
    index_t* const own = counts + c * digits;
    for (int d = 0; d < digits; ++d) own[d] = 0;
    std::uint64_t const prefix = found->prefix;
    for (index_t i = first_of(c), end = first_of(c + 1); i < end; ++i) {
      std::uint64_t const x = std::uint64_t{key_at(i)} >> shift;
      if (x >> digit_bits == prefix) ++own[x & (digits - 1)];
    }
  }
  HEDDLE_HD_FN void pick() const {
    index_t rank = found->rank;
    std::uint64_t d = 0;
    for (;; ++d) {
      index_t total = 0;
      for (index_t c = 0; c < chunks; ++c) total += counts[c * digits + static_cast<index_t>(d)];
      if (rank < total) break;
      rank -= total;
    }
    *found = select_state{found->prefix << digit_bits | d, rank};
  }
  // All that are left are equal. The counts of the last digit tell which chunk has the wanted one.
  HEDDLE_HD_FN void take() const {
    index_t rank = found->rank, c = 0;
    index_t const d = static_cast<index_t>(found->prefix & (digits - 1));
    for (; counts[c * digits + d] <= rank; ++c) rank -= counts[c * digits + d];
    for (index_t i = first_of(c);; ++i)
      if (key_at(i) == found->prefix && rank-- == 0) {
        *result = in.data()[i * in.stride(0)];
        return;
      }
  }
};

template <class T, executor E>
HEDDLE_FN void select_to(E& exec, view<T const, 1> const& in, index_t k, T* result, sort_options const& options) {
  using count_program = select_program<T, select_step::count>;
  constexpr index_t least_chunk = index_t{1} << 14;
  index_t const n = in.extent(0), parts = n / least_chunk, most = index_t{4} * exec.concurrency();
  index_t const wanted = parts < 1 ? 1 : parts < most ? parts : most, chunk = tile::ceil_div(n, wanted);
  index_t const chunks = tile::ceil_div(n, chunk);
  scratch_frame<E> frame(exec);
  index_t* const counts = frame.template take<index_t>(chunks * count_program::digits);
  select_state* const found = frame.template take<select_state>(1);
  auto const submit = [&]<select_step Step>(std::integral_constant<select_step, Step>, int shift) {
    using program = select_program<T, Step>;
    tile::run(exec, program{in, k, chunk, chunks, key_order<T>(options), shift, counts, found, result});
  };
  submit(std::integral_constant<select_step, select_step::begin>{}, 0);
  int const levels = (key_order<T>::bits + count_program::digit_bits - 1) / count_program::digit_bits;
  for (int level = levels - 1; level >= 0; --level) {
    submit(std::integral_constant<select_step, select_step::count>{}, level * count_program::digit_bits);
    submit(std::integral_constant<select_step, select_step::pick>{}, level * count_program::digit_bits);
  }
  submit(std::integral_constant<select_step, select_step::take>{}, 0);
}

}  // namespace detail
}  // namespace heddle
