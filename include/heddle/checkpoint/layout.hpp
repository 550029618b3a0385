// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/checkpoint/atomic_file.hpp>

#include <algorithm>
#include <cstdio>
#include <utility>

/// @file
/// The names inside a folder of checkpoints, and the points that a save passes.
///
///     root/latest                                     the name of the newest complete save
///     root/step-00000020.000017/manifest.json         present means complete
///     root/step-00000020.000017/rank-00003.safetensors

namespace heddle::checkpoint {

/// The metadata entry of a rank's file that says which box of which tensor each of its entries is.
inline constexpr char const* box_index_key = "heddle.boxes";

/// One attempt to save one step. Attempts are numbered over the whole folder, so a higher one is a later save.
struct save_id {
  index_t step = 0;
  index_t attempt = 0;

  HEDDLE_FN save_id() noexcept {}
  HEDDLE_FN save_id(index_t s, index_t a) noexcept : step(s), attempt(a) {}

  HEDDLE_FN friend bool operator==(save_id const& a, save_id const& b) noexcept {
    return a.step == b.step && a.attempt == b.attempt;
  }
};

/// What one rank wrote: enough for rank 0 to list it. Trivially copyable, so that any gather can carry it.
struct rank_file {
  index_t rank = 0;
  index_t bytes = 0;
  index_t crc32c = 0;
};

/// The points that a save passes in this order, the first seven once per rank.
enum class save_point : int {
  folder_made,
  file_opened,
  header_written,
  data_written,
  file_synced,
  file_renamed,
  folder_synced,
  manifest_written,
  manifest_synced,
  manifest_renamed,
  manifest_folder_synced,
  latest_written,
  latest_synced,
  latest_renamed,
  latest_folder_synced,
  old_manifest_deleted,  ///< once per save that is deleted
  old_deleted,
};
inline constexpr int num_save_points = static_cast<int>(save_point::old_deleted) + 1;

/// Called at each point of a save; may throw, which interrupts it there. For tests and progress reports.
struct save_hook {
  void (*reached)(save_point point, void* data) = nullptr;
  void* data = nullptr;

  HEDDLE_FN void operator()(save_point p) const {
    if (reached != nullptr) reached(p, data);
  }
};

namespace detail {
HEDDLE_FN void say_to_stderr(char const* message, void*) { std::fprintf(stderr, "heddle: %s\n", message); }
}  // namespace detail

/// Who hears what does not stop a save or a resume: a save that is passed over, an old one that can't be deleted. The
/// default writes to the standard error stream.
struct notice {
  void (*say)(char const* message, void* data) = &detail::say_to_stderr;
  void* data = nullptr;

  HEDDLE_FN void operator()(std::string const& message) const {
    if (say != nullptr) say(message.c_str(), data);
  }
};

namespace detail {
HEDDLE_FN std::string padded(index_t n, std::size_t width) {
  std::string s = std::to_string(n);
  return s.size() < width ? std::string(width - s.size(), '0') + s : s;
}
HEDDLE_FN bool parse_digits(std::string const& s, std::size_t from, std::size_t to, index_t& out) noexcept {
  if (from >= to || to - from > 18) return false;
  out = 0;
  for (std::size_t i = from; i < to; ++i) {
    if (s[i] < '0' || s[i] > '9') return false;
    out = out * 10 + (s[i] - '0');
  }
  return true;
}

/// Writes a small file so that a reader sees the old content or the new, never a part.
HEDDLE_FN void replace_file(std::string const& folder, std::string const& name, index_t attempt,
                            std::string const& content, save_hook const& hook, save_point first) {
  atomic_file f(folder + "/" + name, std::to_string(attempt));
  f.write(content);
  f.commit([&](commit_point k) { hook(static_cast<save_point>(static_cast<int>(first) + static_cast<int>(k))); });
}
}  // namespace detail

/// The folder of a save, and in it the file of a rank.
HEDDLE_FN std::string folder_name(save_id const& id) {
  return "step-" + detail::padded(id.step, 8) + "." + detail::padded(id.attempt, 6);
}
HEDDLE_FN std::string file_name(index_t rank) { return "rank-" + detail::padded(rank, 5) + ".safetensors"; }

/// The save that a folder's name stands for; false for other names.
HEDDLE_FN bool parse_folder_name(std::string const& name, save_id& out) noexcept {
  std::size_t const dot = name.find('.');
  return name.compare(0, 5, "step-") == 0 && dot != std::string::npos &&
         detail::parse_digits(name, 5, dot, out.step) &&
         detail::parse_digits(name, dot + 1, name.size(), out.attempt) && folder_name(out) == name;
}

/// Every save in a folder, complete or not, the latest attempt first.
HEDDLE_FN std::vector<save_id> list_saves(std::string const& root) {
  std::vector<save_id> out;
  for (std::string const& name : list_directory(root)) {
    save_id id;
    if (parse_folder_name(name, id)) out.push_back(id);
  }
  std::sort(out.begin(), out.end(), [](save_id const& a, save_id const& b) {
    return a.attempt != b.attempt ? a.attempt > b.attempt : a.step > b.step;
  });
  return out;
}

/// Names the next save of a step. One rank calls it and tells the others.
HEDDLE_FN save_id next_save(std::string const& root, index_t step) {
  HEDDLE_EXPECTS(step >= 0, "steps count from 0", step);
  std::vector<save_id> const saves = list_saves(root);
  return {step, saves.empty() ? 1 : saves.front().attempt + 1};
}

}  // namespace heddle::checkpoint
