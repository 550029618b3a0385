// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Loads a decoder from a checkpoint (of train_gpt, or a published safetensors file) and writes text, token by token.

#include <heddle/model/bpe.hpp>

#include <support/flags.hpp>
#include "generate/settings.hpp"

namespace generate {
namespace {

namespace hd = heddle;
using hd::index_t;

struct settings {
  std::string checkpoint, prompt, vocab, merges;
  index_t tokens = 200, top_k = 0, head_size = 0;
  double temperature = 0.8, top_p = 0.95, rope_base = 10000;
  std::uint64_t seed = 1;
  int threads = 0;
};

/// Text to tokens and back: byte pairs where a vocabulary was given, else bytes.
struct codec {
  hd::model::bpe pairs;
  bool by_bytes = true;

  std::vector<std::int32_t> encode(std::string const& text) const {
    if (!by_bytes) return pairs.encode(text);
    std::vector<std::int32_t> out;
    for (char const c : text) out.push_back(static_cast<unsigned char>(c));
    return out;
  }
  index_t size() const { return by_bytes ? 256 : pairs.size(); }
  void print(std::int32_t token) const {
    if (by_bytes) {
      std::fputc(token, stdout);
    } else {
      std::string_view const bytes = pairs.bytes(token);
      std::fwrite(bytes.data(), 1, bytes.size(), stdout);
    }
    std::fflush(stdout);
  }
};

/// Where the text goes.
struct screen {
  settings const* s;
  codec const* c;
};

void declare(examples::flags& f, settings& s) {
  f.text("checkpoint", &s.checkpoint, "PATH", "output folder of train_gpt, or a .safetensors file").required();
  f.text("prompt", &s.prompt, "TEXT", "text to go on from; a line break where it is not given");
  f.number("tokens", &s.tokens, "tokens to write", index_t{0}, index_t{1} << 20);
  f.number("temperature", &s.temperature, "0: always the most likely token", 0.0, 1000.0);
  f.number("top-p", &s.top_p, "keeps the likeliest tokens of this probability together", 0.0, 1.0);
  f.number("top-k", &s.top_k, "keeps at most so many; 0: all", index_t{0}, index_t{1} << 30);
  f.number("seed", &s.seed, "of the choices");
  f.text("vocab", &s.vocab, "FILE", "vocab.json of byte pairs; without it tokens are bytes");
  f.text("merges", &s.merges, "FILE", "merges.txt of byte pairs");
  f.number("head-size", &s.head_size, "for files without metadata; 0: 64 (GPT-2) or 128 (Llama)", index_t{0},
           index_t{65536});
  f.number("rope-base", &s.rope_base, "base of rotary positions (Llama), in place of the checkpoint's", 1.0, 1e12);
  f.number("threads", &s.threads, "threads; 0: all cores", 0, 1024);
}

codec codec_of(settings const& s, index_t vocabulary) {
  codec c;
  c.by_bytes = s.vocab.empty();
  if (!c.by_bytes) c.pairs = hd::model::load_bpe(s.vocab, s.merges);
  if (c.size() != vocabulary)
    throw hd::error(hd::errc::format,
                    hd::make_text("the model has ", vocabulary, " tokens, ", c.by_bytes ? "bytes are " : "--vocab has ",
                                  c.size(), c.by_bytes ? ": give --vocab and --merges" : ": give its own vocabulary"));
  return c;
}

int run(int argc, char** argv) {
  settings s;
  examples::flags f(
      "Writes text with a decoder from a checkpoint: the output folder of train_gpt, a folder of saves, or a "
      "safetensors file with the tensor names of GPT-2 or Llama. The same seed gives the same text. Past the last "
      "position that the checkpoint names the text goes on from its last half.");
  declare(f, s);
  f.parse(argc, argv);
  if (s.vocab.empty() != s.merges.empty()) throw examples::usage_error("--vocab and --merges go together: give both");
  if (!f.given("prompt")) s.prompt = "\n";
  if (s.prompt.empty()) throw examples::usage_error("--prompt is empty: give at least one character");
  hd::checkpoint::store const from = hd::model::open_any(s.checkpoint);
  hd::model::decoder_description d = hd::model::describe(from, s.head_size);
  if (f.given("rope-base")) d.sizes.rope_base = s.rope_base;
  codec const c = codec_of(s, d.sizes.tokens());
  request r;
  r.prompt = c.encode(s.prompt);
  r.tokens = s.tokens;
  r.sampling = {s.temperature, s.top_p, s.top_k, s.seed};
  screen to{&s, &c};
  r.begin = [](void* data) {
    std::string const& prompt = static_cast<screen*>(data)->s->prompt;
    std::fwrite(prompt.data(), 1, prompt.size(), stdout);
  };
  r.emit = [](std::int32_t token, void* data) { static_cast<screen*>(data)->c->print(token); };
  r.data = &to;
  hd::threads_executor exec(s.threads > 0 ? s.threads : hd::usable_cores());
  write_function const write = d.style == hd::model::decoder_style::gpt2 ? write_gpt2 : write_llama;
  result const took = write(exec, from, d.sizes, r);
  std::fputc('\n', stdout);
  if (std::fflush(stdout) != 0) throw hd::error(hd::errc::file, "can't write to the standard output");
  double const ms = static_cast<double>(took.prompt_ns) * 1e-6;
  double const seconds = static_cast<double>(took.token_ns) * 1e-9;
  double const rate = s.tokens > 1 ? static_cast<double>(s.tokens - 1) / seconds : 0;
  std::fprintf(stderr, "generate: %.1f MiB; a prompt of %zu tokens in %.1f ms, then %.1f tokens/s\n",
               static_cast<double>(took.bytes) / 1048576, r.prompt.size(), ms, rate);
  return 0;
}

}  // namespace
}  // namespace generate

int main(int argc, char** argv) { return examples::run_main(argc, argv, generate::run); }
