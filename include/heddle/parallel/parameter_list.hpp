// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/nn/parameters.hpp>
#include <heddle/optim/flat.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace heddle::parallel {

/// Which use of a parameter a leaf is, where the same dotted name stands at both ends of a model.
enum class tied_use : int { none, source, back };

/// One leaf of a stage, as optimizer, checkpoint and memory plan see it.
struct parameter_record {
  std::string name;
  std::vector<index_t> extents;
  index_t size = 0;
  nn::leaf_options options{};
  int bucket = 0;  ///< of the flat layout
  tied_use use = tied_use::none;

  HEDDLE_FN parameter_record() = default;
  HEDDLE_FN parameter_record(parameter_record const&) = default;
  HEDDLE_FN parameter_record(parameter_record&&) noexcept = default;
  HEDDLE_FN parameter_record& operator=(parameter_record const&) = default;
  HEDDLE_FN parameter_record& operator=(parameter_record&&) noexcept = default;
  HEDDLE_FN ~parameter_record() = default;
};

/// The leaves of one stage in the order of its flat buffers, and where each of them lies.
///
/// Buckets of the layout: the source's tied table alone, the rest of the source, each block, the rest of what follows,
/// the head's use of the tied table alone. A tied parameter so has the same cut on both of its stages. Where one stage
/// holds both uses the parameter is stored once and has two gradients.
class parameter_list {
 public:
  /// @param stage the part that this rank runs; @param whole the uncut model, which tells what is tied
  template <class Stage>
  HEDDLE_FN parameter_list(Stage const& stage, Stage const& whole, index_t ranks)
      : stage_buckets_(stage.buckets()), one_stage_(stage.first && stage.last) {
    std::vector<std::string> const twice = names_used_twice(whole);
    collector visitor{this, &twice, 0};
    nn::for_each_leaf(stage, visitor);
    // Leaves are visited in the order of the description; the layout wants them by bucket.
    std::vector<std::size_t> by_bucket(records_.size());
    for (std::size_t i = 0; i < by_bucket.size(); ++i) by_bucket[i] = i;
    std::stable_sort(by_bucket.begin(), by_bucket.end(),
                     [&](std::size_t a, std::size_t b) { return records_[a].bucket < records_[b].bucket; });
    position_.resize(records_.size());
    std::vector<parameter_record> sorted;
    std::vector<optim::flat_layout::parameter> sizes;
    for (std::size_t i : by_bucket) {
      position_[i] = static_cast<index_t>(sorted.size());
      sizes.push_back({records_[i].size, records_[i].bucket});
      sorted.push_back(records_[i]);
    }
    records_ = sorted;
    sizes.push_back({0, buckets() - 1});  // so that the last buckets exist where they are empty
    layout_ = optim::flat_layout(sizes, ranks);
  }
  HEDDLE_FN parameter_list(parameter_list const&) = default;
  HEDDLE_FN parameter_list(parameter_list&&) noexcept = default;
  HEDDLE_FN parameter_list& operator=(parameter_list const&) = default;
  HEDDLE_FN parameter_list& operator=(parameter_list&&) noexcept = default;
  HEDDLE_FN ~parameter_list() = default;

  HEDDLE_FN std::vector<parameter_record> const& records() const noexcept { return records_; }
  HEDDLE_FN optim::flat_layout const& layout() const noexcept { return layout_; }
  /// Buckets of the layout.
  HEDDLE_FN int buckets() const noexcept { return stage_buckets_ + 2; }
  HEDDLE_FN int source_tie_bucket() const noexcept { return 0; }
  HEDDLE_FN int back_tie_bucket() const noexcept { return buckets() - 1; }
  HEDDLE_FN bool tied_here() const noexcept { return has(tied_use::source) || has(tied_use::back); }
  HEDDLE_FN bool has(tied_use use) const noexcept {
    for (auto const& r : records_)
      if (r.use == use) return true;
    return false;
  }
  /// Whether this stage stores a second use as an alias of the first.
  HEDDLE_FN bool aliased() const noexcept { return one_stage_ && has(tied_use::back); }

