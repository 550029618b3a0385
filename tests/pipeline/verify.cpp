// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/pipeline/generate.hpp>
#include <heddle/pipeline/peak_memory.hpp>
#include <heddle/pipeline/text_format.hpp>
#include <heddle/pipeline/transport.hpp>
#include <heddle/pipeline/verify.hpp>
#include <support/catch.hpp>

#include <algorithm>

namespace pl = heddle::pipeline;
using pl::op_kind;
using pl::rule;

namespace {
pl::schedule read(int devices, int microbatches, std::string const& lines) {
  std::string placement;
  for (int d = 0; d < devices; ++d) {
    if (d > 0) placement += ',';
    placement += std::to_string(d);
  }
  std::string const n = std::to_string(devices);
  pl::parse_report r = pl::parse("heddle-schedule version=1 P=" + n + " S=" + n + " M=" + std::to_string(microbatches) +
                                 " placement=" + placement + " pass=training provenance=\"\"\n" + lines);
  INFO(r.message());
  REQUIRE(r.ok());
  return r.value;
}

// The one violation that is expected, and nothing beside it.
pl::violation only(pl::schedule const& s, rule broken, pl::verify_options const& options = {}) {
  pl::verify_report const r = pl::verify(s, options);
  INFO(r.message());
  REQUIRE(r.violations.size() == 1);
  CHECK(r.violations[0].broken == broken);
  return r.violations[0];
}

// Interleaved 1F1B with groups of n microbatches: the work table of the field, for schedules with more stages than
// devices.
pl::schedule interleaved(int devices, int chunks, int microbatches, int n) {
  pl::schedule s(devices, devices * chunks, microbatches);
  std::vector<std::pair<int, int>> table;
  for (int first = 0; first < microbatches; first += n)
    for (int chunk = 0; chunk < chunks; ++chunk)
      for (int m = first; m < std::min(first + n, microbatches); ++m) table.emplace_back(chunk, m);
  int const total = static_cast<int>(table.size());
  for (int p = 0; p < devices; ++p) {
    auto forward = [&](int k) {
      auto const& [chunk, m] = table[static_cast<std::size_t>(k)];
      s.on(p).push_back({op_kind::forward, chunk * devices + p, m});
    };
    int const warm_up = std::min(total, 2 * (devices - 1 - p) + (chunks - 1) * n);
    for (int k = 0; k < warm_up; ++k) forward(k);
    for (int k = 0; k < total; ++k) {
      if (warm_up + k < total) forward(warm_up + k);
      auto const& [chunk, m] = table[static_cast<std::size_t>(k)];
      s.on(p).push_back({op_kind::backward, (chunks - 1 - chunk) * devices + p, m});
    }
  }
  return s;
}
}  // namespace

TEST_CASE("V1: every operation stands exactly once and in range", "[pipeline]") {
  pl::schedule s = pl::gpipe(2, 2, pl::backward_form::split);
  SECTION("duplicated F") {
    s.on(1).insert(s.on(1).begin(), s.on(1)[0]);
    pl::violation const v = only(s, rule::exactly_once);
    CHECK(v.ops == std::vector<pl::op_place>{{1, 0}, {1, 1}});
    CHECK(v.text == "F1.0 stands twice");
  }
  SECTION("BW beside B and W") {
    s.on(1).push_back({op_kind::backward, 1, 1});
    pl::verify_report const r = pl::verify(s);
    CHECK(r.count(rule::exactly_once) == 2);
    CHECK(r.violations.size() == 2);
  }
  SECTION("last W missing") {
    s.on(0).pop_back();
    CHECK(only(s, rule::exactly_once).text == "W0.1 is missing beside its B");
  }
  SECTION("W without B") {
    s.on(0).erase(s.on(0).begin() + 2);
    CHECK(only(s, rule::exactly_once).text == "B0.0 is missing beside its W");
  }
  SECTION("no backward at all") {
    s.on(0).resize(2);
    CHECK(pl::verify(s).count(rule::exactly_once) == 2);
  }
  SECTION("backward in a forward-only schedule") {
    s.forward_only = true;
    CHECK(pl::verify(s).count(rule::exactly_once) == 8);
  }
  SECTION("warm-up that is not clamped when microbatches are few") {
    pl::schedule t = pl::one_forward_one_backward(4, 2);
    t.on(0).insert(t.on(0).begin() + 2, {op_kind::forward, 0, 2});
    CHECK(only(t, rule::exactly_once).ops == std::vector<pl::op_place>{{0, 2}});
  }
  SECTION("a stage that does not exist") {
    s.on(0).push_back({op_kind::forward, 2, 0});
    s.on(0).push_back({op_kind::forward, -1, 0});
    CHECK(pl::verify(s).count(rule::exactly_once) == 2);
  }
}

