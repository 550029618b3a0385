// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "output.hpp"

#include <heddle/checkpoint/file.hpp>
#include <heddle/checkpoint/layout.hpp>

#include <support/flags.hpp>

#include <filesystem>

namespace train_gpt {

namespace hd = heddle;

bool goes_on(settings const& s) {
  std::error_code failed;
  if (s.resume.empty() || s.out.empty()) return false;
  return std::filesystem::equivalent(s.resume, s.out, failed) ||
         std::filesystem::equivalent(s.resume, s.out + "/checkpoint", failed);
}

void check_output(settings const& s) {
  std::string const latest = s.out + "/checkpoint/latest";
  if (s.out.empty() || s.overwrite || goes_on(s) || !hd::checkpoint::file_exists(latest)) return;
  std::string name = hd::checkpoint::read_small_file(latest, 4096);
  if (!name.empty() && name.back() == '\n') name.pop_back();
  hd::checkpoint::save_id id;
  std::string const saved =
      hd::checkpoint::parse_folder_name(name, id) ? " saved at step " + std::to_string(id.step) : std::string();
  throw examples::usage_error(s.out + " holds a run" + saved + ": add --resume " + s.out +
                              " to go on, choose another --out, or give --overwrite");
}

}  // namespace train_gpt
