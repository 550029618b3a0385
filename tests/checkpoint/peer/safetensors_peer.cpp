// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// @file
/// The other side of python_safetensors.py: `write FILE` makes a file of known content, `list FILE` prints every
/// entry with its bytes, `save FOLDER` makes a sharded checkpoint of two ranks.

#include <heddle/checkpoint/store.hpp>

#include <cstdio>

using namespace heddle;
using namespace heddle::checkpoint;

namespace {
int write_known(std::string const& path) {
  float const f[6] = {0, 1, 2, -3, 4.5f, 1e-30f};
  double const d[2] = {1.0 / 3.0, -0.0};
  std::int64_t const i[3] = {-1, 0, std::int64_t{1} << 62};
  std::uint8_t const u[3] = {0, 127, 255};
  bool const b[2] = {true, false};
  float const s = 7;
  safetensors_writer w(file::create(path));
  w.meta("note", "written by heddle: \"\xe2\x82\xac\"");
  w.declare("d", dtype::f64, dims<1>(2));
  w.declare("i", dtype::i64, dims<1>(3));
  w.declare("f", dtype::f32, dims<2>(2, 3));
  w.declare("scalar", dtype::f32, dims<0>());
  w.declare("empty", dtype::f32, dims<2>(2, 0));
  w.declare("u", dtype::u8, dims<1>(3));
  w.declare("b", dtype::boolean, dims<1>(2));
  w.begin();
  w.append(d, 2);
  w.append(i, 3);
  w.append(f, 6);
  w.append(&s, 1);
  w.append(u, 3);
  w.append(b, 2);
  w.finish();
  return 0;
}

int list(std::string const& path) {
  file const f = file::open(path);
  header const h = require_header(f);
  for (entry const& e : h.entries) {
    std::printf("%s %s [", e.name.c_str(), name(e.type));
    for (index_t n : e.extents) std::printf(" %lld", static_cast<long long>(n));
    std::printf(" ] ");
    std::vector<unsigned char> bytes(static_cast<std::size_t>(e.end - e.begin));
    f.read_at(h.data_start + e.begin, bytes.data(), e.end - e.begin);
    for (unsigned char c : bytes) std::printf("%02x", c);
    std::printf("\n");
  }
  return 0;
}

int save(std::string const& root) {
  index_t const sizes[2] = {5, 3};
  any_box const space = whole(sizes, 2);
  float data[15];
  for (int k = 0; k < 15; ++k) data[k] = static_cast<float>(k);
  manifest m;
  m.id = next_save(root, 3);
  for (index_t rank = 0; rank < 2; ++rank) {
    rank_writer w(root, m.id, rank);
    any_box const part = shard_of(space, 0, 2, rank);
    w.add("w", "", space, part, view<float const, 1>(data + 3 * part.lo[0], dims<1>(part.size())));
    if (rank == 0) w.add("whole", "", space, space, view<float const, 2>(data, dims<2>(5, 3)));
    m.files.push_back(w.finish_rank());
  }
  commit(root, m);
  std::printf("%s\n", folder_name(m.id).c_str());
  return 0;
}
}  // namespace

int main(int argc, char** argv) {
  std::string const command = argc == 3 ? argv[1] : "";
  try {
    if (command == "write") return write_known(argv[2]);
    if (command == "list") return list(argv[2]);
    if (command == "save") return save(argv[2]);
  } catch (std::exception const& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
  std::fprintf(stderr, "usage: safetensors_peer write|list FILE, or save FOLDER\n");
  return 2;
}
