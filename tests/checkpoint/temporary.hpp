// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/checkpoint/file.hpp>

#include <cstdlib>

namespace heddle::test {

/// A folder that is removed with everything in it.
class temporary_folder {
 public:
  temporary_folder() {
    char const* base = std::getenv("TMPDIR");
    path_ = std::string(base != nullptr ? base : "/tmp") + "/heddle-test-XXXXXX";
    if (::mkdtemp(path_.data()) == nullptr) throw error(errc::file, "no temporary folder");
  }
  temporary_folder(temporary_folder const&) = delete;
  temporary_folder& operator=(temporary_folder const&) = delete;
  ~temporary_folder() { remove(path_); }

  std::string const& path() const { return path_; }
  std::string operator/(std::string const& name) const { return path_ + "/" + name; }

 private:
  static void remove(std::string const& path) {
    for (std::string const& name : checkpoint::list_directory(path)) {
      std::string const inner = path + "/" + name;
      if (::unlink(inner.c_str()) != 0) remove(inner);
    }
    ::rmdir(path.c_str());
  }
  std::string path_;
};

inline void write_file(std::string const& path, std::string const& bytes) {
  auto f = checkpoint::file::create(path);
  f.write(bytes.data(), static_cast<index_t>(bytes.size()));
  f.close();
}
inline std::string read_file(std::string const& path) { return checkpoint::read_small_file(path, index_t{1} << 30); }

/// A file of the format: the length, the header, the data.
inline std::string made(std::string const& header, std::string const& data) {
  std::string out;
  for (int i = 0; i < 8; ++i) out += static_cast<char>((header.size() >> (8 * i)) & 255);
  return out + header + data;
}

}  // namespace heddle::test
