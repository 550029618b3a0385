// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A file of tensors written and read over raw arrays: no executor, no model.
#include <heddle/checkpoint/safetensors_writer.hpp>

#include <cstdio>

int main() {
  namespace ck = heddle::checkpoint;
  char const* const path = "part_checkpoint.safetensors";
  float const w[6] = {1, 2, 3, 4, 5, 6};
  float half[3] = {};
  {
    ck::safetensors_writer out(ck::file::create(path));
    out.declare("w", ck::dtype::f32, heddle::dims<2>(2, 3));
    out.begin();
    out.append(w, 6);
    out.finish();
  }
  ck::file const in = ck::file::open(path);
  ck::header h;
  bool const right = static_cast<bool>(ck::read_header(in, h)) && h.entries.size() == 1 && h.entries[0].name == "w";
  if (right)  // the second row alone
    ck::read_box(in, h, h.entries[0], heddle::erase_rank(heddle::make_box({1, 0}, {2, 3})),
                 heddle::view<float, 2>(half, heddle::dims<2>(1, 3)));
  std::remove(path);
  return right && half[0] == 4 && half[2] == 6 ? 0 : 1;
}
