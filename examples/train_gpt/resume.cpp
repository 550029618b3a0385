// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "resume.hpp"

#include <heddle/model/description.hpp>

#include <support/flags.hpp>

#include <cstdio>
#include <filesystem>

namespace train_gpt {

namespace hd = heddle;
using hd::index_t;

std::string saves_folder(settings const& s) {
  std::error_code failed;
  std::string const inside = s.resume + "/checkpoint";
  return std::filesystem::is_directory(inside, failed) ? inside : s.resume;
}

namespace {

// Shapes alone tell neither heads apart nor the base of rotary positions, so the metadata is compared. Saves without it
// are left to the library, which compares every name and shape.
void check_model(settings const& s, hd::checkpoint::store const& from) {
  if (!from.meta("arch")) return;
  hd::model::decoder_description const stored = hd::model::describe(from);
  hd::model::decoder_sizes const &has = stored.sizes, &wants = s.sizes;
  bool const gpt2 = stored.style == hd::model::decoder_style::gpt2;
  struct {
    char const* flag;
    index_t stored, wanted;
  } const sizes[] = {{"layers", has.layers, wants.layers},
                     {"width", has.width, wants.width},
                     {"heads", has.heads, wants.heads},
                     {"key-heads", has.key_heads, wants.key_heads},
                     {"hidden", has.hidden, wants.hidden},
                     {"seq", gpt2 ? has.positions : wants.positions, wants.positions}};
  std::string const arch = gpt2 ? "gpt2" : "llama";
  bool same = arch == s.arch && has.tied == wants.tied && (gpt2 || has.rope_base == wants.rope_base);
  std::string right = "--arch " + arch + (has.tied ? " --tied" : " --no-tied");
  for (auto const& size : sizes) {
    same = same && size.stored == size.wanted;
    right += std::string(" --") + size.flag + " " + std::to_string(size.stored);
  }
  if (!gpt2) right += " --rope-base " + examples::number_text(has.rope_base);
  if (!same) throw examples::usage_error("the checkpoint in " + from.folder() + " is of another model: give " + right);
}

// What may differ, and then changes the rest of the run.
void note_differences(settings const& s, hd::checkpoint::store const& from) {
  struct {
    char const *key, *flag;
    std::string wanted;
  } const kept[] = {{"seed", "--seed", std::to_string(s.seed)},
                    {"positions", "--seq", std::to_string(s.seq)},
                    {"storage", "storage", storage_name(s)}};
  std::string differs;
  for (auto const& k : kept)
    if (std::string const* const saved = from.meta(k.key); saved != nullptr && *saved != k.wanted)
      ((differs += differs.empty() ? "" : ", ") += k.flag) += " " + k.wanted + " (saved with " + *saved + ")";
  if (!differs.empty()) std::printf("train_gpt: goes on with %s\n", differs.c_str());
}

}  // namespace

std::string storage_name(settings const& s) { return s.bf16() ? "bf16" : "fp32"; }

void check_resume(settings const& s) {
  if (s.resume.empty()) return;
  std::string const folder = saves_folder(s);
  std::error_code failed;
  if (!std::filesystem::is_directory(folder, failed) || hd::checkpoint::list_saves(folder).empty())
    throw hd::error(hd::errc::file, hd::make_text("there is no checkpoint in ", s.resume.c_str(),
                                                  ": give --resume the --out folder of a run"));
  // Ranks open it again, verify every byte, and say what they pass over.
  hd::checkpoint::notice const silent{nullptr, nullptr};
  hd::checkpoint::store const from = hd::checkpoint::open_store(folder, hd::checkpoint::verify::sizes, silent);
  check_model(s, from);
  if (from.id().step >= s.steps)
    throw examples::usage_error("the checkpoint is at step " + std::to_string(from.id().step) +
                                ": give --steps above " + std::to_string(from.id().step));
  note_differences(s, from);
}

}  // namespace train_gpt
