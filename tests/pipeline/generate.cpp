// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/pipeline/generate.hpp>
#include <heddle/pipeline/verify.hpp>
#include <support/catch.hpp>

namespace pl = heddle::pipeline;

namespace {
std::string line(std::vector<pl::operation> const& list) {
  std::string t;
  for (pl::operation const& op : list) {
    if (!t.empty()) t += ' ';
    t += token(op.kind);
    t += std::to_string(op.microbatch);
  }
  return t;
}
}  // namespace

TEST_CASE("gpipe runs all forward work, then all backward work in ascending order", "[pipeline]") {
  CHECK(line(pl::gpipe(2, 3).on(0)) == "F0 F1 F2 BW0 BW1 BW2");
  CHECK(line(pl::gpipe(2, 2, pl::backward_form::split).on(1)) == "F0 F1 B0 W0 B1 W1");
  CHECK(line(pl::gpipe(2, 2, pl::backward_form::deferred).on(1)) == "F0 F1 B0 B1 W0 W1");
  CHECK(pl::gpipe(3, 5).provenance == "gpipe(3,5,fused)");
}

TEST_CASE("1F1B warms up by the distance to the last stage, clamped to the microbatches", "[pipeline]") {
  pl::schedule const s = pl::one_forward_one_backward(4, 6);
  CHECK(line(s.on(0)) == "F0 F1 F2 F3 BW0 F4 BW1 F5 BW2 BW3 BW4 BW5");
  CHECK(line(s.on(3)) == "F0 BW0 F1 BW1 F2 BW2 F3 BW3 F4 BW4 F5 BW5");
  pl::schedule const d = pl::one_forward_one_backward(2, 3, pl::backward_form::deferred);
  CHECK(line(d.on(0)) == "F0 F1 B0 F2 B1 B2 W0 W1 W2");
  CHECK(line(d.on(1)) == "F0 B0 F1 B1 F2 B2 W0 W1 W2");
  // PP-1: four stages, two microbatches.
  pl::schedule const few = pl::one_forward_one_backward(4, 2, pl::backward_form::fused);
  for (int device = 0; device < 3; ++device) CHECK(line(few.on(device)) == "F0 F1 BW0 BW1");
  CHECK(line(few.on(3)) == "F0 BW0 F1 BW1");
}

TEST_CASE("every generated schedule passes the verifier", "[pipeline]") {
  int checked = 0;
  for (int p = 1; p <= 8; ++p)
    for (int m = 1; m <= 13; ++m)
      for (auto form : {pl::backward_form::fused, pl::backward_form::split, pl::backward_form::deferred})
        for (auto const& s : {pl::gpipe(p, m, form), pl::one_forward_one_backward(p, m, form)}) {
          INFO(s.provenance);
          pl::verify_report const report = pl::verify(s);
          CAPTURE(report.message());
          CHECK(report.ok());
          CHECK(report.notes.size() == (m < p ? 1U : 0U));
          CHECK(pl::verify(pl::forward_only(s)).ok());
          ++checked;
        }
  CHECK(checked == 8 * 13 * 6);
}

TEST_CASE("a pipeline needs a device and a microbatch", "[pipeline]") {
  CHECK_THROWS_AS(pl::gpipe(0, 1), heddle::contract_error);
  CHECK_THROWS_AS(pl::gpipe(1, 0), heddle::contract_error);
  CHECK_THROWS_AS(pl::one_forward_one_backward(2, -1), heddle::contract_error);
}
