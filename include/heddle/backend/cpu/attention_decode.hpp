// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/attention/decode.hpp>
#include <heddle/backend/cpu/attention_forward.hpp>

namespace heddle {
namespace attention::detail {

/// The rows of queries and the part of the keys of one task; false where there are none.
HEDDLE_FN bool find_decode_task(geometry const& g, index_t task, query_tile& found) {
  index_t const all = g.share_q() * g.group(), tiles = (all + rows_per_task - 1) / rows_per_task;
  key_split split;
  if (!find_split(g, task / tiles / g.heads_kv, split)) return false;
  index_t const first = task % tiles * rows_per_task, left = all - first;
  found = {
      split.seg, task / tiles % g.heads_kv, g.group(), first, left < rows_per_task ? left : rows_per_task, split.part,
      split.slot};
  return true;
}

}  // namespace attention::detail

/// The parts of decode on CPUs: one task for each part and key head, by the loops of forward.
template <>
struct kernel<attention::decode_fn, cpu_tag> {
  template <class Executor, class Work>
  HEDDLE_FN static void run(Executor& exec, Work const& work) {
    namespace in = attention::detail;
    using T = typename Work::number;
    in::geometry const& g = work.rules.sizes;
    index_t const rows = g.share_q() * g.group(),
                  tiles = (rows + in::rows_per_task - 1) / in::rows_per_task;
    scratch_frame frame(exec);
    T* const memory = frame.template take<T>(exec.concurrency() * in::forward_room(work));
    exec.for_each_tile(in::slots_of(g) * g.heads_kv * tiles, [work, memory](index_t task, int worker) {
      in::query_tile rows_of_task;
      if (in::find_decode_task(work.rules.sizes, task, rows_of_task))
        in::forward_rows(work, rows_of_task, memory + worker * in::forward_room(work));
    });
  }
};

}  // namespace heddle