  /// Elements of stored parameters: gradients have `layout().size()`, which counts both uses of a tied one.
  HEDDLE_FN index_t stored_size() const {
    return aliased() ? layout_.bucket(back_tie_bucket()).offset : layout_.size();
  }
  /// Where a parameter is stored.
  HEDDLE_FN index_t stored_at(std::size_t record) const {
    if (aliased() && records_[record].use == tied_use::back) return 0;
    return layout_.place(static_cast<index_t>(record)).lo;
  }

  /// Points the leaves of a tree into a flat buffer: of parameters, or of gradients where both uses have their own.
  template <class Stage, class Tree, class T>
  HEDDLE_FN void bind(Stage const& stage, Tree& tree, T* flat, bool gradients) const {
    std::size_t visited = 0;
    nn::for_each_leaf(
        stage,
        [&](char const*, auto const& extents, nn::leaf_options const&, auto& leaf) {
          std::size_t const record = static_cast<std::size_t>(position_[visited++]);
          index_t const at = gradients ? layout_.place(static_cast<index_t>(record)).lo : stored_at(record);
          leaf.local = decltype(leaf.local)(flat + at, extents);
        },
        tree);
  }

  /// The buckets of the layout that are complete when a bucket of the stage is, the later one first.
  template <class F>
  HEDDLE_FN void for_each_ready(int stage_bucket, F&& f) const {
    if (stage_bucket == stage_buckets_ - 1) f(back_tie_bucket());
    f(stage_bucket + 1);
    if (stage_bucket == 0) f(source_tie_bucket());
  }

 private:
  struct collector {
    parameter_list* list;
    std::vector<std::string> const* twice;
    int stage_bucket;

    HEDDLE_FN void bucket(int b) { stage_bucket = b; }
    template <class Extents>
    HEDDLE_FN void operator()(char const* name, Extents const& extents, nn::leaf_options const& options) {
      parameter_record r;
      r.name = name;
      for (std::size_t i = 0; i < Extents::rank(); ++i) r.extents.push_back(extents[i]);
      r.size = extents.size();
      r.options = options;
      r.bucket = stage_bucket + 1;
      if (std::find(twice->begin(), twice->end(), r.name) != twice->end()) {
        r.use = stage_bucket == 0 ? tied_use::source : tied_use::back;
        r.bucket = stage_bucket == 0 ? list->source_tie_bucket() : list->back_tie_bucket();
      }
      list->records_.push_back(r);
    }
  };

  /// Keeps the bucket in which a name is seen first, and the names that are seen again.
  struct name_collector {
    int last_bucket, at;
    std::vector<std::pair<std::string, int>>* seen;
    std::vector<std::string>* twice;

    HEDDLE_FN void bucket(int b) { at = b; }
    template <class Extents>
    HEDDLE_FN void operator()(char const* name, Extents const&, nn::leaf_options const&) {
      for (auto const& before : *seen) {
        if (before.first != name) continue;
        bool const third = std::find(twice->begin(), twice->end(), name) != twice->end();
        HEDDLE_EXPECTS(!third && before.second == 0 && at == last_bucket,
                       "a parameter may be tied between the source and what follows the blocks, once", name,
                       before.second, at);
        return twice->push_back(name);
      }
      seen->emplace_back(name, at);
    }
  };
  /// The names of tied parameters. Errors: contract_error for a tie that the two tie buckets can't hold.
  template <class Stage>
  static HEDDLE_FN std::vector<std::string> names_used_twice(Stage const& whole) {
    std::vector<std::pair<std::string, int>> seen;
    std::vector<std::string> twice;
    nn::for_each_leaf(whole, name_collector{whole.buckets() - 1, 0, &seen, &twice});
    return twice;
  }
  int stage_buckets_;
  bool one_stage_;
  std::vector<parameter_record> records_;
  std::vector<index_t> position_;  // of a leaf in the order of its visit
  optim::flat_layout layout_;
};

}  // namespace heddle::parallel
