// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/checkpoint/store.hpp>
#include <heddle/checkpoint/store_writer.hpp>
#include <heddle/model/trainer.hpp>

#include <string>
#include <vector>

/// @file
/// Saving a training run and resuming it on any mesh: every rank writes what it owns, every rank reads what it needs.

namespace heddle::model {

namespace detail {

/// The checkpoint's key of the counter of applied steps.
inline constexpr char const* applied_key = "step";

HEDDLE_FN any_box space_of(parallel::parameter_record const& r) {
  return whole(r.extents.data(), r.extents.size());
}
HEDDLE_FN any_box one_number() {
  index_t const n = 1;
  return whole(&n, 1);
}

/// Rank 0's three numbers, on every rank.
template <class Trainer>
HEDDLE_FN void share(Trainer& t, std::int64_t (&numbers)[3]) {
  broadcast(t.world(), t.compute(), view<std::int64_t, 1>(numbers, dims<1>(3)), 0);
  t.compute().synchronize();
}

/// The state arrays of a shard under their checkpoint keys: moments, and the fp32 values under "".
template <class Trainer, class F>
HEDDLE_FN void for_each_array(Trainer& t, optim::flat_piece const& p, F const& f) {
  using optimizer = typename Trainer::optimizer_type;
  dims<1> const n(p.range.size());
  for (int i = 0; i < optimizer::arrays; ++i)
    f(optim::adam::key(i), view<float, 1>(t.optimizer().array(i).data() + p.offset, n));
  if constexpr (optimizer::has_master)
    f("", view<float, 1>(t.optimizer().array(optimizer::arrays).data() + p.offset, n));
  else
    f("", view<float, 1>(t.parameters() + t.optimizer().stored_at(p), n));
}

}  // namespace detail

/// Saves parameters, moments and counters of all ranks under `root`, with `meta` beside them.
///
/// Sync: collective. Errors: errc::file on the rank that can't write, peer_failed on the others; the save before stays
/// the one that counts, and what was written of this one is removed. Determinism: values are fp32 and whole logical
/// tensors, so any mesh can read them.
template <class Trainer>
HEDDLE_FN void save(Trainer& t, std::string const& root, index_t step,
                    std::vector<std::pair<std::string, std::string>> const& meta) {
  auto const& state = t.state();
  int const rank = t.world().rank(), ranks = t.world().size();
  t.synchronize();
  std::int64_t id[3] = {step, 0, 0};
  if (rank == 0) id[1] = checkpoint::next_save(root, step).attempt;
  detail::share(t, id);
  checkpoint::save_id const save{id[0], id[1]};
  checkpoint::rank_writer writer(root, save, rank);
  bool const owns = t.options().shard_optimizer || state.dp_rank() == 0;
  if (owns)
    for (optim::flat_piece const& p : t.optimizer().pieces()) {
      auto const& record = state.list.records()[static_cast<std::size_t>(p.parameter)];
      if (record.use == parallel::tied_use::back) continue;  // stored once, by the stage of its first use
      detail::for_each_array(t, p, [&](char const* key, auto const& values) {
        writer.add_range(record.name, key, detail::space_of(record), p.range, values);
      });
      if (p.range.lo == 0)
        writer.add(record.name, detail::applied_key, detail::one_number(), detail::one_number(),
                   slice(t.optimizer().applied(), 0, p.parameter, p.parameter + 1));
    }
  std::vector<std::int64_t> all(static_cast<std::size_t>(3 * ranks));
  try {
    checkpoint::rank_file const mine = writer.finish_rank();
    std::int64_t const numbers[3] = {mine.rank, mine.bytes, mine.crc32c};
    all_gather(t.world(), t.compute(), view<std::int64_t const, 1>(numbers, dims<1>(3)),
               view<std::int64_t, 1>(all.data(), dims<1>(3 * ranks)));
    t.compute().synchronize();
  } catch (...) {
    checkpoint::abandon(root, save, rank);
    throw;
  }
  if (rank == 0) {
    checkpoint::manifest m;
    m.id = save;
    m.meta = meta;
    for (std::size_t r = 0; r < all.size(); r += 3) m.files.push_back({all[r], all[r + 1], all[r + 2]});
    try {
      checkpoint::commit(root, m);
    } catch (...) {
      checkpoint::abandon(root, save);
      throw;
    }
  }
  barrier(t.world(), t.compute());
  t.compute().synchronize();
}

namespace detail {

/// Everything that a checkpoint of this model holds.
template <class Model>
HEDDLE_FN std::vector<checkpoint::expected_entry> expected_entries(Model const& whole) {
  std::vector<checkpoint::expected_entry> all;
  parallel::parameter_list const list(whole, whole, 1);
  for (auto const& r : list.records()) {
    if (r.use == parallel::tied_use::back) continue;
    for (char const* key : {"", optim::adam::key(0), optim::adam::key(1)}) all.emplace_back(r.name, key, space_of(r));
    if (r.size > 0) all.emplace_back(r.name, applied_key, one_number());
  }
  return all;
}

template <class Trainer>
HEDDLE_FN void load_state(Trainer& t, checkpoint::store const& from) {
  auto const& records = t.state().list.records();
  for (std::size_t i = 0; i < records.size(); ++i) {
    std::vector<float> values(static_cast<std::size_t>(records[i].size));
    checkpoint::require(from.load_range(records[i].name, "", space_of(records[i]), {0, records[i].size},
                                        view<float, 1>(values.data(), dims<1>(records[i].size))),
                        from.folder());
    t.fill(i, [&](index_t e) { return values[static_cast<std::size_t>(e)]; });
    if (records[i].size > 0)
      checkpoint::require(from.load_box(records[i].name, applied_key, one_number(), one_number(),
                                        slice(t.optimizer().applied(), 0, static_cast<index_t>(i),
                                              static_cast<index_t>(i) + 1)),
                          from.folder());
  }
  for (optim::flat_piece const& p : t.optimizer().pieces()) {
    auto const& record = records[static_cast<std::size_t>(p.parameter)];
    for_each_array(t, p, [&](char const* key, auto const& values) {
      if (*key != 0)
        checkpoint::require(from.load_range(record.name, key, space_of(record), p.range, values), from.folder());
    });
  }
}

}  // namespace detail

/// Resumes from the newest usable save under `root`; returns its step and calls `meta(store)` on every rank.
///
/// Sync: collective. Errors: errc::file where there is no usable save, errc::format where it is of another model: the
/// message names the first entry that differs and both shapes. Post: after an error the trainer holds a mixture of what
/// it had and what was read; resume again or drop it. Determinism: the run goes on with the same bits.
template <class Trainer, class Model, class Meta>
HEDDLE_FN index_t resume(Trainer& t, std::string const& root, Model const& whole, Meta const& meta) {
  t.synchronize();
  checkpoint::store from;
  std::int64_t id[3] = {0, 0, 0};
  if (t.world().rank() == 0) {
    from = checkpoint::open_store(root);
    id[0] = from.id().step;
    id[1] = from.id().attempt;
  }
  detail::share(t, id);
  if (t.world().rank() != 0)
    checkpoint::require(checkpoint::open_save(root, {id[0], id[1]}, from, checkpoint::verify::sizes), root);
  checkpoint::require(from.check(detail::expected_entries(whole)), from.folder());
  detail::load_state(t, from);
  meta(from);
  barrier(t.world(), t.compute());
  t.compute().synchronize();
  return id[0];
}

}  // namespace heddle::model
