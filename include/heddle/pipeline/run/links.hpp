// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/comm/communicator.hpp>
#include <heddle/comm/point_to_point.hpp>
#include <heddle/core/tensor.hpp>
#include <heddle/exec/queued.hpp>
#include <heddle/exec/serial_executor.hpp>

namespace heddle::pipeline {

/// What the messages of a training run are about: the kind of their channel. A program's own begin at `first_free`.
enum class traffic : unsigned {
  activation = 1,     ///< of a microbatch, to the next stage
  gradient = 2,       ///< of a microbatch, to the stage before
  tied_gradient = 3,  ///< of a parameter that the first and the last stage use
  first_free = 4,
};

/// The communicators of one stage with its neighbours: one per boundary and direction, so that no two threads of a
/// rank ever use the same handle. In each, rank 0 is the earlier stage.
template <communicator Comm>
struct stage_links {
  Comm activation_in, activation_out, gradient_in, gradient_out;

  HEDDLE_FN stage_links(Comm a_in, Comm a_out, Comm g_in, Comm g_out) noexcept
      : activation_in(static_cast<Comm&&>(a_in)), activation_out(static_cast<Comm&&>(a_out)),
        gradient_in(static_cast<Comm&&>(g_in)), gradient_out(static_cast<Comm&&>(g_out)) {}
  HEDDLE_FN stage_links(stage_links&&) noexcept = default;
  HEDDLE_FN stage_links& operator=(stage_links&&) noexcept = default;
  HEDDLE_FN ~stage_links() = default;
};

/// Splits the communicator of a pipeline into its boundaries. Collective; ranks are stages.
template <communicator Comm>
HEDDLE_FN stage_links<Comm> make_stage_links(Comm& pipeline) {
  int const stage = pipeline.rank(), last = pipeline.size() - 1;
  // A boundary lies between stages b and b + 1; even and odd ones are split apart, since a stage touches two.
  auto boundary = [&](int parity) {
    int const b = stage % 2 == parity ? stage : stage - 1;
    return pipeline.split(b >= 0 && b < last ? b : -1, stage);
  };
  Comm act_even = boundary(0), act_odd = boundary(1), grad_even = boundary(0), grad_odd = boundary(1);
  if (stage % 2 == 0)
    return {static_cast<Comm&&>(act_odd), static_cast<Comm&&>(act_even), static_cast<Comm&&>(grad_even),
            static_cast<Comm&&>(grad_odd)};
  return {static_cast<Comm&&>(act_even), static_cast<Comm&&>(act_odd), static_cast<Comm&&>(grad_odd),
          static_cast<Comm&&>(grad_even)};
}

/// Sends matrices to one neighbour from a queue of its own, so that the compute queue goes on.
///
/// Memory: two buffers, used in turn; the third message waits until the first has been taken.
template <class T, communicator Comm, executor Compute>
class outbox {
 public:
  static constexpr int buffers = 2;

  HEDDLE_FN outbox(Compute& compute, host_space& space, Comm& link, int peer, index_t rows, index_t columns)
      : compute_(&compute), link_(&link), peer_(peer), next_(0) {
    for (auto& b : buffer_) b = tensor<T, 2>(compute, space, dims<2>(rows, columns));
  }
  outbox(outbox const&) = delete;
  outbox& operator=(outbox const&) = delete;
  HEDDLE_FN ~outbox() {}

  /// Where the next message is made, by work of the compute queue that is submitted from now on.
  HEDDLE_FN view<T, 2> prepare() {
    compute_->wait(sent_[next_]);
    return buffer_[next_].view();
  }
  /// Sends what the compute queue has made there.
  HEDDLE_FN void send(channel key) {
    queue_.wait(compute_->record());
    Comm* const link = link_;
    int const peer = peer_;
    const_bytes const bytes = bytes_of(view<T const, 2>(buffer_[next_].view()));
    queue_.for_each_tile(1, [link, peer, key, bytes](index_t, int) { link->send(peer, key, bytes); });
    sent_[next_] = queue_.record();
    next_ = (next_ + 1) % buffers;
  }
  /// Blocks until everything was taken; throws what went wrong.
  HEDDLE_FN void synchronize() { queue_.synchronize(); }
  HEDDLE_FN void cancel() noexcept { queue_.cancel(); }

  static HEDDLE_FN std::size_t bytes(index_t rows, index_t columns) noexcept {
    return static_cast<std::size_t>(rows * columns) * sizeof(T) * buffers;
  }

 private:
  Compute* compute_;
  Comm* link_;
  int peer_;
  int next_;
  tensor<T, 2> buffer_[buffers];
  queued<serial_executor> queue_;
  queue_event sent_[buffers];
};

/// Receives a matrix as work of the compute queue. Pre: contiguous.
template <communicator Comm, executor Compute, class T>
HEDDLE_FN void receive_into(Compute& compute, Comm& link, int peer, channel key, view<T, 2> const& to) {
  heddle::receive(link, compute, to, peer, key);
}

}  // namespace heddle::pipeline
