// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "fuzz.hpp"

#include <heddle/pipeline/generate.hpp>
#include <heddle/pipeline/lower.hpp>
#include <heddle/pipeline/text_format.hpp>
#include <heddle/pipeline/verify.hpp>

#include <algorithm>
#include <memory>

namespace pl = heddle::pipeline;
using heddle::test::must;

namespace {
void check_faults(pl::parse_report const& r, std::string_view text) {
  int const lines = 2 + static_cast<int>(std::count(text.begin(), text.end(), '\n'));
  must(r.faults.size() <= pl::parse_report::most + 8, "faults are bounded");
  for (pl::parse_fault const& f : r.faults) {
    must(f.line >= 1 && f.line <= lines, "a fault has a line of the text");
    must(f.column >= 1 && f.column <= static_cast<int>(text.size()) + 1, "a fault has a column of the text");
    must(!f.text.empty() && f.token.size() <= 64, "a fault says what is wrong");
  }
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  // A copy of the exact size, so that the sanitizer sees a read behind its end.
  std::unique_ptr<char[]> const copy(new char[size]);
  for (std::size_t i = 0; i < size; ++i) copy[i] = static_cast<char>(data[i]);
  std::string_view const text(copy.get(), size);
  pl::parse_report const read = pl::parse(text);
  check_faults(read, text);
  must(read.ok() == read.message().empty(), "what is refused has a reason, and nothing else");
  if (!read.ok()) return 0;
  pl::schedule const& s = read.value;
  must(s.devices >= 1 && s.order.size() == static_cast<std::size_t>(s.devices), "every device has its line");
  must(s.placement.size() == static_cast<std::size_t>(s.stages), "every stage has its device");
  std::string const written = pl::format(s);
  pl::parse_report const again = pl::parse(written);
  must(again.ok() && again.value == s, "what is written can be read, and is the same schedule");
  must(pl::format(again.value) == written, "reading and writing come to rest");
  if (s.stages > 64 || s.microbatches > 64) return 0;
  pl::verify_report const proof = pl::verify(s);
  must(proof.ok() == proof.violations.empty() && proof.suppressed >= 0, "any schedule can be looked at");
  for (pl::violation const& v : proof.violations) must(!v.text.empty(), "a violation says what is wrong");
  return 0;
}

#if !defined(HEDDLE_LIBFUZZER)
int main() {
  std::vector<std::string> const corpus = {
      pl::format(pl::one_forward_one_backward(3, 4)),
      pl::format(pl::gpipe(2, 3)),
      pl::format(pl::lower(pl::one_forward_one_backward(2, 2))),
      "heddle-schedule version=1 P=1 S=1 M=2 placement=0 pass=training provenance=\"by hand\"\n"
      "0: {F0.0 F0.1} B0.0 W0.0 {B0.1 W0.1} O0\n",
      "heddle-schedule version=1 P=2 S=1 M=0 placement=1 pass=forward provenance=\"\"\r\n0:\r\n1:",
      ""};
  std::vector<std::string> const words = {
      "{",  "}", "F0.0", "BW1.0", ">a0.0", "<g1.1",        "O0",         "0:", "1:", "\n",   "\r\n",
      "\"", "=", ",",    " ",     "P=",    "M=2147483647", "2147483648", "00", "-1", "\xff", std::string(1, '\0')};
  for (std::size_t i = 0; i + 1 < corpus.size(); ++i) must(pl::parse(corpus[i]).ok(), "what is right is read");
  return heddle::test::replay(corpus, words);
}
#endif
