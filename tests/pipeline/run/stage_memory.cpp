// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/exec/queued.hpp>
#include <heddle/exec/serial_executor.hpp>
#include <heddle/pipeline/generate.hpp>
#include <heddle/pipeline/run/stage_memory.hpp>

#include <support/catch.hpp>

#include <vector>

namespace heddle {
namespace {

using nn::life;

/// 128 bytes in F, 64 saved, 192 kept, 256 in B, 320 deferred.
nn::planner planned_sizes() {
  nn::planner p(4);
  p.take(life::fwd, 1, 128, 1);
  p.take(life::saved, 1, 64, 1);
  p.take(life::kept, 1, 192, 1);
  p.take(life::bwd, 1, 256, 1);
  p.take(life::deferred, 1, 320, 1);
  return p;
}

constexpr std::size_t each[nn::lives] = {128, 64, 192, 256, 320};

}  // namespace

TEST_CASE("a stage reserves its plan as often as the schedule keeps it alive", "[pipeline]") {
  struct { pipeline::backward_form form; int stage, saved, kept, deferred; } const cases[] = {
      {pipeline::backward_form::fused, 0, 4, 4, 1},
      {pipeline::backward_form::fused, 3, 1, 1, 1},
      {pipeline::backward_form::deferred, 0, 4, 6, 6},
      {pipeline::backward_form::deferred, 3, 1, 6, 6},
  };
  nn::planner const planned = planned_sizes();
  for (auto const& c : cases) {
    CAPTURE(c.stage, c.saved);
    auto const table = pipeline::slots(pipeline::one_forward_one_backward(4, 6, c.form));
    pipeline::stage_reservation const r = pipeline::reserve_for(planned, table, c.stage);
    CHECK(r.bytes(life::fwd) == 128);
    CHECK(r.bytes(life::bwd) == 256);
    CHECK(r.bytes(life::saved) == 64u * static_cast<unsigned>(c.saved));
    CHECK(r.bytes(life::kept) == 192u * static_cast<unsigned>(c.kept));
    CHECK(r.bytes(life::deferred) == 320u * static_cast<unsigned>(c.deferred));
    CHECK(r.total() == r.bytes(life::fwd) + r.bytes(life::saved) + r.bytes(life::kept) + r.bytes(life::bwd) +
                           r.bytes(life::deferred));
    host_space space;
    queued<serial_executor> exec;
    pipeline::stage_memory<queued<serial_executor>> const memory(exec, space, r, table, c.stage);
    CHECK(space.counts().live == static_cast<index_t>(r.total()));
  }
}

TEST_CASE("microbatches in flight share nothing but the stacks, and every byte is used", "[pipeline]") {
  auto const order = pipeline::one_forward_one_backward(4, 6, pipeline::backward_form::deferred);
  auto const table = pipeline::slots(order);
  nn::planner const planned = planned_sizes();
  pipeline::stage_reservation const r = pipeline::reserve_for(planned, table, 0);
  host_space space;
  serial_executor exec;
  pipeline::stage_memory<serial_executor> memory(exec, space, r, table, 0);
  for (life l : {life::saved, life::kept, life::deferred}) {
    std::size_t const bytes = each[static_cast<int>(l)];
    std::byte* lowest = memory.frame(0).base[static_cast<int>(l)];
    std::vector<int> used(static_cast<std::size_t>(r.count[static_cast<int>(l)]), 0);
    for (int m = 0; m < 6; ++m) {
      std::byte* const base = memory.frame(m).base[static_cast<int>(l)];
      if (base < lowest) lowest = base;
    }
    for (int m = 0; m < 6; ++m) {
      std::size_t const offset = static_cast<std::size_t>(memory.frame(m).base[static_cast<int>(l)] - lowest);
      REQUIRE(offset % bytes == 0);
      REQUIRE(offset / bytes < used.size());
      ++used[offset / bytes];
    }
    // The first four are in flight together; saved slots are used again, kept and deferred ones last to the end.
    for (int n : used) CHECK((l == life::saved ? n >= 1 : n == 1));
  }
  for (life l : {life::fwd, life::bwd})
    for (int m = 1; m < 6; ++m)
      CHECK(memory.frame(m).base[static_cast<int>(l)] == memory.frame(0).base[static_cast<int>(l)]);
  CHECK(memory.frame(0).base[static_cast<int>(life::nowhere)] == nullptr);
}

TEST_CASE("poison reaches one life of one microbatch, through the queue", "[pipeline]") {
  auto const table = pipeline::slots(pipeline::gpipe(1, 3));
  nn::planner const planned = planned_sizes();
  pipeline::stage_reservation const r = pipeline::reserve_for(planned, table, 0);
  host_space space;
  queued<serial_executor> exec;
  pipeline::stage_memory<queued<serial_executor>> memory(exec, space, r, table, 0);
  auto const region = [&](life l, int m) { return memory.frame(m).base[static_cast<int>(l)]; };
  for (life l : {life::saved, life::kept})
    for (int m = 0; m < 3; ++m) __builtin_memset(region(l, m), 1, each[static_cast<int>(l)]);
  memory.poison(life::kept, 1);
  exec.synchronize();
  for (life l : {life::saved, life::kept})
    for (int m = 0; m < 3; ++m)
      for (std::size_t i = 0; i < each[static_cast<int>(l)]; ++i)
        REQUIRE(region(l, m)[i] == std::byte{l == life::kept && m == 1 ? std::uint8_t{0xFF} : std::uint8_t{1}});
}

TEST_CASE("a forward-only schedule holds nothing for the backward pass", "[pipeline]") {
  auto const table = pipeline::slots(pipeline::forward_only(pipeline::gpipe(2, 3)));
  nn::planner const planned = planned_sizes();
  pipeline::stage_reservation const r = pipeline::reserve_for(planned, table, 1);
  CHECK(r.bytes(life::deferred) == 0);
  CHECK(r.bytes(life::saved) == 64);
  serial_executor exec;
  host_space space;
  pipeline::stage_memory<serial_executor> memory(exec, space, r, table, 1);
  CHECK(memory.frame(2).base[static_cast<int>(life::deferred)] == nullptr);
  memory.poison(life::deferred, 2);  // nothing to overwrite
  CHECK(space.counts().live == static_cast<index_t>(r.total()));
}

}  // namespace heddle
