// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/checkpoint/store.hpp>
#include <heddle/checkpoint/store_writer.hpp>
#include <heddle/core/bf16.hpp>

#include <utility>

using namespace heddle;
using namespace heddle::checkpoint;

// Every special member of a value that owns memory.
template <class T>
static void pass_on(T const& value) {
  T a(value), b(std::move(a));
  a = value;
  b = std::move(a);
}

void use_checkpoint(float* memory, bf16* half) {
  pass_on(json{});
  pass_on(entry{});
  pass_on(header{});
  pass_on(manifest{});
  pass_on(fault("", 0, ""));
  pass_on(report{});
  pass_on(notice{});
  pass_on(save_hook{});
  store from = open_store("folder", verify::sizes);
  pass_on(from);
  pass_on(from.entries());
  any_box const all = erase_rank(whole(dims<1>(4)));
  view<float, 1> const values(memory, dims<1>(4));
  view<bf16, 1> const narrow(half, dims<1>(4));
  from.load_box("a", "", all, all, values);
  from.load_range("a", "", all, {0, 4}, narrow);
  rank_writer to("folder", {1, 2}, 0);
  to.add("a", "", all, all, values);
  to.add_range("b", "", all, {0, 4}, narrow);
  to.finish_rank();
  safetensors_writer plain(file::create("a file"));
  plain.declare("a", dtype::f32, dims<2>(2, 2));
  plain.begin();
  plain.append(memory, 4);
  plain.finish();
  file const f = file::open("a file");
  header h;
  read_header(f, h);
  read_box(f, h, h.entries[0], all, values);
  read_box_as(f, h, h.entries[0], all, values);
  read_entry(f, h, h.entries[0], values);
}
