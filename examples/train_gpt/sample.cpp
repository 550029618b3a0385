// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sample.hpp"

#include <heddle/checkpoint/atomic_file.hpp>

#include <generate/write.hpp>

namespace train_gpt {

namespace hd = heddle;

namespace {

std::string generate_text(settings const& s, hd::checkpoint::store const& from) {
  hd::model::decoder_description const d = hd::model::describe(from);
  std::string text;
  generate::request r;
  r.prompt = {'\n'};
  r.tokens = s.sample;
  r.sampling.temperature = 0.8;
  r.sampling.top_p = 0.95;
  r.sampling.seed = s.seed;
  r.emit = [](std::int32_t token, void* data) { *static_cast<std::string*>(data) += static_cast<char>(token); };
  r.data = &text;
  hd::threads_executor exec;
  if (d.style == hd::model::decoder_style::gpt2)
    generate::write(exec, from, d.sizes, hd::model::gpt2(d.sizes), r);
  else
    generate::write(exec, from, d.sizes, hd::model::llama(d.sizes), r);
  return text;
}

}  // namespace

void write_sample(settings const& s) {
  if (s.out.empty() || s.sample == 0 || s.sizes.tokens() > 256) return;  // other tokens are no bytes
  hd::checkpoint::store const from = hd::checkpoint::open_store(s.out + "/checkpoint");
  std::string text;
  try {
    text = generate_text(s, from);
  } catch (hd::error const& e) {
    if (e.code() != hd::errc::invalid_argument) throw;
    std::printf("train_gpt: no sample: %s\n", e.what());  // a model that has diverged says nothing
    return;
  }
  hd::checkpoint::write_file(s.out + "/sample.txt", text + "\n");
  std::printf("train_gpt: a sample after step %lld:\n", static_cast<long long>(from.id().step));
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace train_gpt
