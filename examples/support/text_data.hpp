// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/checkpoint/file.hpp>
#include <heddle/core/error.hpp>
#include <heddle/core/philox.hpp>
#include <heddle/core/tensor_view.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

/// @file
/// Bytes of text files as training data: reading, holding out a part, drawing windows, and the bigram baseline.

namespace examples {

/// The bytes of a file. Errors: errc::file that names it, the reason, and what to do; it must be a regular file.
inline std::vector<unsigned char> read_bytes(std::string const& path) {
  heddle::checkpoint::file const file = heddle::checkpoint::file::open(path);
  std::vector<unsigned char> bytes(static_cast<std::size_t>(file.size()));
  file.read_at(0, bytes.data(), static_cast<heddle::index_t>(bytes.size()));
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

/// The text files below a folder, in the order of their names; what is no regular file is left out.
/// Errors: errc::file where the folder, or one below it, can't be listed.
inline std::vector<std::string> text_files_below(std::string const& folder) {
  namespace fs = std::filesystem;
  std::vector<std::string> found;
  std::error_code failed;
  for (fs::recursive_directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    std::error_code unknown;  // a link that leads nowhere
    if (is_text(at->path()) && at->is_regular_file(unknown)) found.push_back(at->path().string());
  }
  if (failed)
    throw heddle::error(heddle::errc::file,
                        heddle::make_text("can't list all of ", folder.c_str(), ": ", failed.message().c_str(),
                                          ": change the permissions or give another --data"));
  std::sort(found.begin(), found.end());
  return found;
}

/// Files as they are, folders as the text files below them.
inline std::vector<std::string> text_files(std::vector<std::string> const& paths) {
  namespace fs = std::filesystem;
  std::vector<std::string> files;
  for (std::string const& path : paths) {
    std::error_code failed;
    fs::file_status const status = fs::status(path, failed);
    if (status.type() == fs::file_type::not_found)
      throw heddle::error(heddle::errc::file,
                          heddle::make_text("there is no ", path.c_str(), ": check the path of --data"));
    if (failed)
      throw heddle::error(heddle::errc::file,
                          heddle::make_text("can't read ", path.c_str(), ": ", failed.message().c_str(),
                                            ": check the path of --data and its permissions"));
    if (fs::is_directory(status)) {
      std::vector<std::string> const found = text_files_below(path);
      files.insert(files.end(), found.begin(), found.end());
    } else {
      files.push_back(path);
    }
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
