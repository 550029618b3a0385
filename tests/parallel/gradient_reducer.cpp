// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/backend/cpu/tile_context.hpp>
#include <heddle/comm/transport/thread.hpp>
#include <heddle/exec/queued.hpp>
#include <heddle/exec/serial_executor.hpp>
#include <heddle/model/decoder.hpp>
#include <heddle/parallel/gradient_reducer.hpp>

#include <support/catch.hpp>
#include <support/random.hpp>

#include <tuple>
#include <vector>

#include <unistd.h>

namespace heddle {
namespace {

using parallel::parameter_list;
using parallel::reducer_options;

auto model_of() {
  model::decoder_sizes s;
  s.vocabulary = 7;
  s.layers = 2;
  s.width = 4;
  s.heads = s.key_heads = 2;
  s.hidden = 5;
  s.positions = 3;
  return model::gpt2(s);
}
using stage_type = decltype(model_of());
using communication = queued<serial_executor>;

float value(index_t microbatch, index_t element) {
  return static_cast<float>(test::random_value(static_cast<std::uint64_t>(microbatch) + 7, element, -1, 1));
}

/// What the reduced gradient of one element must be, bit by bit.
float wanted(reducer_options const& o, int ranks, index_t element) {
  auto const plus = [](float a, float b) { return a + b; };
  if (o.order == order_policy::elastic)
    return tree_reduce(o.microbatches, [&](index_t m) { return value(m, element); }, plus);
  return tree_reduce(ranks, [&](index_t r) {
    part const own = balanced_part(o.microbatches, ranks, r);
    float sum = value(own.offset, element);
    for (index_t m = own.offset + 1; m < own.end(); ++m) sum += value(m, element);
    return sum;
  }, plus);
}

/// One step on every rank; returns how many elements are wrong, over all ranks.
template <class Compute>
int faults_of(reducer_options const& o, int ranks, stage_type const& whole, stage_type const& stage) {
  int faults = 0;
  rank_options quick;
  quick.threads_per_rank = 1;
  quick.deadline = 20;
  run_ranks(ranks, [&](thread_communicator& comm) {
    parameter_list const list(stage, whole, ranks);
    host_space space;
    Compute compute;
    communication queue;
    using reducer_type = parallel::gradient_reducer<stage_type, Compute, communication, thread_communicator>;
    reducer_type reducer(compute, queue, comm, space, stage, list, o);
    int wrong = space.counts().live != static_cast<index_t>(reducer_type::bytes(list, o, ranks, comm.rank()));
    part const own = parallel::own_microbatches(o, ranks, comm.rank());
    for (int step = 0; step < 2; ++step) {  // the second one overwrites what the first has left
      for (index_t i = 0; i < own.size; ++i) {
        auto& tree = reducer.begin(static_cast<int>(i));
        std::size_t record = 0;
        nn::for_each_leaf(
            stage,
            [&](char const*, auto const&, nn::leaf_options const&, auto& leaf) {
              float* const data = leaf.local.data();
              index_t const at = list.layout().place(static_cast<index_t>(record++)).lo, n = leaf.local.size();
              compute.for_each_tile(1, [data, at, n, m = own.offset + i](index_t, int) {
                for (index_t e = 0; e < n; ++e) data[e] = value(m, at + e);
              });
            },
            tree);
        for (int b = stage.buckets() - 1; b >= 0; --b) reducer.ready(b);
      }
      reducer.join();
      compute.synchronize();
      queue.synchronize();
      float const* const result = reducer.result().data();
      for (int b = 0; b < list.buckets(); ++b) {
        auto const& bucket = list.layout().bucket(b);
        segment const mine = o.sharded ? list.layout().owned(b, comm.rank()) : segment{0, bucket.size};
        for (index_t e = mine.lo; e < mine.hi; ++e)
          wrong += result[bucket.offset + e] != wanted(o, ranks, bucket.offset + e);
      }
    }
    wrong += space.counts().allocations != 1;
    __atomic_add_fetch(&faults, wrong, __ATOMIC_RELAXED);
  }, quick);
  return faults;
}

using compute_types = std::tuple<serial_executor, queued<serial_executor>>;

}  // namespace

TEMPLATE_LIST_TEST_CASE("gradients are summed and reduced in the promised order", "[parallel]", compute_types) {
  auto const whole = model_of();
  for (order_policy order : {order_policy::repeatable, order_policy::elastic})
    for (int ranks : {1, 2, 3, 4})
      for (index_t microbatches : {4, 7})
        for (bool sharded : {false, true}) {
          CAPTURE(static_cast<int>(order), ranks, microbatches, sharded);
          CHECK(faults_of<TestType>({order, microbatches, sharded}, ranks, whole, whole) == 0);
        }
}

TEST_CASE("work behind the join sees reduced gradients, however late they are", "[parallel]") {
  auto const whole = model_of();
  reducer_options const o{order_policy::repeatable, 2, false};
  int faults = 0;
  rank_options quick;
  quick.threads_per_rank = 1;
  quick.deadline = 20;
  run_ranks(
      2,
      [&](thread_communicator& comm) {
        parameter_list const list(whole, whole, 2);
        host_space space;
        queued<serial_executor> compute;
        communication queue;
        parallel::gradient_reducer<stage_type, queued<serial_executor>, communication, thread_communicator> reducer(
            compute, queue, comm, space, whole, list, o);
        index_t const size = list.layout().size();
        int held = 1, seen = 0;
        std::vector<float> copy(static_cast<std::size_t>(size), 0.0f);
        queue.for_each_tile(1, [hold = &held](index_t, int) {
          while (__atomic_load_n(hold, __ATOMIC_ACQUIRE) != 0) usleep(100);
        });
        reducer.begin(0);
        float* const data = reducer.result().data();
        compute.for_each_tile(1, [data, size, m = comm.rank()](index_t, int) {
          for (index_t e = 0; e < size; ++e) data[e] = value(m, e);
        });
        for (int b = whole.buckets() - 1; b >= 0; --b) reducer.ready(b);
        reducer.join();
        compute.for_each_tile(1, [data, size, to = copy.data(), done = &seen](index_t, int) {
          for (index_t e = 0; e < size; ++e) to[e] = data[e];
          __atomic_store_n(done, 1, __ATOMIC_RELEASE);
        });
        for (int i = 0; i < 50 && __atomic_load_n(&seen, __ATOMIC_ACQUIRE) == 0; ++i) usleep(1000);
        __atomic_store_n(&held, 0, __ATOMIC_RELEASE);
        compute.synchronize();
        queue.synchronize();
        int wrong = 0;
        for (index_t e = 0; e < size; ++e) wrong += copy[static_cast<std::size_t>(e)] != wanted(o, 2, e);
        __atomic_add_fetch(&faults, wrong, __ATOMIC_RELAXED);
      },
      quick);
  CHECK(faults == 0);
}

TEST_CASE("a stage in the middle and one without parameters reduce what they have", "[parallel]") {
  auto const whole = model_of();
  reducer_options const o{order_policy::elastic, 5, true};
  CHECK(faults_of<queued<serial_executor>>(o, 2, whole, whole.cut(1, 3)) == 0);
  CHECK(faults_of<queued<serial_executor>>(o, 3, whole, whole.cut(0, 2)) == 0);
}

TEST_CASE("every data-parallel rank needs a microbatch", "[parallel]") {
  reducer_options const o{order_policy::repeatable, 3, false};
  CHECK(parallel::own_microbatches(o, 2, 0) == part{0, 2});
  CHECK(parallel::own_microbatches(o, 2, 1) == part{2, 1});
  CHECK_THROWS_AS(parallel::own_microbatches(o, 4, 0), contract_error);
}

}  // namespace heddle
