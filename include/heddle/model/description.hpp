// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/checkpoint/json_writer.hpp>
#include <heddle/checkpoint/store.hpp>
#include <heddle/model/decoder.hpp>

#include <charconv>
#include <string>
#include <vector>

/// @file
/// What a checkpoint says about the model in it: our saves in their metadata, published files by the shapes of their
/// tensors.

namespace heddle::model {

/// The decoders of model/decoder.hpp.
enum class decoder_style { gpt2, llama };

/// A style and its sizes: what it takes to build the model.
struct decoder_description {
  decoder_style style = decoder_style::gpt2;
  decoder_sizes sizes{};
};

/// As metadata of a save.
HEDDLE_FN std::vector<std::pair<std::string, std::string>> to_meta(decoder_description const& d) {
  decoder_sizes const& s = d.sizes;
  auto const n = [](index_t v) { return std::to_string(v); };
  std::string base;
  checkpoint::append_json(base, s.rope_base);
  std::vector<std::pair<std::string, std::string>> meta = {
      {"arch", d.style == decoder_style::gpt2 ? "gpt2" : "llama"},
      {"vocabulary", n(s.vocabulary)},
      {"layers", n(s.layers)},
      {"width", n(s.width)},
      {"heads", n(s.heads)},
      {"key_heads", n(s.key_heads)},
      {"hidden", n(s.hidden)},
      {"positions", n(s.positions)},
      {"rope_base", base},
      {"tied", s.tied ? "1" : "0"}};
  if (s.classes > 0) meta.emplace_back("classes", n(s.classes));
  return meta;
}

namespace detail {

/// Entries by name, without the prefix that some programs put before them all.
class shape_table {
 public:
  HEDDLE_FN explicit shape_table(checkpoint::store const& from) : entries_(from.entries()) {}
  shape_table(shape_table const&) = delete;
  shape_table& operator=(shape_table const&) = delete;
  HEDDLE_FN ~shape_table() = default;

  HEDDLE_FN checkpoint::expected_entry const* find(std::string const& name) const {
    for (auto const& e : entries_)
      if (e.key.empty() && (e.name == name || e.name == "transformer." + name)) return &e;
    return nullptr;
  }
  /// One extent of a matrix. Errors: errc::format where there is no such matrix.
  HEDDLE_FN index_t extent(std::string const& name, std::size_t dim) const {
    auto const* const e = find(name);
    if (!e || e->space.rank() != 2)
      throw error(errc::format, make_text("the checkpoint holds no matrix \"", name.c_str(),
                                          "\": its sizes can't be told; it may be of another kind of model"));
    return e->space.hi[dim];
  }
  /// Blocks 0, 1, ... that have this entry.
  HEDDLE_FN index_t count(std::string const& before, std::string const& after) const {
    index_t n = 0;
    while (find(before + std::to_string(n) + after)) ++n;
    return n;
  }

