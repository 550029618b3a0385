// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/backend/reference/matmul.hpp>
#include <heddle/backend/reference/tile_context.hpp>
#include <heddle/checkpoint/store_writer.hpp>
#include <heddle/exec/reference_executor.hpp>
#include <heddle/model/description.hpp>
#include <heddle/model/generator.hpp>
#include <heddle/model/weights.hpp>

#include <support/catch.hpp>
#include "../checkpoint/temporary.hpp"
#include "made_decoder.hpp"
#include "published_gpt2.hpp"

using namespace heddle;

namespace {

/// What loading a file into a model says.
std::string faults(std::string const& path, model::decoder_sizes const& s) {
  reference_executor exec;
  model::weights<float> w(exec, model::gpt2(s));
  return w.load(model::open_any(path)).summary(1);
}

bool holds(std::string const& all, char const* what) { return all.find(what) != std::string::npos; }

}  // namespace

TEST_CASE("a published GPT-2 file computes GPT-2", "[model]") {
  test::temporary_folder const folder;
  test::published_gpt2 file;
  std::vector<std::int32_t> const tokens = test::made_tokens(7, file.vocabulary);
  auto const wanted = file.logits(tokens);
  file.add("h.0.attn.bias", {1, 1, 7, 7});  // masks, which other programs store
  file.add("h.1.attn.masked_bias", {});
  file.write(folder / "model.safetensors", "");
  file.write(folder / "inner.safetensors", "transformer.");
  for (std::string const& path : {folder.path(), folder / "inner.safetensors"}) {
    checkpoint::store const from = model::open_any(path);
    model::decoder_description const d = model::describe(from, 4);
    CHECK(d.style == model::decoder_style::gpt2);
    reference_executor exec;
    auto const m = model::gpt2(d.sizes);
    model::weights<double> w(exec, m);
    checkpoint::report const r = w.load(from);
    INFO(r.summary());
    REQUIRE(r);
    model::generator g(exec, m, w, {7, 0});
    // Fewer than a thousand roundings of 2^-53 on the way of a number, which stays below 100: 1e-11.
    double worst = 0;
    for (std::size_t t = 0; t < tokens.size(); ++t) {
      auto const logits = g.append(tokens[t]);
      exec.synchronize();
      REQUIRE(logits.extent(0) == file.vocabulary);
      for (index_t v = 0; v < file.vocabulary; ++v) {
        double const error = std::fabs(logits(v) - wanted[t][static_cast<std::size_t>(v)]);
        worst = error > worst || error != error ? error : worst;
      }
    }
    CHECK(worst < 1e-11);
  }
}

TEST_CASE("sizes come from the shapes of tensors", "[model]") {
  test::temporary_folder const folder;
  test::published_gpt2 file;
  file.write(folder / "a.safetensors", "transformer.");
  model::decoder_sizes const s = model::describe(model::open_any(folder / "a.safetensors"), 4).sizes;
  CHECK((s.vocabulary == 11 && s.layers == 2 && s.width == 8 && s.heads == 2 && s.key_heads == 2));
  CHECK((s.hidden == 12 && s.positions == 7 && s.tied));
  // Without the size of a head it is that of all published files, 64, which does not fit here.
  CHECK(test::refuses<error>([&] { model::describe(model::open_any(folder / "a.safetensors")); }, "size of a head"));
  test::write_file(folder / "b.safetensors", test::made("{}", ""));
  CHECK(test::refuses<error>([&] { model::describe(model::open_any(folder / "b.safetensors")); }, "another kind of"));
  CHECK(test::refuses<error>([&] { model::open_any(folder / "none"); }, "no usable checkpoint"));
}

TEST_CASE("a file of another model is refused with both shapes", "[model]") {
  test::temporary_folder const folder;
  test::published_gpt2 const good;
  good.write(folder / "a.safetensors", "");
  model::decoder_sizes const s = model::describe(model::open_any(folder / "a.safetensors"), 4).sizes;
  CHECK(faults(folder / "a.safetensors", s).empty());
  model::decoder_sizes other = s;
  other.hidden = 16;
  CHECK(faults(folder / "a.safetensors", other).find("\"h.0.mlp.c_fc.weight\" is [8, 16] in this model and [8, 12] in "
                                                     "the checkpoint") == 0);
  other = s;
  other.layers = 3;
  CHECK(holds(faults(folder / "a.safetensors", other), "\"h.2.ln_1.weight\" is in this model and not"));
  other.layers = 1;
  CHECK(holds(faults(folder / "a.safetensors", other), "is in the checkpoint and not in this model"));
  other = s;
  other.tied = false;
  CHECK(holds(faults(folder / "a.safetensors", other), "\"lm_head.weight\" is in this model"));
  test::published_gpt2 with_head = good;
  with_head.add("lm_head.weight", {11, 8});
  with_head.write(folder / "b.safetensors", "");
  CHECK(faults(folder / "b.safetensors", other).empty());
  CHECK(faults(folder / "b.safetensors", s).empty());  // a copy of the tied head is passed over
  CHECK_FALSE(model::describe(model::open_any(folder / "b.safetensors"), 4).sizes.tied);
}