TEST_CASE("V2: a stage lies on one device", "[pipeline]") {
  pl::schedule s = pl::gpipe(2, 2);
  SECTION("an operation on another device") {
    s.on(1).push_back(s.on(0).back());
    s.on(0).pop_back();
    pl::verify_report const r = pl::verify(s);
    INFO(r.message());
    CHECK(r.count(rule::placement) == 1);
    CHECK(r.violations[0].text == "BW0.1 belongs on device 0, where stage 0 is placed");
  }
  SECTION("headers that don't fit their lists are reported, and nothing is read beyond them") {
    s.placement = {0, 2};
    CHECK(only(s, rule::placement).text == "stage 1 is placed on device 2, which does not exist");
    s.placement = {0};
    CHECK(pl::verify(s).has(rule::placement));
    s = pl::gpipe(2, 2);
    s.order.pop_back();
    CHECK(pl::verify(s).has(rule::placement));
    s = pl::gpipe(2, 2);
    s.stages = s.microbatches = 0x7fffffff;
    CHECK(pl::verify(s).has(rule::exactly_once));
    CHECK(!pl::verify(pl::schedule()).ok());
  }
}

TEST_CASE("V3: an operation stands behind what it needs", "[pipeline]") {
  pl::violation const w = only(read(1, 1, "0: F0.0 W0.0 B0.0\n"), rule::order);
  CHECK(w.text == "W0.0 needs B0.0, which stands behind it");
  CHECK(w.ops == std::vector<pl::op_place>{{0, 1}, {0, 2}});
  CHECK(only(read(1, 1, "0: BW0.0 F0.0\n"), rule::order).text == "BW0.0 needs F0.0, which stands behind it");
  pl::violation const cycle = only(read(2, 2, "0: F0.0 BW0.0 F0.1 BW0.1\n1: F1.0 F1.1 BW1.0 BW1.1\n"), rule::order);
  CHECK(cycle.text ==
        "deadlock: BW0.0 on device 0 waits for BW1.0 on device 1 waits for F1.1 on device 1 waits for "
        "F0.1 on device 0 waits for BW0.0 on device 0");
  CHECK(cycle.ops.size() == 4);
}

TEST_CASE("a large knot is walked in steps that grow with its size", "[pipeline]") {
  // The last device runs its microbatches backwards, so that nearly every operation waits for every other.
  for (int microbatches : {64, 256, 1024}) {
    int const devices = 64;
    pl::schedule s(devices, devices, microbatches);
    for (int p = 0; p < devices; ++p)
      for (int i = 0; i < microbatches; ++i) {
        int const m = p < devices - 1 ? i : microbatches - 1 - i;
        s.on(p).push_back({op_kind::forward, p, m});
        s.on(p).push_back({op_kind::backward, p, m});
      }
    pl::detail::op_table const table(s);
    pl::detail::graph const g(s, table, {});
    heddle::index_t const budget = 1 << 16;
    pl::detail::found_cycle const c = pl::detail::shortest_cycle(g, budget);
    CHECK(c.units.size() >= 2);
    CHECK_FALSE(c.is_shortest);
    CHECK(c.steps <= static_cast<heddle::index_t>(g.edges().size()) + g.nodes() + budget + 8);
    // Each waits for the one behind it, by way of the nodes of its unit.
    CHECK(*std::min_element(c.units.begin(), c.units.end()) == c.units.front());
  }
}

TEST_CASE("a cycle that is found before the budget ends may not be the shortest, and says so", "[pipeline]") {
  pl::schedule const s = read(3, 2,
                              "0: F0.0 BW0.0 F0.1 BW0.1\n"
                              "1: F1.0 BW1.0 F1.1 BW1.1\n"
                              "2: F2.0 F2.1 BW2.0 BW2.1\n");
  pl::detail::op_table const table(s);
  pl::detail::graph const g(s, table, {});
  pl::detail::found_cycle const hasty = pl::detail::shortest_cycle(g, 0), whole = pl::detail::shortest_cycle(g);
  CHECK_FALSE(hasty.is_shortest);
  CHECK(!hasty.units.empty());
  CHECK(whole.is_shortest);
  CHECK(whole.units.size() == 4);
  CHECK(whole.steps > hasty.steps);
}

