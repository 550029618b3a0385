// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/checkpoint/store.hpp>
#include <heddle/core/tensor.hpp>
#include <heddle/exec/executor.hpp>
#include <heddle/parallel/parameter_list.hpp>

#include <string>
#include <string_view>
#include <vector>

/// @file
/// All parameters of a whole model on one rank, filled from a save of ours or from a published file.

namespace heddle::model {

/// Entries that published files hold beside the parameters, which loading passes over: causal masks of GPT-2
/// ("*.attn.bias", "*.attn.masked_bias"), rotary tables of Llama ("*.rotary_emb.inv_freq"), a copy of the head
/// ("lm_head.weight") where the model ties it to the token table, and state of an optimizer ("*|*") in the file of a
/// rank that is read by itself.
HEDDLE_FN bool is_passed_over(std::string_view name, bool tied) {
  for (std::string_view ending : {".attn.bias", ".attn.masked_bias", ".rotary_emb.inv_freq"})
    if (name.size() > ending.size() && name.substr(name.size() - ending.size()) == ending) return true;
  if (name.find('|') != std::string_view::npos) return true;
  return tied && name == "lm_head.weight";
}

/// Parameters in one buffer, tied ones stored once.
///
/// Types: T is the storage type. Memory: `size() * sizeof(T)` bytes of the space.
template <class T>
class weights {
 public:
  /// Post: the elements are uninitialised.
  template <executor E, class Model>
  HEDDLE_FN weights(E& exec, Model const& model, host_space& space = default_host_space)
      : list_(model, model, 1), flat_(exec, space, dims<1>(list_.stored_size())) {}
  weights(weights const&) = delete;
  weights& operator=(weights const&) = delete;
  HEDDLE_FN ~weights() = default;

  HEDDLE_FN parallel::parameter_list const& list() const noexcept { return list_; }
  HEDDLE_FN index_t size() const noexcept { return flat_.size(); }
  /// The elements of one record of the list.
  HEDDLE_FN view<T, 1> values(std::size_t record) const {
    index_t const at = list_.stored_at(record);
    return slice(flat_.view(), 0, at, at + list_.records()[record].size);
  }
  /// Whether a record is the second use of an earlier one.
  HEDDLE_FN bool is_alias(std::size_t record) const {
    return list_.aliased() && list_.records()[record].use == parallel::tied_use::back;
  }

  /// Points the leaves of a tree to the parameters.
  /// Pre: the model has the leaves of the one that the weights were made for. Errors: contract_error naming the first
  /// leaf that differs.
  template <class Model, class Tree>
  HEDDLE_FN void bind(Model const& model, Tree& tree) const {
    parallel::parameter_list const other(model, model, 1);
    HEDDLE_EXPECTS(other.records().size() == list_.records().size(), "weights were made for another model",
                   list_.records().size(), other.records().size());
    for (std::size_t i = 0; i < other.records().size(); ++i) {
      auto const &mine = list_.records()[i], &wanted = other.records()[i];
      HEDDLE_EXPECTS(mine.name == wanted.name && mine.extents == wanted.extents, "weights were made for another model",
                     mine.name.c_str(), wanted.name.c_str(), mine.size, wanted.size);
    }
    other.bind(model, tree, flat_.data(), false);
  }

  /// Fills everything from a store: names as in the model, or all of them after "transformer."; any float type.
  ///
  /// Post: a report that names, in the model's order, each parameter that is missing or has another shape (with both
  /// shapes), and then each stored one that the model lacks; `is_passed_over` says what may be there beside. A fault of
  /// names or shapes is found before anything is written. Errors: errc::file.
  HEDDLE_FN checkpoint::report load(checkpoint::store const& from) {
    std::vector<checkpoint::expected_entry> const stored = from.entries();
    std::string const prefix = prefix_in(stored);
    checkpoint::report faults = check(from, stored, prefix);
    for (std::size_t i = 0; i < list_.records().size() && faults; ++i)
      if (!is_alias(i)) faults.add(load_record(from, prefix, i));
    return faults;
  }

 private:
  static HEDDLE_FN any_box space_of(parallel::parameter_record const& r) {
    return whole(r.extents.data(), r.extents.size());
  }
  /// Some programs save the model inside of one that they call "transformer".
  HEDDLE_FN std::string prefix_in(std::vector<checkpoint::expected_entry> const& stored) const {
    std::string const prefix = "transformer.";
    std::string const first = list_.records().empty() ? std::string() : prefix + list_.records()[0].name;
    for (auto const& e : stored)
      if (e.key.empty() && e.name == first) return prefix;
    return {};
  }
  HEDDLE_FN checkpoint::report check(checkpoint::store const& from,
                                     std::vector<checkpoint::expected_entry> const& stored,
                                     std::string const& prefix) const {
    // What may be there beside is expected as it is; only parameters have the empty state key.
    std::vector<checkpoint::expected_entry> wanted;
    for (std::size_t i = 0; i < list_.records().size(); ++i)
      if (!is_alias(i)) wanted.emplace_back(prefix + list_.records()[i].name, "", space_of(list_.records()[i]));
    for (auto const& e : stored)
      if (!e.key.empty() || is_passed_over(e.name, list_.aliased())) wanted.push_back(e);
    return from.check(wanted);
  }
  HEDDLE_FN checkpoint::report load_record(checkpoint::store const& from, std::string const& prefix, std::size_t i) {
    parallel::parameter_record const& r = list_.records()[i];
    std::string const name = prefix + r.name;
    view<T, 1> const out = values(i);
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
      return from.load_range(name, "", space_of(r), {0, r.size}, out);
    } else {
      checkpoint::report faults;
      std::vector<float> part(static_cast<std::size_t>(r.size < piece ? r.size : piece));
      for (index_t at = 0; at < r.size && faults; at += piece) {
        index_t const end = at + piece < r.size ? at + piece : r.size;
        faults.add(from.load_range(name, "", space_of(r), {at, end}, view<float, 1>(part.data(), dims<1>(end - at))));
        for (index_t e = at; e < end && faults; ++e) out(e) = static_cast<T>(part[static_cast<std::size_t>(e - at)]);
      }
      return faults;
    }
  }

  static constexpr index_t piece = 1 << 18;  // floats that are converted at a time
  parallel::parameter_list list_;
  tensor<T, 1> flat_;
};

}  // namespace heddle::model
