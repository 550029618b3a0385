// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Paged caches of which nothing is there but the rows in use: the rest is NaN, and table entries point nowhere.

#include "rules.hpp"

#include <heddle/attention/append.hpp>

namespace heddle::test {

/// Room for sequences of the given lengths, pages in scattered order, all rows NaN.
struct paged_rows_case {
  index_t page, most, heads;
  std::vector<std::int32_t> table, lengths;
  array<float> k, v;

  paged_rows_case(std::vector<std::int32_t> const& used, index_t rows_per_page, index_t heads_kv, index_t dk,
                  index_t dv)
      : page(rows_per_page), most(0), heads(heads_kv), table(), lengths(used), k(0, 0), v(0, 0) {
    index_t pages = 0;
    for (std::int32_t n : used) most = std::max(most, (n + page - 1) / page + 1), pages += (n + page - 1) / page;
    table.assign(used.size() * static_cast<std::size_t>(most), -1000000);
    index_t next = 0;
    for (std::size_t s = 0; s < used.size(); ++s)
      for (index_t n = 0; n < (used[s] + page - 1) / page; ++n)
        table[s * static_cast<std::size_t>(most) + static_cast<std::size_t>(n)] =
            static_cast<std::int32_t>(pages - 1 - next++);
    k = array<float>(pages * page, heads, dk);
    v = array<float>(pages * page, heads, dv);
  }
  attention::paged_cache<float> cache() {
    dims<4> const keys(k.a / page, page, heads, k.c), values(k.a / page, page, heads, v.c);
    index_t const s = static_cast<index_t>(lengths.size());
    return {
        {k.data.data(), keys}, {v.data.data(), values}, {table.data(), dims<2>(s, most)}, {lengths.data(), dims<1>(s)}};
  }
};

}  // namespace heddle::test