TEST_CASE("the cycle that is named is a shortest one", "[pipeline]") {
  // Devices 1 and 2 hold each other up by four operations. The search meets device 0 first, whose circle has six.
  pl::violation const v = only(read(3, 2,
                                    "0: F0.0 BW0.0 F0.1 BW0.1\n"
                                    "1: F1.0 BW1.0 F1.1 BW1.1\n"
                                    "2: F2.0 F2.1 BW2.0 BW2.1\n"),
                               rule::order);
  CHECK(v.text ==
        "deadlock: BW1.0 on device 1 waits for BW2.0 on device 2 waits for F2.1 on device 2 waits for "
        "F1.1 on device 1 waits for BW1.0 on device 1");
}

TEST_CASE("interleaved groups that deadlock are found, and only those", "[pipeline]") {
  int const bad[][4] = {{4, 3, 5, 4}, {4, 3, 9, 4}, {5, 2, 7, 5},  {5, 2, 12, 5}, {5, 3, 6, 5},
                        {5, 3, 7, 5}, {5, 3, 7, 6}, {5, 3, 11, 5}, {5, 3, 12, 5}};
  for (auto const& [p, v, m, n] : bad) {
    pl::verify_report const r = pl::verify(interleaved(p, v, m, n));
    INFO(p << " " << v << " " << m << " " << n << "\n" << r.message());
    CHECK(r.violations.size() == 1);
    CHECK(r.has(rule::order));
  }
  CHECK(pl::verify(interleaved(5, 2, 7, 7)).ok());
  int deadlocks = 0, few = 0, cases = 0;
  for (int p = 2; p <= 5; ++p)
    for (int v = 2; v <= 3; ++v)
      for (int m = 1; m <= 12; ++m)
        for (int n = 1; n <= m; ++n, ++cases)
          if (!pl::verify(interleaved(p, v, m, n)).ok()) {
            ++deadlocks;
            few += n < p ? 1 : 0;
          }
  CHECK(cases == 624);
  CHECK(deadlocks == 151);
  CHECK(few == 142);
}

TEST_CASE("V4: rendezvous deadlock is found and its three repairs pass", "[pipeline]") {
  pl::transport const blocking{pl::matching::fifo_per_direction, pl::transport::rendezvous};
  std::string const one = "1: {<a0.0} F1.0 BW1.0 {>g1.0} {<a0.1} F1.1 BW1.1 {>g1.1}\n";
  std::string const zero = "0: F0.0 {>a0.0} F0.1 {>a0.1} {<g1.0} BW0.0 {<g1.1} BW0.1\n";
  pl::violation const v = only(read(2, 2, zero + one), rule::order, blocking);
  CHECK(v.text ==
        "deadlock: >a0.1 on device 0 waits for <a0.1 on device 1 waits for >g1.0 on device 1 waits for "
        "<g1.0 on device 0 waits for >a0.1 on device 0");
  CHECK(pl::verify(read(2, 2, zero + one)).ok());
  CHECK(pl::verify(read(2, 2, zero + one), pl::transport{pl::matching::fifo_per_direction, 1}).ok());
  CHECK(pl::verify(read(2, 2,
                        "0: F0.0 {>a0.0} F0.1 {>a0.1 <g1.0} BW0.0 {<g1.1} BW0.1\n"
                        "1: {<a0.0} F1.0 BW1.0 {>g1.0 <a0.1} F1.1 BW1.1 {>g1.1}\n"),
                   blocking)
            .ok());
  CHECK(pl::verify(read(2, 2, "0: F0.0 {>a0.0} F0.1 {<g1.0} {>a0.1} BW0.0 {<g1.1} BW0.1\n" + one), blocking).ok());
}

TEST_CASE("V4: every crossing tensor has a send and a receive", "[pipeline]") {
  std::string const zero = "0: F0.0 >a0.0 <g1.0 BW0.0\n", one = "1: <a0.0 F1.0 BW1.0 >g1.0\n";
  CHECK(pl::verify(read(2, 1, zero + one)).ok());
  CHECK(only(read(2, 1, "0: F0.0 >a0.0 BW0.0\n" + one), rule::matching).text == "<g1.0 is missing");
  CHECK(pl::verify(read(2, 1, "0: F0.0 >a0.0 BW0.0\n1: <a0.0 F1.0 BW1.0\n")).count(rule::matching) == 2);
  CHECK(only(read(2, 1, "0: F0.0 >a0.0 <g1.0 BW0.0 >g0.0\n" + one), rule::matching).text ==
        ">g0.0 leads to stage -1, which does not exist");
  CHECK(only(read(2, 1, zero + "1: <a0.0 F1.0 BW1.0 >g1.0 >g1.0\n"), rule::matching).text == ">g1.0 stands twice");
  CHECK(only(read(2, 1, "0: <g1.0 F0.0 >a0.0 BW0.0\n" + one), rule::order).ops.size() == 7);
  CHECK(only(read(2, 1, "0: >a0.0 F0.0 <g1.0 BW0.0\n" + one), rule::order).text ==
        ">a0.0 needs F0.0, which stands behind it");
  CHECK(only(read(2, 1, "0: {F0.0 >a0.0} <g1.0 BW0.0\n" + one), rule::order).text ==
        ">a0.0 needs F0.0, which is issued together with it");
  pl::schedule shared = read(2, 1, "0: F0.0 >a0.0 F1.0 BW1.0 BW0.0\n1:\n");
  shared.placement = {0, 0};
  CHECK(only(shared, rule::matching).text == ">a0.0 is not needed: stages 0 and 1 share a device");
  pl::verify_report const lost = pl::verify(read(2, 1, "0: F0.0 >a0.0 <a0.0 <g1.0 BW0.0\n1: F1.0 BW1.0 >g1.0\n"));
  CHECK(lost.has(rule::placement));
}

