// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/pipeline/detail/check_operations.hpp>
#include <heddle/pipeline/detail/dependencies.hpp>
#include <heddle/pipeline/transport.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace heddle::pipeline::detail {

/// One message with both of its ends.
struct message {
  int from = -1;  ///< device
  int to = -1;
  op_place send, receive;
};

/// The messages that have both ends, by direction, then in the order of their sends.
HEDDLE_FN std::vector<message> messages_of(schedule const& s, op_table const& table) {
  std::vector<message> found;
  for_each_op(s, [&](operation const& op, op_place at) {
    if (!is_send(op.kind) || !(table.find(op.kind, op.stage, op.microbatch) == at)) return;
    op_kind const other = is_activation(op.kind) ? op_kind::receive_activation : op_kind::receive_gradient;
    op_place const receive = table.find(other, op.stage, op.microbatch);
    if (receive.device >= 0) found.push_back({at.device, receive.device, at, receive});
  });
  std::stable_sort(found.begin(), found.end(),
                   [](message const& a, message const& b) { return a.from != b.from ? a.from < b.from : a.to < b.to; });
  return found;
}

/// What waits for what. A unit is an operation, or neighbours issued together; node 2u is its start and 2u + 1 its end.
/// Where room for messages is bounded, each that may have to wait has a node of its own: it finds room.
/// An edge a -> b says that b happens no earlier than a, plus one link latency where marked.
class graph {
 public:
  struct edge {
    int from, to;
    bool link;
  };
  struct unit {
    int device, first, count;
  };

  HEDDLE_FN graph(schedule const& s, op_table const& table, transport const& link) {
    number_units(s);
    for (int u = 0; u < units(); ++u) {
      join(2 * u, 2 * u + 1, false);
      if (u + 1 < units() && unit_[at(u)].device == unit_[at(u + 1)].device) join(2 * u + 1, 2 * u + 2, false);
    }
    bool const lowered = is_lowered(s);
    for_each_op(s, [&](operation const& op, op_place here) {
      if (!table.in_range(op)) return;
      for_each_dependency(s, table, lowered, op, [&](op_place dep) {
        if (dep.device == here.device && of(dep) >= of(here))
          backward_.push_back({dep, here});
        else
          join(2 * of(dep) + 1, 2 * of(here), dep.device != here.device);
      });
    });
    add_messages(messages_of(s, table), link);
    sort_edges();
  }
  HEDDLE_FN graph(graph const&) = default;
  HEDDLE_FN graph(graph&&) noexcept = default;
  HEDDLE_FN graph& operator=(graph const&) = default;
  HEDDLE_FN graph& operator=(graph&&) noexcept = default;
  HEDDLE_FN ~graph() = default;

  HEDDLE_FN int units() const noexcept { return static_cast<int>(unit_.size()); }
  HEDDLE_FN int nodes() const noexcept { return 2 * units() + static_cast<int>(room_.size()); }
  /// The unit that a node belongs to.
  HEDDLE_FN int unit_at(int node) const noexcept {
    return node < 2 * units() ? node / 2 : room_[at(node - 2 * units())];
  }
  HEDDLE_FN unit const& describe(int u) const noexcept { return unit_[at(u)]; }
  HEDDLE_FN int of(op_place p) const noexcept { return unit_of_[at(p.device)][at(p.position)]; }

  /// The edges that leave a node.
  HEDDLE_FN edge const* begin(int node) const noexcept { return edges_.data() + first_[at(node)]; }
  HEDDLE_FN edge const* end(int node) const noexcept { return edges_.data() + first_[at(node + 1)]; }
  HEDDLE_FN std::vector<edge> const& edges() const noexcept { return edges_; }

  struct inversion {
    op_place needed, here;
  };
  /// Needs of an operation that stand behind it in its own list, or in its own group. They are left out of the edges.
  HEDDLE_FN std::vector<inversion> const& inversions() const noexcept { return backward_; }

  /// The nodes in an order in which every edge leads forward; short of some nodes where there is a cycle.
  HEDDLE_FN std::vector<int> sorted() const {
    std::vector<int> waits(at(nodes()), 0), ready;
    for (edge const& e : edges_) ++waits[at(e.to)];
    for (int n = 0; n < nodes(); ++n)
      if (waits[at(n)] == 0) ready.push_back(n);
    for (std::size_t i = 0; i < ready.size(); ++i)
      for (edge const* e = begin(ready[i]); e != end(ready[i]); ++e)
        if (--waits[at(e->to)] == 0) ready.push_back(e->to);
    return ready;
  }

 private:
  static HEDDLE_FN std::size_t at(int i) noexcept { return static_cast<std::size_t>(i); }
  HEDDLE_FN void join(int from, int to, bool link) { edges_.push_back({from, to, link}); }

  HEDDLE_FN void number_units(schedule const& s) {
    unit_of_.resize(s.order.size());
    for_each_op(s, [&](operation const& op, op_place p) {
      auto const& list = s.order[at(p.device)];
      bool const joined = p.position > 0 && op.group > 0 && list[at(p.position - 1)].group == op.group;
      if (joined)
        ++unit_.back().count;
      else
        unit_.push_back({p.device, p.position, 1});
      unit_of_[at(p.device)].push_back(units() - 1);
    });
  }

  HEDDLE_FN void add_messages(std::vector<message> const& all, transport const& link) {
    for (std::size_t lo = 0, hi; lo < all.size(); lo = hi) {
      for (hi = lo; hi < all.size() && all[hi].from == all[lo].from && all[hi].to == all[lo].to;) ++hi;
      std::vector<int> received;
      for (std::size_t i = lo; i < hi; ++i) received.push_back(of(all[i].receive));
      std::sort(received.begin(), received.end());
      for (std::size_t i = lo; i < hi; ++i) {
        // The n-th send finds room once the (n - capacity)-th receive, in the receiver's order, has ended.
        auto const n = static_cast<index_t>(i - lo) - link.capacity;
        bool const waits = link.capacity > 0 && n >= 0;
        add_message(of(all[i].send), of(all[i].receive), waits ? received[static_cast<std::size_t>(n)] : -1);
        if (link.capacity == transport::rendezvous) join(2 * of(all[i].receive), 2 * of(all[i].send) + 1, true);
      }
    }
  }

  HEDDLE_FN void add_message(int sent, int received, int makes_room) {
    int leaves = 2 * sent;
    if (makes_room >= 0) {
      leaves = nodes();
      room_.push_back(sent);
      join(2 * sent, leaves, false);
      join(2 * makes_room + 1, leaves, false);
      join(leaves, 2 * sent + 1, false);
    }
    join(leaves, 2 * received + 1, true);
  }

  HEDDLE_FN void sort_edges() {
    first_.assign(at(nodes()) + 1, 0);
    for (edge const& e : edges_) ++first_[at(e.from) + 1];
    for (std::size_t n = 0; n < at(nodes()); ++n) first_[n + 1] += first_[n];
    std::vector<edge> placed(edges_.size());
    std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
    for (edge const& e : edges_) placed[next[at(e.from)]++] = e;
    edges_.swap(placed);
  }

  std::vector<unit> unit_;
  std::vector<std::vector<int>> unit_of_;
  std::vector<int> room_;
  std::vector<edge> edges_;
  std::vector<std::size_t> first_;
  std::vector<inversion> backward_;
};

}  // namespace heddle::pipeline::detail
