// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/model/trainer.hpp>

#include <unistd.h>

/// @file
/// The memory of a training rank: predicted from the flags, then reserved. Part of model/trainer.hpp.

namespace heddle::model {

namespace detail {
/// Refuses a plan that is larger than all memory of the machine. Errors: errc::out_of_memory with both numbers.
HEDDLE_FN void expect_memory(std::size_t wanted) {
  long const pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
  std::size_t const most = pages > 0 && page > 0 ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(page)
                                                 : std::size_t{1} << 46;
  if (wanted > most)
    throw error(errc::out_of_memory,
                make_text("one rank of this run takes ", wanted, " bytes and this machine has ", most,
                          ": choose a smaller batch, fewer tokens or a smaller model"));
}
}  // namespace detail

template <class Model, class T, executor Compute, failable_communicator Comm>
HEDDLE_FN memory_plan trainer<Model, T, Compute, Comm>::predict() {
  memory_plan m{};
  auto const& list = state_.list;
  index_t const width = state_.stage.source.width();
  m.parameters = static_cast<std::size_t>(list.stored_size()) * sizeof(T);
  m.gradients = reducer_type::bytes(list, options_.reducer(), options_.mesh.dp, state_.dp_rank());
  m.optimizer = optimizer_type::bytes(state_.owned, state_.owner);
  m.activations = state_.activations().total();
  m.communication = runner_type::message_bytes(state_.stage.first, state_.stage.last, options_.rows(), width);
  if (state_.exchanges_tie() && state_.stage.first)
    m.communication += static_cast<std::size_t>(state_.reduced(options_, state_.tie_bucket()).size()) * sizeof(float);
  detail::expect_memory(m.total());  // ahead of the scratch: the addresses it is planned with lie only so far apart
  std::size_t const scratch =
      (plan_compute().scratch_bytes + arena::alignment - 1) / arena::alignment * arena::alignment;
  m.workspace = input_bytes(options_, local_microbatches()) + scratch;
  detail::expect_memory(m.total());
  return m;
}

template <class Model, class T, executor Compute, failable_communicator Comm>
HEDDLE_FN void trainer<Model, T, Compute, Comm>::allocate() {
  auto const& list = state_.list;
  Compute& e = *compute_;
  host_space& w = spaces_->workspace;
  index_t const local = local_microbatches();
  parameters_ = tensor<T, 1>(e, spaces_->parameters, dims<1>(list.stored_size()));
  weights_ = state_.stage.template tree<nn::in_use<T>>();
  list.bind(state_.stage, weights_, static_cast<T const*>(parameters_.data()), false);
  tokens_ = tensor<std::int32_t, 1>(e, w, dims<1>(local * options_.rows()));
  targets_ = tensor<std::int32_t, 1>(e, w, dims<1>(local * options_.rows()));
  losses_ = tensor<float, 1>(e, w, dims<1>(local));
  counts_ = tensor<std::int64_t, 1>(e, w, dims<1>(local));
  all_losses_ = tensor<float, 1>(e, w, dims<1>(options_.microbatches));
  valid_ = tensor<std::int64_t, 1>(e, w, dims<1>(1));
  scale_ = tensor<float, 1>(e, w, dims<1>(1));
  clip_ = tensor<float, 1>(e, w, dims<1>(1));
  skip_ = tensor<std::int32_t, 1>(e, w, dims<1>(1));
  norm_ = tensor<double, 1>(e, w, dims<1>(1));
  square_sum_ = tensor<std::uint64_t, 1>(e, w, dims<1>(exact_sum_words));
  if (state_.exchanges_tie() && state_.stage.first)
    tie_ = tensor<float, 1>(e, spaces_->communication, dims<1>(state_.reduced(options_, state_.tie_bucket()).size()));
  memory_ = make_owned<pipeline::stage_memory<Compute>>(e, spaces_->activations, state_.activations(),
                                                              state_.table, state_.stage_index());
  runner_ = make_owned<runner_type>(e, state_.stage, state_.plan, state_.schedule, state_.stage_index(), *memory_,
                                          links_, spaces_->communication, options_.rows());
  runner_->poison(options_.poison);
  reducer_ = make_owned<reducer_type>(e, communication_, replicas(), spaces_->gradients, state_.stage, list,
                                            options_.reducer());
  optimizer_ = make_owned<optimizer_type>(e, spaces_->optimizer, options_.rule, state_.owned, state_.owner,
                                                state_.shard_parameters());
  e.synchronize();
  e.scratch().reserve(predicted_.workspace - input_bytes(options_, local));
}

/// The scratch of everything that a step submits to the compute queue, asked of the operations themselves.
template <class Model, class T, executor Compute, failable_communicator Comm>
HEDDLE_FN work_plan trainer<Model, T, Compute, Comm>::plan_compute() {
  // Addresses that nobody touches, each range of its own, so that operands do not seem to overlap.
  auto imaginary = [next = std::uintptr_t{0}]() mutable {
    return reinterpret_cast<std::byte*>(next += std::uintptr_t{1} << 48);
  };
  nn::frame nowhere{};
  for (std::byte*& base : nowhere.base) base = imaginary();
  auto weights = state_.stage.template tree<nn::in_use<T>>();
  auto gradients = state_.stage.template tree<nn::gradient<float>>();
  state_.list.bind(state_.stage, weights, reinterpret_cast<T const*>(imaginary()), false);
  state_.list.bind(state_.stage, gradients, reinterpret_cast<float*>(imaginary()), true);
  dims<1> const rows(options_.rows());
  view<std::int32_t const, 1> const tokens(reinterpret_cast<std::int32_t*>(imaginary()), rows);
  nn::token_batch const batch{tokens, tokens, options_.tokens};
  nn::loss_views const loss{view<float, 1>(reinterpret_cast<float*>(imaginary()), dims<1>(1)),
                            view<std::int64_t, 1>(reinterpret_cast<std::int64_t*>(imaginary()), dims<1>(1))};
  view<T, 2> const message(reinterpret_cast<T*>(imaginary()), dims<2>(options_.rows(), state_.stage.source.width()));
  call_type const c{&context_};
  return heddle::plan(*compute_, [&] {
    state_.stage.forward(c, weights, batch, message, loss, state_.plan, nowhere);
    state_.stage.backward_input(c, weights, batch, view<float const, 1>(nullptr, dims<1>(1)), message, state_.plan,
                                nowhere);
    state_.stage.template backward_weight<T>(c, batch, state_.plan, nowhere, gradients);
    exact_sum_add(*compute_, view<float const, 1>(), view<std::uint64_t, 1>(nullptr, dims<1>(exact_sum_words)));
  });
}

}  // namespace heddle::model
