// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// A folder of its own for each test, and what lies in it.

#include <dirent.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace heddle::test {

class folder {
 public:
  folder() {
    char const* base = std::getenv("TMPDIR");
    path_ = std::string(base ? base : P_tmpdir) + "/heddle-report-XXXXXX";
    if (!::mkdtemp(path_.data())) std::abort();
  }
  folder(folder const&) = delete;
  folder& operator=(folder const&) = delete;
  ~folder() {
    for (std::string const& name : names()) ::unlink((path_ + "/" + name).c_str());
    ::rmdir(path_.c_str());
  }

  std::string at(std::string const& name) const { return path_ + "/" + name; }

  std::vector<std::string> names() const {
    std::vector<std::string> found;
    DIR* d = ::opendir(path_.c_str());
    if (!d) return found;
    while (dirent const* e = ::readdir(d))
      if (std::string(e->d_name) != "." && std::string(e->d_name) != "..") found.emplace_back(e->d_name);
    ::closedir(d);
    return found;
  }

  std::string read(std::string const& name) const {
    std::FILE* f = std::fopen(at(name).c_str(), "rb");
    if (!f) return "(missing)";
    std::string t;
    for (int c; (c = std::fgetc(f)) != EOF;) t += static_cast<char>(c);
    std::fclose(f);
    return t;
  }

 private:
  std::string path_;
};

}  // namespace heddle::test