TEST_CASE("V4: a first-in first-out transport keeps the order of sends", "[pipeline]") {
  auto make = [](std::string const& sends, std::string const& receives) {
    return read(
        2, 2,
        "0: F0.0 F0.1 " + sends + " <g1.0 BW0.0 <g1.1 BW0.1\n1: " + receives + " F1.0 BW1.0 >g1.0 F1.1 BW1.1 >g1.1\n");
  };
  pl::schedule const swapped = make(">a0.1 >a0.0", "<a0.0 <a0.1");
  CHECK(pl::verify(swapped).ok());
  pl::transport const fifo{pl::matching::fifo_per_direction, pl::transport::unlimited};
  CHECK(only(swapped, rule::matching, fifo).text.find(">a0.1 and >a0.0 stand in another order") == 0);
  CHECK(pl::verify(make(">a0.0 >a0.1", "<a0.0 <a0.1"), fifo).ok());
  CHECK(only(swapped, rule::order, pl::transport{pl::matching::keyed, pl::transport::rendezvous}).ops.size() == 4);
  CHECK(only(swapped, rule::order, pl::transport{pl::matching::keyed, 1}).text ==
        "deadlock: >a0.0 on device 0 waits for <a0.0 on device 1 waits for >a0.0 on device 0");
  CHECK(pl::verify(swapped, pl::transport{pl::matching::keyed, 2}).ok());
}

TEST_CASE("V4: both directions of a pair form one sequence where the transport says so", "[pipeline]") {
  pl::transport const pair{pl::matching::fifo_per_pair, pl::transport::unlimited};
  std::string const one = "1: <a0.0 F1.0 BW1.0 >g1.0 <a0.1 F1.1 BW1.1 >g1.1\n";
  pl::schedule const crossed = read(2, 2, "0: F0.0 >a0.0 F0.1 >a0.1 <g1.0 BW0.0 <g1.1 BW0.1\n" + one);
  CHECK(pl::verify(crossed, pl::transport{pl::matching::fifo_per_direction, pl::transport::unlimited}).ok());
  only(crossed, rule::matching, pair);
  CHECK(pl::verify(read(2, 2, "0: F0.0 >a0.0 F0.1 {>a0.1 <g1.0} BW0.0 <g1.1 BW0.1\n" + one), pair).ok());
  CHECK(pl::verify(read(2, 2, "0: F0.0 >a0.0 F0.1 <g1.0 >a0.1 BW0.0 <g1.1 BW0.1\n" + one), pair).ok());
}

TEST_CASE("V5: the peak follows from the order alone", "[pipeline]") {
  pl::verify_options o;
  o.bytes = {{0, 1, 0}};
  CHECK(pl::verify(pl::gpipe(4, 8), o).peak_bytes == std::vector<heddle::index_t>{8, 8, 8, 8});
  CHECK(pl::verify(pl::one_forward_one_backward(4, 8), o).peak_bytes == std::vector<heddle::index_t>{4, 3, 2, 1});
  for (int p = 1; p <= 6; ++p)
    for (int m = 1; m <= 12; ++m) {
      auto const peaks = pl::peak_bytes(pl::one_forward_one_backward(p, m), o.bytes);
      for (int d = 0; d < p; ++d) CHECK(peaks[static_cast<std::size_t>(d)] == std::min(m, p - d));
      for (heddle::index_t peak : pl::peak_bytes(pl::gpipe(p, m), o.bytes)) CHECK(peak == m);
    }
  // Interleaved peaks in chunks: min(M V, 2 (P - 1 - p) + (V - 1) N + 1).
  CHECK(pl::peak_bytes(interleaved(4, 2, 8, 4), o.bytes) == std::vector<heddle::index_t>{11, 9, 7, 5});
  o.limit_bytes = {4, 3, 1, 1};
  pl::violation const v = only(pl::one_forward_one_backward(4, 8), rule::memory, o);
  CHECK(v.text == "device 2 needs 2 bytes of its 1");
  o.bytes = {{100, 10, 1}};
  o.limit_bytes = {1000};
  CHECK(pl::verify(pl::one_forward_one_backward(2, 4, pl::backward_form::split), o).peak_bytes ==
        std::vector<heddle::index_t>{221, 111});
  CHECK(pl::verify(pl::one_forward_one_backward(2, 4, pl::backward_form::deferred), o).peak_bytes ==
        std::vector<heddle::index_t>{243, 144});
  o.bytes.resize(3);
  CHECK(pl::verify(pl::gpipe(2, 4), o).has(rule::memory));
}

