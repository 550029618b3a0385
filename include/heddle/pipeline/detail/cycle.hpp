// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/pipeline/detail/graph.hpp>
#include <heddle/pipeline/detail/join.hpp>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

namespace heddle::pipeline::detail {

/// What a search for a shortest cycle may walk beyond the one that finds the first. Units: edges and starts.
inline constexpr index_t cycle_search_budget = index_t{1} << 24;

/// The nodes that reach one another, by knot: the smallest knot first, nodes ascending. Nodes on no cycle are left out.
class knots {
 public:
  HEDDLE_FN explicit knots(graph const& g) : g_(g), knot_(size_of(g), -1), index_(size_of(g), -1), low_(size_of(g), 0) {
    for (int n = 0; n < g.nodes(); ++n)
      if (index_[at(n)] < 0) walk(n);
    order();
  }
  knots(knots const&) = delete;
  knots& operator=(knots const&) = delete;
  HEDDLE_FN ~knots() = default;

  HEDDLE_FN std::vector<int> const& nodes() const noexcept { return nodes_; }
  HEDDLE_FN int of(int node) const noexcept { return knot_[at(node)]; }

 private:
  static HEDDLE_FN std::size_t at(int i) noexcept { return static_cast<std::size_t>(i); }
  static HEDDLE_FN std::size_t size_of(graph const& g) noexcept { return at(g.nodes()); }

  HEDDLE_FN void enter(int n) {
    index_[at(n)] = low_[at(n)] = count_++;
    open_.push_back(n);
    path_.push_back({n, g_.begin(n)});
  }
  // Depth first without recursion; a node that is the lowest of what it reaches closes a knot.
  HEDDLE_FN void walk(int root) {
    for (enter(root); !path_.empty();) {
      int const n = path_.back().node;
      if (path_.back().next != g_.end(n)) {
        int const to = (path_.back().next++)->to;
        if (index_[at(to)] < 0)
          enter(to);
        else if (knot_[at(to)] < 0)
          low_[at(n)] = std::min(low_[at(n)], index_[at(to)]);
        continue;
      }
      path_.pop_back();
      if (!path_.empty()) low_[at(path_.back().node)] = std::min(low_[at(path_.back().node)], low_[at(n)]);
      if (low_[at(n)] == index_[at(n)]) close(n);
    }
  }
  HEDDLE_FN void close(int n) {
    int const knot = static_cast<int>(size_.size());
    size_.push_back(0);
    for (int last = -1; last != n; ++size_.back()) {
      last = open_.back();
      open_.pop_back();
      knot_[at(last)] = knot;
    }
  }
  HEDDLE_FN void order() {
    std::vector<int> by_size;
    for (std::size_t k = 0; k < size_.size(); ++k)
      if (size_[k] > 1) by_size.push_back(static_cast<int>(k));
    std::stable_sort(by_size.begin(), by_size.end(), [&](int a, int b) { return size_[at(a)] < size_[at(b)]; });
    std::vector<int> place(size_.size(), -1);
    int total = 0;
    for (int k : by_size) {
      place[at(k)] = total;
      total += size_[at(k)];
    }
    nodes_.resize(at(total));
    for (int n = 0; n < g_.nodes(); ++n)
      if (int& p = place[at(knot_[at(n)])]; p >= 0) nodes_[at(p++)] = n;
  }

  struct step {
    int node;
    graph::edge const* next;
  };
  graph const& g_;
  std::vector<int> knot_, index_, low_, open_, size_, nodes_;
  std::vector<step> path_;
  int count_ = 0;
};

// The shortest way from a start back to itself, counted in units.
class cycle_search {
 public:
  HEDDLE_FN cycle_search(graph const& g, knots const& k)
      : g_(g), knots_(k), from_(static_cast<std::size_t>(g.nodes())), seen_by_(from_.size(), -1) {}
  cycle_search(cycle_search const&) = delete;
  cycle_search& operator=(cycle_search const&) = delete;
  HEDDLE_FN ~cycle_search() = default;

