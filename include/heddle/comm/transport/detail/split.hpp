// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/comm/transport/thread.hpp>

namespace heddle {
namespace detail {

/// Numbers that one set-up call needs; not part of a communicator's memory.
class number_list {
 public:
  HEDDLE_FN explicit number_list(int n) : data_(new (std::nothrow) std::int64_t[static_cast<std::size_t>(n)]) {
    if (!data_) throw error(errc::out_of_memory, "no memory to split a communicator");
  }
  number_list(number_list const&) = delete;
  number_list& operator=(number_list const&) = delete;
  HEDDLE_FN ~number_list() { delete[] data_; }
  HEDDLE_FN std::int64_t* data() const noexcept { return data_; }
  HEDDLE_FN std::int64_t& operator[](int i) const noexcept { return data_[i]; }

 private:
  std::int64_t* data_;
};

/// A call of `split` as an all_gather of `each` numbers per rank.
HEDDLE_FN copy_work split_step(std::int64_t const* in, int each, std::int64_t* out, int ranks) noexcept {
  copy_work w{};
  w.post.call = make_call<std::int64_t>(traffic::all_gather, index_t{each} * ranks);
  w.post.call.kind = static_cast<int>(traffic::split);
  w.element = 8;
  w.total = index_t{each} * ranks;
  w.post.in = in;
  w.post.in_bytes = static_cast<std::size_t>(each) * 8;
  w.post.out = out;
  w.post.out_bytes = static_cast<std::size_t>(each) * 8 * static_cast<std::size_t>(ranks);
  return w;
}

/// The ranks of one color in order: how many there are, where `rank` stands, and which parent rank is the lowest.
struct split_place {
  int size = 0, rank = 0, leader = -1;
};
HEDDLE_FN split_place place_in_split(number_list const& pairs, int ranks, int rank) noexcept {
  split_place p{};
  for (int r = 0; r < ranks; ++r) {
    if (pairs[2 * r] != pairs[2 * rank]) continue;
    if (p.leader < 0) p.leader = r;
    ++p.size;
    std::int64_t const key = pairs[2 * r + 1], mine = pairs[2 * rank + 1];
    if (key < mine || (key == mine && r < rank)) ++p.rank;
  }
  return p;
}

}  // namespace detail

inline thread_communicator thread_communicator::split(int color, int key) {
  HEDDLE_EXPECTS(group_ != nullptr, "an empty communicator can't be split");
  int const p = size();
  detail::number_list const pairs(2 * p), groups(p);
  std::int64_t const mine[2] = {color, key};
  note_submission();  // before each call: the second is never made where the first one throws
  collective(detail::split_step(mine, 2, pairs.data(), p));
  detail::split_place const place = detail::place_in_split(pairs, p, rank_);

  // The lowest rank of each color makes the group; its failure must reach all ranks, so it travels as a number.
  constexpr std::int64_t refused = 1;
  detail::thread_group* made = nullptr;
  std::int64_t offer = 0;
  if (color >= 0 && place.leader == rank_) {
    try {
      made = detail::make_group(place.size, *group_->memory, group_);
      offer = static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(made));
    } catch (error const&) {
      offer = refused;
    }
  }
  auto const discard = [&] {
    if (made) {
      made->references = 1;
      detail::release_group(made);
    }
  };
  try {
    note_submission();
    collective(detail::split_step(&offer, 1, groups.data(), p));
  } catch (...) {
    discard();
    throw;
  }
  for (int r = 0; r < p; ++r)
    if (groups[r] == refused) {
      discard();
      throw error(errc::out_of_memory, make_text("rank ", r, " has no memory for the split communicator"), r);
    }
  if (color < 0) return {};
  auto* const g = reinterpret_cast<detail::thread_group*>(static_cast<std::intptr_t>(groups[place.leader]));
  return thread_communicator(g, place.rank, seconds_);
}

}  // namespace heddle