TEST_CASE("V6 and V7: weights are updated behind all that reads or sums them", "[pipeline]") {
  CHECK(pl::verify(read(1, 2, "0: F0.0 F0.1 BW0.0 BW0.1 O0\n")).ok());
  CHECK(pl::verify(read(1, 2, "0: F0.0 O0 F0.1 B0.0 B0.1 W0.0 W0.1\n")).count(rule::version) == 3);
  CHECK(only(read(1, 1, "0: F0.0 B0.0 O0 W0.0\n"), rule::optimizer).text == "O0 comes before the gradient of W0.0");
  pl::verify_report const r = pl::verify(read(1, 1, "0: F0.0 O0 BW0.0\n"));
  CHECK(r.count(rule::version) == 1);
  CHECK(r.count(rule::optimizer) == 1);
  CHECK(only(read(2, 1, "0: F0.0 BW0.0\n1: F1.0 BW1.0 O1\n"), rule::optimizer).text ==
        "O0 is missing though other stages are updated");
}

TEST_CASE("weight gradients ascend, unless their order is free", "[pipeline]") {
  pl::schedule s = pl::gpipe(2, 3);
  for (int d = 0; d < 2; ++d) std::reverse(s.on(d).begin() + 3, s.on(d).end());
  pl::verify_report const r = pl::verify(s);
  CHECK(r.count(rule::weight_order) == 4);
  CHECK(r.violations.size() == 4);
  pl::verify_options any;
  any.ascending_weights = false;
  CHECK(pl::verify(s, any).ok());
}

TEST_CASE("few microbatches are noted, and long reports are cut", "[pipeline]") {
  pl::verify_report const few = pl::verify(pl::gpipe(4, 2));
  CHECK(few.ok());
  CHECK(few.message() == "note: fewer microbatches (2) than devices (4): the pipeline never fills\n");
  pl::schedule empty(1, 1, 3000);
  pl::verify_report const r = pl::verify(empty);
  CHECK(r.violations.size() == pl::verify_report::most);
  CHECK(r.suppressed == 5000);
}

TEST_CASE("no schedule makes the verifier fail", "[pipeline]") {
  unsigned state = 99;
  auto random = [&state](int below) {
    state = state * 1664525U + 1013904223U;
    return static_cast<int>((state >> 8) % static_cast<unsigned>(below));
  };
  auto number = [&](int usual) {
    int const odd[] = {-1, 0x7fffffff, -0x7fffffff - 1, 5};
    return random(12) == 0 ? odd[random(4)] : random(usual);
  };
  for (int round = 0; round < 4000; ++round) {
    pl::schedule s =
        pl::one_forward_one_backward(1 + random(3), 1 + random(3), static_cast<pl::backward_form>(random(3)));
    for (int edits = random(8); edits > 0; --edits) {
      pl::operation const op{static_cast<op_kind>(random(12)), number(3), number(3), random(3)};
      auto& list = s.on(random(s.devices));
      if (!list.empty() && random(3) == 0)
        list[static_cast<std::size_t>(random(static_cast<int>(list.size())))] = op;
      else
        list.insert(list.begin() + random(static_cast<int>(list.size()) + 1), op);
    }
    if (random(6) == 0) s.placement[0] = number(3);
    if (random(20) == 0) s.stages = number(4);
    if (random(20) == 0) s.microbatches = number(4);
    if (random(20) == 0) s.devices = number(4);
    pl::verify_options o(pl::transport{static_cast<pl::matching>(random(3)), random(4) - 1});
    o.bytes = {{1, 2, 3}};
    o.limit_bytes = {random(20)};
    pl::verify_report const r = pl::verify(s, o);
    if (!r.ok()) CHECK(!r.message().empty());
  }
}
