// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/comm/detail/submit.hpp>

namespace heddle {
namespace detail {
template <class C>
struct send_task {
  C* comm;
  int peer;
  channel key;
  const_bytes data;
  HEDDLE_FN void operator()(index_t, int) const { comm->send(peer, key, data); }
};
template <class C>
struct receive_task {
  C* comm;
  int peer;
  channel key;
  mutable_bytes data;
  HEDDLE_FN void operator()(index_t, int) const { comm->receive(peer, key, data); }
};
template <class C, class V>
HEDDLE_FN span message_span(char const* operation, C& comm, V const& data) {
  return {.operation = operation, .shape = {data.size()}, .bytes = element_bytes(data), .rank = comm.rank()};
}
}  // namespace detail

/// Sends a view to a rank, in the order of the queue.
/// Shapes: any, contiguous; the receiver's view has the same number of bytes. Pre: `peer` is a rank; the channel is
/// not reserved. Errors: truncated, timeout, peer_failed, at the next `synchronize` where the executor queues.
struct send_fn {
  template <transport C, executor E, any_view V>
  HEDDLE_FN void operator()(C& comm, E& exec, V const& data, int peer, channel key) const {
    HEDDLE_EXPECTS(peer >= 0 && peer < comm.size(), "the peer must be a rank", peer, comm.size());
    auto const b = bytes_of(data);
    observed_span<E> const scope(exec, [&] { return detail::message_span("send", comm, data); });
    exec.for_each_tile(1, detail::send_task<C>{&comm, peer, key, {b.data, b.size}});
  }
};
inline constexpr send_fn send{};

/// Receives a view from a rank, in the order of the queue. As `send`.
struct receive_fn {
  template <transport C, executor E, writable_view V>
  HEDDLE_FN void operator()(C& comm, E& exec, V const& data, int peer, channel key) const {
    HEDDLE_EXPECTS(peer >= 0 && peer < comm.size(), "the peer must be a rank", peer, comm.size());
    observed_span<E> const scope(exec, [&] { return detail::message_span("receive", comm, data); });
    exec.for_each_tile(1, detail::receive_task<C>{&comm, peer, key, bytes_of(data)});
  }
};
inline constexpr receive_fn receive{};

}  // namespace heddle