TEST_CASE("a published Llama file is told by its shapes", "[model]") {
  test::temporary_folder const folder;
  reference_executor exec;
  model::decoder_sizes s = test::tiny_sizes(true);
  s.tied = false;
  model::weights<float> const w(exec, model::llama(s));
  test::make_weights(w);
  std::string const table = "model.layers.0.self_attn.rotary_emb.inv_freq";
  checkpoint::safetensors_writer writer(checkpoint::file::create(folder / "model.safetensors"));
  for (auto const& r : w.list().records())
    writer.declare(r.name, checkpoint::dtype::f32, r.extents.data(), r.extents.size());
  writer.declare(table, checkpoint::dtype::f32, dims<1>(4));
  writer.begin();
  for (std::size_t i = 0; i < w.list().records().size(); ++i) writer.append(w.values(i).data(), w.values(i).size());
  float const angles[4] = {1, 0.1f, 0.01f, 0.001f};
  writer.append(angles, 4);
  writer.finish();

  checkpoint::store const from = model::open_any(folder.path());
  model::decoder_description const d = model::describe(from, 8);
  CHECK(model::to_meta(d) == model::to_meta({model::decoder_style::llama, s}));
  model::weights<float> read(exec, model::llama(d.sizes));
  REQUIRE(read.load(from));
  index_t differing = 0;
  for (std::size_t i = 0; i < w.list().records().size(); ++i)
    for (index_t e = 0; e < w.values(i).size(); ++e) differing += w.values(i)(e) != read.values(i)(e);
  CHECK(differing == 0);
  for (char const* name : {"model.embed_tokens.weight", "model.layers.1.self_attn.k_proj.weight", "lm_head.weight",
                           "model.layers.0.post_attention_layernorm.weight", "model.layers.0.mlp.down_proj.weight"})
    CHECK(from.check({}).summary(100).find(name) != std::string::npos);
}

TEST_CASE("the base of rotary positions is a positive number, and 10000 where none is named", "[model]") {
  test::temporary_folder const folder;
  auto const saved_with = [&](index_t step, char const* base) {
    checkpoint::manifest manifest;
    manifest.id = checkpoint::next_save(folder.path(), step);
    checkpoint::rank_writer writer(folder.path(), manifest.id, 0);
    manifest.files = {writer.finish_rank()};
    for (auto const& entry : model::to_meta({model::decoder_style::llama, test::tiny_sizes(true)}))
      if (entry.first != "rope_base") manifest.meta.push_back(entry);
    if (base != nullptr) manifest.meta.emplace_back("rope_base", base);
    checkpoint::commit(folder.path(), manifest);
    return model::open_any(folder.path());
  };
  CHECK(model::describe(saved_with(1, nullptr)).sizes.rope_base == 10000);
  CHECK(model::describe(saved_with(2, "5e5")).sizes.rope_base == 500000);
  index_t step = 3;
  for (char const* bad : {"", "0", "-1", "nan", "inf", "null", "1e999", "10000x", " 10000"}) {
    INFO(bad);
    checkpoint::store const from = saved_with(step++, bad);
    CHECK(test::refuses<error>([&] { model::describe(from); }, "rope_base"));
  }
}

TEMPLATE_TEST_CASE("a save of ours comes back with its description", "[model]", float, bf16) {
  test::temporary_folder const folder;
  reference_executor exec;
  model::decoder_description d{model::decoder_style::llama, test::tiny_sizes(true)};
  d.sizes.tied = true;
  d.sizes.rope_base = 500000.25;
  auto const m = model::llama(d.sizes);
  model::weights<float> const saved(exec, m);
  test::make_weights(saved);
  checkpoint::manifest manifest;
  manifest.id = checkpoint::next_save(folder / "checkpoint", 3);
  checkpoint::rank_writer writer(folder / "checkpoint", manifest.id, 0);
  for (std::size_t i = 0; i < saved.list().records().size(); ++i) {
    auto const& r = saved.list().records()[i];
    any_box const space = whole(r.extents.data(), r.extents.size());
    if (saved.is_alias(i)) continue;
    for (char const* key : {"", "exp_avg"}) writer.add_range(r.name, key, space, {0, r.size}, saved.values(i));
  }
  manifest.files = {writer.finish_rank()};
  manifest.meta = model::to_meta(d);
  checkpoint::commit(folder / "checkpoint", manifest);

  checkpoint::store const from = model::open_any(folder.path());
  model::decoder_description const found = model::describe(from);
  CHECK(model::to_meta(found) == model::to_meta(d));
  CHECK(found.sizes.rope_base == d.sizes.rope_base);
  model::weights<TestType> w(exec, model::llama(found.sizes));
  REQUIRE(w.load(from));
  REQUIRE(w.size() == saved.size());
  index_t differing = 0;
  for (std::size_t i = 0; i < w.list().records().size(); ++i)
    for (index_t e = 0; e < w.values(i).size(); ++e)
      differing += !(w.values(i)(e) == static_cast<TestType>(saved.values(i)(e)));
  CHECK(differing == 0);
  CHECK(w.is_alias(w.list().records().size() - 1));

  // The file of the only rank is a whole model, with state of the optimizer beside.
  std::string const save = folder / "checkpoint/" + checkpoint::folder_name(manifest.id) + "/";
  model::weights<TestType> alone(exec, model::llama(found.sizes));
  REQUIRE(alone.load(model::open_any(save + checkpoint::file_name(0))));
  differing = 0;
  for (std::size_t i = 0; i < w.list().records().size(); ++i)
    for (index_t e = 0; e < w.values(i).size(); ++e) differing += !(w.values(i)(e) == alone.values(i)(e));
  CHECK(differing == 0);
}
