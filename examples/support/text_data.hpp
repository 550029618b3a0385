// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/error.hpp>
#include <heddle/core/philox.hpp>
#include <heddle/core/tensor_view.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

/// @file
/// Bytes of text files as training data: reading, holding out a part, drawing windows, and the bigram baseline.

namespace examples {

/// The bytes of a file. Errors: errc::file naming it.
inline std::vector<unsigned char> read_bytes(std::string const& path) {
  std::FILE* const file = std::fopen(path.c_str(), "rb");
  if (file == nullptr)
    throw heddle::error(heddle::errc::file,
                        heddle::make_text("can't open ", path.c_str(), ": check the path of --data"));
  std::vector<unsigned char> bytes;
  unsigned char block[65536];
  for (std::size_t n; (n = std::fread(block, 1, sizeof block, file)) > 0;) bytes.insert(bytes.end(), block, block + n);
  bool const failed = std::ferror(file) != 0;
  std::fclose(file);
  if (failed) throw heddle::error(heddle::errc::file, heddle::make_text("can't read ", path.c_str()));
  return bytes;
}

/// What the names of files in a folder must end with to be taken as text.
inline constexpr char const* text_endings[] = {".hpp", ".cpp", ".h", ".c", ".md", ".txt", ".cmake", ".py", ".rst"};

inline bool is_text(std::filesystem::path const& path) {
  std::string const ending = path.extension().string();
  return std::any_of(std::begin(text_endings), std::end(text_endings), [&](char const* e) { return ending == e; });
}

/// All endings in a line, for messages.
inline std::string text_endings_list() {
  std::string all;
  for (char const* e : text_endings) (all += all.empty() ? "" : " ") += e;
  return all;
}

/// Files as they are, folders as the text files below them, in the order of their names.
inline std::vector<std::string> text_files(std::vector<std::string> const& paths) {
  namespace fs = std::filesystem;
  std::vector<std::string> files;
  for (std::string const& path : paths) {
    std::error_code failed;
    if (!fs::exists(path, failed))
      throw heddle::error(heddle::errc::file,
                          heddle::make_text("there is no ", path.c_str(), ": check the path of --data"));
    if (!fs::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    std::vector<std::string> found;
    for (auto const& entry : fs::recursive_directory_iterator(path))
      if (entry.is_regular_file() && is_text(entry.path())) found.push_back(entry.path().string());
    std::sort(found.begin(), found.end());
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

/// Text cut into a part to train on and a part held out.
///
/// Every file is cut into blocks of 4096 bytes; of all blocks the share `valid_fraction` is held out, evenly spread,
/// so that both parts look alike.
struct text_data {
  std::vector<unsigned char> train, valid;

  static text_data load(std::vector<std::string> const& paths, double valid_fraction) {
    text_data data;
    double owed = 0;
    for (std::string const& path : text_files(paths)) {
      std::vector<unsigned char> const bytes = read_bytes(path);
      for (std::size_t at = 0; at < bytes.size(); at += 4096) {
        std::size_t const end = std::min(bytes.size(), at + 4096);
        owed += valid_fraction;
        auto& part = owed >= 1 ? data.valid : data.train;
        if (owed >= 1) owed -= 1;
        part.insert(part.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at),
                    bytes.begin() + static_cast<std::ptrdiff_t>(end));
      }
    }
    return data;
  }
};

/// Cross entropy of byte bigrams, in nats per byte: counts from one text, measured on another.
/// Of a few weights for unseen pairs the one that is best on the measured text counts, so the bar is not lowered.
inline double bigram_loss(std::vector<unsigned char> const& from, std::vector<unsigned char> const& on) {
  std::vector<double> pair(65536, 0), single(256, 0);
  for (std::size_t i = 0; i + 1 < from.size(); ++i) {
    pair[static_cast<std::size_t>(from[i]) * 256 + from[i + 1]] += 1;
    single[from[i]] += 1;
  }
  double best = INFINITY;
  for (double const unseen : {1.0, 0.3, 0.1, 0.03, 0.01}) {
    double sum = 0;
    for (std::size_t i = 0; i + 1 < on.size(); ++i)
      sum -= std::log((pair[static_cast<std::size_t>(on[i]) * 256 + on[i + 1]] + unseen) /
                      (single[on[i]] + 256 * unseen));
    best = std::min(best, sum / static_cast<double>(std::max<std::size_t>(1, on.size() - 1)));
  }
  return best;
}

}  // namespace examples