  /// Empty where there is none shorter than `best`, or where the walk would take more than `budget` steps.
  HEDDLE_FN std::vector<int> run(int start, int best, index_t budget) {
    index_t const last = budget < no_limit - steps_ ? steps_ + budget : no_limit;
    ++steps_;
    level_.assign(1, start);
    next_.clear();
    for (int length = 0; length < best && !level_.empty(); ++length) {
      // Steps inside a unit cost nothing, so they stay in the level that is being walked.
      for (std::size_t i = 0; i < level_.size(); ++i) {
        int const here = level_[i];
        for (graph::edge const* e = g_.begin(here); e != g_.end(here); ++e) {
          if (++steps_ > last) return {};
          if (e->to == start) return path(start, here);
          if (knots_.of(e->to) != knots_.of(start)) continue;
          int& by = seen_by_[static_cast<std::size_t>(e->to)];
          if (by == start) continue;
          by = start;
          from_[static_cast<std::size_t>(e->to)] = here;
          (g_.unit_at(e->to) == g_.unit_at(here) ? level_ : next_).push_back(e->to);
        }
      }
      level_.swap(next_);
      next_.clear();
    }
    return {};
  }
  HEDDLE_FN index_t steps() const noexcept { return steps_; }

  static constexpr index_t no_limit = std::numeric_limits<index_t>::max();

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
  knots const& knots_;
  std::vector<int> from_, seen_by_;  // seen_by_: the last start whose walk came there
  std::vector<int> level_, next_;
  index_t steps_ = 0;
};

/// A cycle of units, each waiting for the one behind it in the list and the last for the first.
struct found_cycle {
  std::vector<int> units;  ///< empty where there is no cycle; starts with the lowest unit
  bool is_shortest = true;
  index_t steps = 0;       ///< that the searches took

  HEDDLE_FN found_cycle() = default;
  HEDDLE_FN found_cycle(found_cycle const&) = default;
  HEDDLE_FN found_cycle(found_cycle&&) noexcept = default;
  HEDDLE_FN found_cycle& operator=(found_cycle const&) = default;
  HEDDLE_FN found_cycle& operator=(found_cycle&&) noexcept = default;
  HEDDLE_FN ~found_cycle() = default;
};

/// A shortest cycle, or the best one that `budget` steps find beyond the walk that finds the first.
/// Complexity: nodes + edges + budget.
HEDDLE_FN found_cycle shortest_cycle(graph const& g, index_t budget = cycle_search_budget) {
  found_cycle result;
  if (static_cast<int>(g.sorted().size()) == g.nodes()) return result;
  knots const k(g);
  cycle_search search(g, k);
  int best = g.units() + 1;
  index_t end = 0;  // of the budget, set when the first cycle is known
  for (int n : k.nodes()) {
    if (best <= 1) break;
    bool const first = result.units.empty();
    result.is_shortest = first || search.steps() < end;
    if (!result.is_shortest) break;
    std::vector<int> found = search.run(n, best, first ? cycle_search::no_limit : end - search.steps());
    if (first) end = search.steps() + budget;
    if (found.empty() || (!first && found.size() >= result.units.size())) continue;
    result.units.swap(found);
    best = static_cast<int>(result.units.size());
  }
  if (search.steps() > end) result.is_shortest = false;
  result.steps = search.steps();
  std::rotate(result.units.begin(), std::min_element(result.units.begin(), result.units.end()), result.units.end());
  return result;
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
  found_cycle const found = shortest_cycle(g);
  std::vector<int> const& cycle = found.units;
  if (cycle.empty()) return;
  std::string text = "deadlock: ";
  std::vector<op_place> places;
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    graph::unit const& here = g.describe(cycle[i]);
    text += unit_text(s, here) + " waits for ";
    places.push_back({here.device, here.first});
  }
  report.add(rule::order, std::move(places), text + unit_text(s, g.describe(cycle[0])) +
                                                (found.is_shortest ? "" : "; a shorter cycle may exist"));
}

}  // namespace heddle::pipeline::detail
