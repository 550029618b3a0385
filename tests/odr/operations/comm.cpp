// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <heddle/comm/collectives.hpp>
#include <heddle/comm/counting.hpp>
#include <heddle/comm/elastic.hpp>
#include <heddle/comm/exact_sum.hpp>
#include <heddle/comm/failure_guard.hpp>
#include <heddle/comm/transport/thread.hpp>
#include <heddle/core/bf16.hpp>
#include <heddle/exec/queued.hpp>
#include <heddle/exec/serial_executor.hpp>

using namespace heddle;

// Every member of a handle and of an adaptor, called or not.
template class heddle::counting<heddle::thread_communicator>;
template class heddle::failure_guard<heddle::thread_communicator>;

template <class C, class E>
static void use_collectives(C& comm, E& exec, view<float, 1> v, view<bf16, 1> h, view<index_t, 1> counts) {
  part const own = balanced_part(v.size(), comm.size(), comm.rank());
  auto const block = slice(v, 0, own.offset, own.end());
  barrier(comm, exec);
  broadcast(comm, exec, v, 0);
  all_gather(comm, exec, block, v);
  all_gather_v(comm, exec, block, v, counts);
  gather(comm, exec, block, v, 0);
  gather_v(comm, exec, block, v, counts, 0);
  scatter(comm, exec, v, block, 0);
  scatter_v(comm, exec, v, block, counts, 0);
  all_to_all(comm, exec, v, v);
  all_to_all_v(comm, exec, v, counts, v, counts);
  all_reduce(comm, exec, v, v);
  all_reduce(comm, exec, h, h, mean{});
  all_reduce(comm, exec, h, h, minimum{});
  all_reduce(comm, exec, counts, counts, multiplies{});
  reduce_to_root(comm, exec, v, v, 0, maximum{});
  reduce_scatter(comm, exec, v, block);
  reduce_scatter_v(comm, exec, v, block, counts);
  view<float, 2> const pieces(v.data(), dims<2>(1, v.size()));
  elastic_all_reduce(comm, exec, pieces, v, comm.size());
  elastic_reduce_scatter(comm, exec, pieces, block, comm.size());
  send(comm, exec, v, 0, make_channel(1));
  receive(comm, exec, v, 0, make_channel(1));
}

void use_comm(thread_communicator& comm, float* memory, bf16* half, index_t* numbers, std::uint64_t* words) {
  view<float, 1> const v(memory, dims<1>(8));
  view<bf16, 1> const h(half, dims<1>(8));
  view<index_t, 1> const counts(numbers, dims<1>(comm.size()));
  view<std::uint64_t, 1> const sum(words, dims<1>(exact_sum_words));
  serial_executor exec;
  queued<serial_executor> queue;
  counting<thread_communicator> over(comm);
  use_collectives(comm, exec, v, h, counts);
  use_collectives(comm, queue, v, h, counts);
  use_collectives(over, exec, v, h, counts);
  exact_sum_add(exec, v, sum);
  exact_sum_round(exec, sum, slice(v, 0, 0, 1));
  thread_communicator child = comm.split(0, 0);
  auto ticket = child.start_send(0, channel{1}, bytes_of(v));
  child.finish_send(ticket);
  child.fail("a reason");
  run_ranks(2, [&](thread_communicator& c, threads_executor& e) { barrier(c, e); }, {});
}
