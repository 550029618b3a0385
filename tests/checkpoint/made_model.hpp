// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/checkpoint/store.hpp>

#include <support/catch.hpp>

#include "temporary.hpp"

/// @file
/// A small made model whose elements say where they stand, saved and loaded on any number of ranks.

namespace heddle::test {

struct made_leaf {
  char const* name;
  std::vector<index_t> extents;
  any_box space() const { return whole(extents.data(), extents.size()); }
};

inline std::vector<made_leaf> made_model() {
  return {{"wte.weight", {11, 4}},
          {"h.0.ln.bias", {5}},
          {"h.0.attn.weight", {3, 2, 5}},
          {"empty", {0, 3}},
          {"scale", {}}};
}

/// Element i of a leaf at a step.
inline float value_of(std::size_t leaf, index_t step, index_t i) {
  return static_cast<float>(1000 * leaf + 100000 * static_cast<std::size_t>(step)) + static_cast<float>(i);
}

inline std::vector<float> values(std::size_t leaf, index_t step, any_box const& space, any_box const& part) {
  std::vector<float> out;
  for_each_run(part, space, part, [&](index_t from, index_t, index_t n) {
    for (index_t i = 0; i < n; ++i) out.push_back(value_of(leaf, step, from + i));
  });
  return out;
}

template <class T>
view<T, 1> flat(std::vector<T>& data) {
  return {data.data(), dims<1>(static_cast<index_t>(data.size()))};
}

/// Parameters are cut along their first dimension, moments as flat ranges; rank 0 adds a counter per leaf.
inline checkpoint::rank_file save_rank(std::string const& root, checkpoint::save_id id, index_t rank, index_t ranks,
                                       checkpoint::save_hook hook = {}) {
  checkpoint::rank_writer w(root, id, rank, hook);
  std::vector<std::vector<float>> keep;
  keep.reserve(100);
  index_t const step = id.step;
  std::vector<made_leaf> const model = made_model();
  for (std::size_t l = 0; l < model.size(); ++l) {
    any_box const space = model[l].space();
    bool const scalar = space.rank() == 0;
    any_box const part = scalar ? space : shard_of(space, 0, ranks, rank);
    if (!scalar || rank == 0) {
      keep.push_back(values(l, step, space, part));
      w.add(model[l].name, "", space, part, flat(keep.back()));
    }
    segment const range = cut(space.size(), ranks, rank);
    keep.emplace_back();
    for (index_t i = range.lo; i < range.hi; ++i) keep.back().push_back(-value_of(l, step, i));
    w.add_range(model[l].name, "exp_avg", space, range, flat(keep.back()));
    if (rank == 0) w.add(model[l].name, "step", any_box{}, any_box{}, view<index_t const, 0>(&step, dims<0>()));
  }
  return w.finish_rank();
}

inline checkpoint::save_id save_all(std::string const& root, index_t step, index_t ranks,
                                    checkpoint::save_hook hook = {}, int keep = 2) {
  checkpoint::manifest m;
  m.id = checkpoint::next_save(root, step);
  for (index_t r = 0; r < ranks; ++r) m.files.push_back(save_rank(root, m.id, r, ranks, hook));
  m.meta.emplace_back("seed", "42");
  checkpoint::commit(root, m, keep, hook);
  return m.id;
}

/// Loads everything as one of `ranks` ranks and counts what is wrong.
inline int wrong_elements(checkpoint::store const& s, index_t step, index_t rank, index_t ranks) {
  int wrong = 0;
  std::vector<made_leaf> const model = made_model();
  for (std::size_t l = 0; l < model.size(); ++l) {
    any_box const space = model[l].space();
    std::size_t const dim = space.rank() == 0 ? 0 : space.rank() - 1;  // another dimension than the one that was cut
    any_box const part = space.rank() == 0 ? space : shard_of<layout::ceil>(space, dim, ranks, rank);
    std::vector<float> got(static_cast<std::size_t>(part.size()), -1.0f);
    checkpoint::report r = s.load_box(model[l].name, "", space, part, flat(got));
    wrong += got != values(l, step, space, part);
    segment const range = cut(space.size(), ranks, rank);
    std::vector<float> moments(static_cast<std::size_t>(range.size()), 0.5f);
    r.add(s.load_range(model[l].name, "exp_avg", space, range, flat(moments)));
    for (std::size_t i = 0; i < moments.size(); ++i)
      wrong += moments[i] != -value_of(l, step, range.lo + static_cast<index_t>(i));
    index_t t = -1;
    r.add(s.load_box(model[l].name, "step", any_box{}, any_box{}, view<index_t, 0>(&t, dims<0>())));
    wrong += t != step;
    wrong += static_cast<int>(r.count());
  }
  return wrong;
}

inline std::vector<checkpoint::expected_entry> expected_entries() {
  std::vector<checkpoint::expected_entry> out;
  for (made_leaf const& l : made_model()) {
    out.emplace_back(l.name, "", l.space());
    if (!l.space().empty()) out.emplace_back(l.name, "exp_avg", l.space());
    out.emplace_back(l.name, "step", any_box{});
  }
  return out;
}

/// Collects notices.
struct listener {
  std::vector<std::string> heard;
  checkpoint::notice notice() {
    return {[](char const* m, void* self) { static_cast<listener*>(self)->heard.emplace_back(m); }, this};
  }
};

}  // namespace heddle::test
