// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/pipeline/detail/graph.hpp>
#include <heddle/pipeline/detail/join.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace heddle::pipeline::detail {

inline constexpr int most_cycle_searches = 4096;

// The nodes that lie on a cycle or between two: what neither end of the graph can peel off.
HEDDLE_FN std::vector<char> knotted(graph const& g) {
  std::vector<char> in(static_cast<std::size_t>(g.nodes()), 1);
  for (int n : g.sorted()) in[static_cast<std::size_t>(n)] = 0;
  std::vector<int> leaves(in.size(), 0);
  std::vector<std::vector<int>> before(in.size());
  for (graph::edge const& e : g.edges())
    if (in[static_cast<std::size_t>(e.from)] && in[static_cast<std::size_t>(e.to)]) {
      ++leaves[static_cast<std::size_t>(e.from)];
      before[static_cast<std::size_t>(e.to)].push_back(e.from);
    }
  std::vector<int> ends;
  for (int n = 0; n < g.nodes(); ++n)
    if (in[static_cast<std::size_t>(n)] && leaves[static_cast<std::size_t>(n)] == 0) ends.push_back(n);
  for (std::size_t i = 0; i < ends.size(); ++i) {
    in[static_cast<std::size_t>(ends[i])] = 0;
    for (int p : before[static_cast<std::size_t>(ends[i])])
      if (--leaves[static_cast<std::size_t>(p)] == 0) ends.push_back(p);
  }
  return in;
}

// The shortest way from `start` back to itself, counted in units, if shorter than `best`; else empty.
class cycle_search {
 public:
  HEDDLE_FN cycle_search(graph const& g, std::vector<char> const& in) : g_(g), in_(in), from_(in.size(), -1) {}
  HEDDLE_FN cycle_search(cycle_search const&) = delete;
  HEDDLE_FN cycle_search& operator=(cycle_search const&) = delete;
  HEDDLE_FN ~cycle_search() = default;

  HEDDLE_FN std::vector<int> run(int start, int best) {
    std::fill(from_.begin(), from_.end(), -1);
    std::vector<int> level{start}, next;
    for (int length = 0; length < best && !level.empty(); ++length) {
      // Steps inside a unit cost nothing, so they stay in the level that is being walked.
      for (std::size_t i = 0; i < level.size(); ++i)
        for (graph::edge const* e = g_.begin(level[i]); e != g_.end(level[i]); ++e) {
          if (!in_[static_cast<std::size_t>(e->to)]) continue;
          if (e->to == start) return path(start, level[i]);
          int& via = from_[static_cast<std::size_t>(e->to)];
          if (via >= 0) continue;
          via = level[i];
          (g_.unit_at(e->to) == g_.unit_at(e->from) ? level : next).push_back(e->to);
        }
      level.swap(next);
      next.clear();
    }
    return {};
  }

 private:
  HEDDLE_FN std::vector<int> path(int start, int last) const {
    std::vector<int> units;
    for (int n = last;; n = from_[static_cast<std::size_t>(n)]) {
      int const u = g_.unit_at(n);
      if (units.empty() || units.back() != u) units.push_back(u);
      if (n == start) break;
    }
    if (units.size() > 1 && units.front() == units.back()) units.pop_back();
    return units;
  }

  graph const& g_;
  std::vector<char> const& in_;
  std::vector<int> from_;
};

/// The units of a shortest cycle, each waiting for the one behind it in the list and the last for the first; empty
/// where there is none. Starts with the lowest unit. Looks from the first 4096 knotted nodes only, so on very large
/// knots a shorter one may exist.
HEDDLE_FN std::vector<int> shortest_cycle(graph const& g) {
  std::vector<char> const in = knotted(g);
  std::vector<int> shortest;
  cycle_search search(g, in);
  int tried = 0, best = g.units() + 1;
  for (int n = 0; n < g.nodes() && tried < most_cycle_searches && best > 1; ++n) {
    if (!in[static_cast<std::size_t>(n)]) continue;
    ++tried;
    std::vector<int> found = search.run(n, best);
    if (found.empty() || (!shortest.empty() && found.size() >= shortest.size())) continue;
    shortest.swap(found);
    best = static_cast<int>(shortest.size());
  }
  std::rotate(shortest.begin(), std::min_element(shortest.begin(), shortest.end()), shortest.end());
  return shortest;
}

HEDDLE_FN std::string unit_text(schedule const& s, graph::unit const& u) {
  std::string t;
  for (int i = 0; i < u.count; ++i) {
    if (i > 0) t += ' ';
    t += to_string(s.order[static_cast<std::size_t>(u.device)][static_cast<std::size_t>(u.first + i)]);
  }
  return join(u.count > 1 ? "{" : "", t, u.count > 1 ? "}" : "", " on device ", u.device);
}

// V3.
HEDDLE_FN void check_order(schedule const& s, graph const& g, verify_report& report) {
  auto const& op_at = [&](op_place p) -> operation const& {
    return s.order[static_cast<std::size_t>(p.device)][static_cast<std::size_t>(p.position)];
  };
  for (graph::inversion const& i : g.inversions())
    report.add(
        rule::order, {i.here, i.needed},
        to_string(op_at(i.here)) + " needs " + to_string(op_at(i.needed)) +
            (g.of(i.here) == g.of(i.needed) ? ", which is issued together with it" : ", which stands behind it"));
  std::vector<int> const cycle = shortest_cycle(g);
  if (cycle.empty()) return;
  std::string text = "deadlock: ";
  std::vector<op_place> places;
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    graph::unit const& here = g.describe(cycle[i]);
    text += unit_text(s, here) + " waits for ";
    places.push_back({here.device, here.first});
  }
  report.add(rule::order, std::move(places), text + unit_text(s, g.describe(cycle[0])));
}

}  // namespace heddle::pipeline::detail
