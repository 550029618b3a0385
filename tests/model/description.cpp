// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/model/description.hpp>

#include <support/catch.hpp>

#include <string>
#include <utility>
#include <vector>

namespace heddle {
namespace {

std::string entry_of(std::vector<std::pair<std::string, std::string>> const& meta, std::string const& key) {
  for (auto const& m : meta)
    if (m.first == key) return m.second;
  return "none";
}

model::decoder_sizes padded(index_t classes) {
  model::decoder_sizes s;
  s.vocabulary = 64;
  s.classes = classes;
  return s;
}

}  // namespace

TEST_CASE("tokens that pad the table are part of a decoder's description", "[model]") {
  CHECK(padded(0).tokens() == 64);
  CHECK(padded(50).tokens() == 50);
  CHECK(entry_of(model::to_meta({model::decoder_style::gpt2, padded(50)}), "classes") == "50");
  CHECK(entry_of(model::to_meta({model::decoder_style::gpt2, padded(50)}), "vocabulary") == "64");
  CHECK(entry_of(model::to_meta({model::decoder_style::llama, padded(0)}), "classes") == "none");
}

TEST_CASE("the loss of a decoder leaves out what pads the table", "[model]") {
  CHECK(model::gpt2(padded(50)).sink.options.classes == 50);
  CHECK(model::llama(padded(0)).sink.options.classes == 0);
  CHECK_THROWS_AS(model::gpt2(padded(65)), contract_error);
  CHECK_THROWS_AS(model::gpt2(padded(-1)), contract_error);
}

}  // namespace heddle
