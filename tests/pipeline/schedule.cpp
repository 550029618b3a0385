// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/pipeline/operation.hpp>
#include <heddle/pipeline/report.hpp>
#include <heddle/pipeline/schedule.hpp>
#include <support/catch.hpp>

namespace pl = heddle::pipeline;
using pl::op_kind;

TEST_CASE("every kind of operation is compute, send, receive or optimizer, and has a token", "[pipeline]") {
  int compute = 0, sends = 0, receives = 0;
  std::string tokens;
  for (int k = 0; k < pl::op_kind_count; ++k) {
    auto const kind = static_cast<op_kind>(k);
    compute += is_compute(kind) ? 1 : 0;
    sends += is_send(kind) ? 1 : 0;
    receives += is_receive(kind) ? 1 : 0;
    CHECK(is_message(kind) == (is_send(kind) || is_receive(kind)));
    tokens += std::string(token(kind)) + " ";
  }
  CHECK(compute == 4);
  CHECK(sends == 2);
  CHECK(receives == 2);
  CHECK(tokens == "F B W BW >a <a >g <g O ");
  CHECK(std::string(token(static_cast<op_kind>(200))) == "?");
  CHECK(is_activation(op_kind::receive_activation));
  CHECK(!is_activation(op_kind::send_gradient));
  static_assert(std::is_trivially_copyable_v<pl::operation>);
}

TEST_CASE("operations are written with stage and microbatch", "[pipeline]") {
  CHECK(pl::to_string({op_kind::forward, 3, 7, 0}) == "F3.7");
  CHECK(pl::to_string({op_kind::receive_gradient, 1, 12, 0}) == "<g1.12");
  CHECK(pl::to_string({op_kind::optimizer, 2, 0, 0}) == "O2");
  CHECK(pl::to_string({op_kind::backward, -1, 0, 0}) == "BW-1.0");
}

TEST_CASE("a schedule is a value with one list a device and a device a stage", "[pipeline]") {
  pl::schedule s(3, 5, 2);
  CHECK(s.placement == std::vector<int>{0, 1, 2, 0, 1});
  CHECK(s.device_of(4) == 1);
  CHECK(s.order.size() == 3);
  CHECK(!is_lowered(s));
  pl::schedule other = s;
  other.provenance = "elsewhere";
  CHECK(s == other);
  other.on(2).push_back({op_kind::send_activation, 2, 0, 0});
  CHECK(!(s == other));
  CHECK(is_lowered(other));
  CHECK_THROWS_AS(s.on(3), heddle::contract_error);
  CHECK_THROWS_AS(s.device_of(-1), heddle::contract_error);
  CHECK_THROWS_AS(pl::schedule(0, 1, 1), heddle::contract_error);
  CHECK_THROWS_AS(pl::schedule(1, 0, 1), heddle::contract_error);
  CHECK_THROWS_AS(pl::schedule(1, 1, -1), heddle::contract_error);
}

TEST_CASE("a report prints each violation with its rule and places", "[pipeline]") {
  pl::verify_report r;
  CHECK(r.ok());
  CHECK(r.message().empty());
  r.add(pl::rule::order, {{1, 4}}, "first");
  r.add(pl::rule::weight_order, {}, "second");
  r.notes.push_back("third");
  CHECK(!r.ok());
  CHECK(r.count(pl::rule::order) == 1);
  CHECK(!r.has(pl::rule::memory));
  CHECK(r.message() == "V3: first [device 1, position 4]\nW: second\nnote: third\n");
}
