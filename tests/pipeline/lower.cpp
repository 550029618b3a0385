// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/pipeline/generate.hpp>
#include <heddle/pipeline/lower.hpp>
#include <heddle/pipeline/text_format.hpp>
#include <support/catch.hpp>

namespace pl = heddle::pipeline;
using pl::matching;
using pl::transport;

namespace {
transport const links[] = {{matching::keyed, transport::unlimited},
                           {matching::keyed, transport::rendezvous},
                           {matching::keyed, 1},
                           {matching::fifo_per_direction, transport::unlimited},
                           {matching::fifo_per_direction, transport::rendezvous},
                           {matching::fifo_per_direction, 2},
                           {matching::fifo_per_pair, transport::unlimited},
                           {matching::fifo_per_pair, transport::rendezvous}};

// Two stages on each device, the second pass of the devices in reverse: stages that are neighbours may share a device.
pl::schedule v_shape(int devices, int microbatches) {
  pl::schedule s(devices, 2 * devices, microbatches);
  for (int v = 0; v < 2 * devices; ++v)
    s.placement[static_cast<std::size_t>(v)] = v < devices ? v : 2 * devices - 1 - v;
  for (int p = 0; p < devices; ++p) {
    for (int v : {p, 2 * devices - 1 - p})
      for (int m = 0; m < microbatches; ++m) s.on(p).push_back({pl::op_kind::forward, v, m});
    for (int v : {2 * devices - 1 - p, p})
      for (int m = 0; m < microbatches; ++m) s.on(p).push_back({pl::op_kind::backward, v, m});
  }
  return s;
}

void check_lowered(pl::schedule const& s, int crossings) {
  for (transport const& link : links)
    for (bool optimizer : {false, true}) {
      pl::schedule const l = pl::lower(s, {link, optimizer});
      pl::verify_report const r = pl::verify(l, link);
      INFO(pl::format(l) << r.message());
      CHECK(r.ok());
      std::size_t messages = 0, others = 0, before = 0;
      pl::detail::for_each_op(
          l, [&](pl::operation const& op, pl::op_place) { ++(is_message(op.kind) ? messages : others); });
      pl::detail::for_each_op(s, [&](pl::operation const&, pl::op_place) { ++before; });
      CHECK(messages == static_cast<std::size_t>(2 * crossings * s.microbatches * (s.forward_only ? 1 : 2)));
      CHECK(others == before + static_cast<std::size_t>(optimizer ? s.stages : 0));
    }
}
}  // namespace

TEST_CASE("lowered schedules pass the verifier under the transport they are made for", "[pipeline]") {
  for (int p = 1; p <= 5; ++p)
    for (int m = 1; m <= 7; m += 2)
      for (auto form : {pl::backward_form::fused, pl::backward_form::deferred}) {
        check_lowered(pl::gpipe(p, m, form), p - 1);
        check_lowered(pl::one_forward_one_backward(p, m, form), p - 1);
        check_lowered(pl::forward_only(pl::one_forward_one_backward(p, m, form)), p - 1);
      }
}

TEST_CASE("neighbour stages on one device exchange no messages", "[pipeline]") {
  for (int p = 1; p <= 4; ++p) check_lowered(v_shape(p, 3), 2 * (p - 1));
}

TEST_CASE("messages stand beside the operations that make and need them", "[pipeline]") {
  std::string const text =
      pl::format(pl::lower(pl::one_forward_one_backward(2, 2, pl::backward_form::split), {{}, true}));
  CHECK(text.substr(text.find('\n') + 1) ==
        "0: F0.0 >a0.0 F0.1 >a0.1 <g1.0 B0.0 W0.0 <g1.1 B0.1 W0.1 O0\n"
        "1: <a0.0 F1.0 B1.0 >g1.0 W1.0 <a0.1 F1.1 B1.1 >g1.1 W1.1 O1\n");
}

TEST_CASE("buffered lists would hang over rendezvous, which is why lower asks for the transport", "[pipeline]") {
  transport const blocking{matching::keyed, transport::rendezvous};
  CHECK(pl::verify(pl::lower(pl::one_forward_one_backward(2, 3)), blocking).has(pl::rule::order));
}

TEST_CASE("a lowered schedule takes as long as its operations alone", "[pipeline]") {
  for (int p = 1; p <= 5; ++p)
    for (int m = 1; m <= 9; ++m)
      for (int c : {0, 1, 3})
        for (auto const& s : {pl::gpipe(p, m), pl::one_forward_one_backward(p, m, pl::backward_form::split)}) {
          pl::simulation const a = pl::simulate(s, pl::costs({2, 3, 1}), c);
          pl::simulation const b = pl::simulate(pl::lower(s), pl::costs({2, 3, 1}), c);
          CHECK(a.makespan == b.makespan);
          CHECK(a.span == b.span);
          for (std::size_t d = 0; d < a.devices.size(); ++d) CHECK(a.devices[d].idle() == b.devices[d].idle());
        }
}

TEST_CASE("only a schedule that passes verify is lowered", "[pipeline]") {
  pl::schedule s = pl::gpipe(2, 2);
  s.on(0).pop_back();
  CHECK_THROWS_AS(pl::lower(s), heddle::contract_error);
  CHECK_THROWS_AS(pl::lower(pl::lower(pl::gpipe(2, 2))), heddle::contract_error);
}