 private:
  std::vector<checkpoint::expected_entry> entries_;
};

HEDDLE_FN index_t meta_number(checkpoint::store const& from, char const* key) {
  std::string const* const text = from.meta(key);
  index_t value = 0;
  if (text && !text->empty() && text->size() < 18)
    for (char const c : *text) value = c >= '0' && c <= '9' && value >= 0 ? value * 10 + (c - '0') : -1;
  if (!text || text->empty() || text->size() >= 18 || value < 0)
    throw error(errc::format, make_text("the checkpoint's metadata has no number \"", key, "\""));
  return value;
}

/// The base of the rotary positions; 10000 where the metadata names none.
HEDDLE_FN double meta_rope_base(checkpoint::store const& from) {
  std::string const* const text = from.meta("rope_base");
  if (!text) return decoder_sizes{}.rope_base;
  double value = 0;
  char const* const end = text->data() + text->size();
  std::from_chars_result const r = std::from_chars(text->data(), end, value);
  if (r.ec != std::errc{} || r.ptr != end || !(value > 0) || value - value != 0)
    throw error(errc::format, make_text("the checkpoint's metadata has \"rope_base\" \"", text->c_str(),
                                        "\", not a positive number"));
  return value;
}

HEDDLE_FN decoder_description describe_meta(checkpoint::store const& from) {
  decoder_description d{};
  std::string const& arch = *from.meta("arch");
  if (arch != "gpt2" && arch != "llama")
    throw error(errc::format, make_text("the checkpoint is of a model \"", arch.c_str(), "\", not of gpt2 or llama"));
  d.style = arch == "gpt2" ? decoder_style::gpt2 : decoder_style::llama;
  decoder_sizes& s = d.sizes;
  s.vocabulary = meta_number(from, "vocabulary");
  s.layers = meta_number(from, "layers");
  s.width = meta_number(from, "width");
  s.heads = meta_number(from, "heads");
  s.key_heads = meta_number(from, "key_heads");
  s.hidden = meta_number(from, "hidden");
  s.positions = meta_number(from, "positions");
  s.rope_base = meta_rope_base(from);
  s.tied = meta_number(from, "tied") != 0;
  if (from.meta("classes")) s.classes = meta_number(from, "classes");
  return d;
}

}  // namespace detail

/// The style and sizes of the model in a checkpoint.
///
/// `head_size` is taken where there is no metadata, since shapes do not tell it; 0 stands for 64, the head of every
/// published GPT-2, and 128, that of most Llamas. The rope base is that of the metadata, and 10000 where none is named.
/// Errors: errc::format where the checkpoint has neither metadata nor the tensors of a decoder of ours, or metadata
/// that are no sizes.
HEDDLE_FN decoder_description describe(checkpoint::store const& from, index_t head_size = 0) {
  if (from.meta("arch")) return detail::describe_meta(from);
  detail::shape_table const shapes(from);
  decoder_description d{};
  decoder_sizes& s = d.sizes;
  std::string blocks, table;
  if (shapes.find("wte.weight")) {
    index_t const head = head_size > 0 ? head_size : 64;
    table = "wte.weight";
    s.layers = shapes.count("h.", ".ln_1.weight");
    s.width = shapes.extent(table, 1);
    s.hidden = shapes.extent("h.0.mlp.c_fc.weight", 1);
    s.positions = shapes.extent("wpe.weight", 0);
    s.heads = s.key_heads = s.width / head;
  } else {
    index_t const head = head_size > 0 ? head_size : 128;
    d.style = decoder_style::llama;
    table = "model.embed_tokens.weight";
    s.layers = shapes.count("model.layers.", ".input_layernorm.weight");
    s.width = shapes.extent(table, 1);
    s.hidden = shapes.extent("model.layers.0.mlp.gate_proj.weight", 0);
    s.heads = shapes.extent("model.layers.0.self_attn.q_proj.weight", 0) / head;
    s.key_heads = shapes.extent("model.layers.0.self_attn.k_proj.weight", 0) / head;
    s.positions = 0;
  }
  s.vocabulary = shapes.extent(table, 0);
  s.tied = !shapes.find("lm_head.weight");
  if (s.heads < 1 || s.key_heads < 1 || s.width % s.heads != 0)
    throw error(errc::format, make_text("heads do not divide the width ", s.width,
                                        " of this checkpoint: give the size of a head"));
  return d;
}

/// Opens a published file (its name ends in ".safetensors") or a folder: one with a file "model.safetensors", one with
/// saves of ours, or one with a folder "checkpoint" of saves, of which the newest counts.
/// Errors: errc::file, errc::format.
HEDDLE_FN checkpoint::store open_any(std::string const& path) {
  std::string const ending = ".safetensors", inside = path + "/model.safetensors", saves = path + "/checkpoint";
  bool const is_file = path.size() > ending.size() &&
                       path.compare(path.size() - ending.size(), ending.size(), ending) == 0;
  if (!is_file && checkpoint::file_exists(path) && !checkpoint::is_folder(path))
    throw error(errc::file, make_text("can't read a checkpoint from ", path.c_str(),
                                      ": give a folder of saves or a file whose name ends in .safetensors"));
  if (!is_file && !checkpoint::file_exists(inside))
    return checkpoint::open_store(checkpoint::file_exists(saves) ? saves : path);
  std::string const& file = is_file ? path : inside;
  checkpoint::store s;
  checkpoint::require(checkpoint::open_tensors(file, s), file);
  return s;
}

}  // namespace heddle::model
