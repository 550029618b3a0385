// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/exec/context.hpp>

#include <support/catch.hpp>
#include <support/executors.hpp>

using namespace heddle;

TEST_CASE("a context hands out what it was made from", "[exec]") {
  threads_executor compute(2);
  queued<serial_executor> communication;
  struct my_mesh {
    int dp;
  } mesh{4};
  run_policy const policy{.seed = 7, .order = order_policy::elastic, .storage = storage_policy::bf16};
  context run(compute, communication, mesh, policy);
  static_assert(std::is_trivially_copyable_v<decltype(run)>);
  CHECK(&run.compute() == &compute);
  CHECK(&run.communication() == &communication);
  CHECK(run.mesh().dp == 4);
  CHECK(run.seed() == 7);
  CHECK(run.order() == order_policy::elastic);
  CHECK(run.storage() == storage_policy::bf16);
}

TEST_CASE("one executor alone makes a context with the defaults", "[exec]") {
  serial_executor exec;
  context run(exec);
  CHECK(&run.compute() == &run.communication());
  CHECK(run.order() == order_policy::repeatable);
  CHECK(run.storage() == storage_policy::fp32);
  CHECK(run.seed() == 0);
}

TEST_CASE("a site is the hash of the dotted path", "[exec]") {
  serial_executor exec;
  context run(exec);
  using call_type = call<decltype(run)>;
  static_assert(std::is_trivially_copyable_v<call_type>);
  call_type const root{&run, 3, 11, 44};
  call_type const leaf = root.at("blocks").at(10).at("attention");
  CHECK(leaf.site == site_of("blocks.10.attention"));
  CHECK(root.at("blocks").at("10").site == root.at("blocks").at(10).site);
  CHECK(root.at("blocks").at(0).site == site_of("blocks.0"));
  CHECK(root.at("a").at(1).at(0).site != root.at("a").at(10).site);
  CHECK(root.at("ab").at("c").site != root.at("a").at("bc").site);
  CHECK(leaf.step == 3);
  CHECK(leaf.microbatch == 11);
  CHECK(leaf.first_row == 44);
  CHECK(&leaf.exec() == &exec);
  static_assert(site_of("") == 14695981039346656037u);
  static_assert(site_of("a") == 0xaf63dc4c8601ec8cu);  // published value of FNV-1a
}

TEST_CASE("the ready hook reaches the driver from any depth", "[exec]") {
  serial_executor exec;
  context run(exec);
  int buckets[3] = {};
  call<decltype(run)> c{&run};
  c.ready(0);  // without a hook nothing happens
  c.ready_state = buckets;
  c.ready_hook = [](void* state, int bucket) { ++static_cast<int*>(state)[bucket]; };
  c.at("x").at(2).ready(1);
  CHECK(buckets[0] == 0);
  CHECK(buckets[1] == 1);
}
