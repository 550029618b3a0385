// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// A model whose numbers can be computed in the head: every block multiplies by one weight, the loss is the sum.

#include <heddle/algorithm/copy.hpp>
#include <heddle/backend/cpu/tile_context.hpp>
#include <heddle/comm/transport/thread.hpp>
#include <heddle/exec/context.hpp>
#include <heddle/nn/staged.hpp>
#include <heddle/pipeline/generate.hpp>
#include <heddle/pipeline/run/runner.hpp>

#include <support/catch.hpp>

#include <vector>

namespace heddle::test {

/// y = w x. Throws where it meets the forbidden number.
struct times {
  float forbidden = 0;

  template <class F>
  struct parameters {
    typename F::template leaf<1, nn::whole_at_rest> weight;
  };
  struct plan {};

  template <class F>
  parameters<F> tree() const {
    return {};
  }
  template <class Visitor, class... Trees>
  void describe(Visitor& v, Trees&... trees) const {
    v.leaf("w", dims<1>(1), nn::leaf_options{}, trees.weight...);
  }
  index_t out_width(index_t in) const { return in; }
  plan make_plan(nn::planner&, nn::layer_shape const&) const { return {}; }
  nn::life keep_x() const { return nn::life::kept; }
  nn::life keep_y() const { return nn::life::fwd; }
  nn::life keep_dy() const { return nn::life::deferred; }

  template <class Call, class Weights, class X, class Y>
  void forward(Call const& call, Weights const& w, X const& x, Y const& y, plan const&, nn::frame const&) const {
    call.exec().for_each_tile(1, [x, y, w = w.weight.local, bad = forbidden](index_t, int) {
      for (index_t i = 0; i < x.size(); ++i) {
        HEDDLE_EXPECTS(bad == 0 || x.data()[i] != bad, "a forbidden number", bad);
        y.data()[i] = w(0) * x.data()[i];
      }
    });
  }
  template <class Call, class Weights, class X, class Y, class DY, class DX>
  void backward_input(Call const& call, Weights const& w, X const&, Y const&, DY const& dy, DX const& dx, plan const&,
                      nn::frame const&) const {
    call.exec().for_each_tile(1, [dy, dx, w = w.weight.local](index_t, int) {
      for (index_t i = 0; i < dy.size(); ++i) dx.data()[i] = w(0) * dy.data()[i];
    });
  }
  template <class Call, class X, class DY, class Gradients>
  void backward_weight(Call const& call, X const& x, DY const& dy, plan const&, nn::frame const&, Gradients& g) const {
    call.exec().for_each_tile(1, [x, dy, dw = g.weight.local](index_t, int) {
      dw(0) = 0;
      for (index_t i = 0; i < x.size(); ++i) dw(0) += x.data()[i] * dy.data()[i];
    });
  }
};

struct same : nn::no_parameters {
  struct plan {};
  index_t out_width(index_t in) const { return in; }
  plan make_plan(nn::planner&, nn::layer_shape const&) const { return {}; }
  nn::life keep_x() const { return nn::life::fwd; }
  nn::life keep_y() const { return nn::life::fwd; }
  nn::life keep_dy() const { return nn::life::bwd; }
  template <class Call, class Weights, class X, class Y>
  void forward(Call const& call, Weights const&, X const& x, Y const& y, plan const&, nn::frame const&) const {
    heddle::copy(call.exec(), x, y);
  }
  template <class Call, class Weights, class X, class Y, class DY, class DX>
  void backward_input(Call const& call, Weights const&, X const&, Y const&, DY const& dy, DX const& dx, plan const&,
                      nn::frame const&) const {
    heddle::copy(call.exec(), dy, dx);
  }
};

/// Activations are the tokens themselves.
struct numbers_as_they_are {
  template <class F>
  struct parameters {};
  template <class F>
  parameters<F> tree() const {
    return {};
  }
  template <class Visitor, class... Trees>
  void describe(Visitor&, Trees&...) const {}
  index_t width() const { return 1; }
  template <class Call, class Weights, class Y>
  void forward(Call const& call, Weights const&, nn::token_batch const& batch, Y const& y) const {
    call.exec().for_each_tile(1, [t = batch.tokens, y](index_t, int) {
      for (index_t i = 0; i < t.extent(0); ++i) y(i, 0) = static_cast<float>(t(i));
    });
  }
  template <class Call, class DY, class Gradients>
  void backward_weight(Call const&, nn::token_batch const&, DY const&, Gradients&) const {}
};

struct sum_of_all {
  struct plan {};
  plan make_plan(nn::planner&, nn::layer_shape const&) const { return {}; }
  nn::life keep_x() const { return nn::life::fwd; }
  template <class Call, class X>
  void forward(Call const& call, X const& x, nn::token_batch const&, nn::loss_views const& loss, plan const&,
               nn::frame const&) const {
    call.exec().for_each_tile(1, [x, loss](index_t, int) {
      loss.sum(0) = 0;
      for (index_t i = 0; i < x.size(); ++i) loss.sum(0) += x.data()[i];
      loss.count(0) = x.size();
    });
  }
  template <class Call, class X, class Scale, class DX>
  void backward_input(Call const& call, X const&, nn::token_batch const&, Scale const& scale, DX const& dx, plan const&,
                      nn::frame const&) const {
    call.exec().for_each_tile(1, [scale, dx](index_t, int) {
      for (index_t i = 0; i < dx.size(); ++i) dx.data()[i] = scale(0);
    });
  }
};

using toy_model = nn::staged<numbers_as_they_are, nn::repeat<times>, same, sum_of_all>;

inline toy_model toy(index_t blocks, float forbidden = 0) {
  return {{}, {{forbidden}, 0, blocks}, {}, {}, "blocks"};
}

/// One rank of a pipeline over the toy: one number per microbatch.
template <class Compute>
class toy_rank {
 public:
  using context_type = context<Compute>;
  using runner_type = pipeline::runner<toy_model, float, Compute, thread_communicator>;

  toy_rank(thread_communicator& comm, toy_model const& whole, std::vector<float> const& weights)
      : comm_(comm), stage_(whole.cut(comm.rank(), comm.size())), context_(compute_),
        links_(pipeline::make_stage_links(comm)), plan_(stage_.make_plan(planned_, {1, 1, 1})), weights_(weights),
        tree_(stage_.tree<nn::in_use<float>>()) {
    for (std::size_t i = 0; i < tree_.blocks.each.size(); ++i)
      tree_.blocks.each[i].weight.local = {&weights_[static_cast<std::size_t>(stage_.blocks.first) + i], dims<1>(1)};
  }

  toy_model const& stage() const { return stage_; }
  Compute& compute() { return compute_; }
  pipeline::stage_links<thread_communicator>& links() { return links_; }

  /// What a pass left behind: a loss per microbatch on the last stage, the summed gradient of each block of the stage.
  struct outcome {
    std::vector<float> losses, gradients;
  };

  /// Runs a schedule over the numbers x; `before(runner, work)` may run something else first.
  template <class Before>
  outcome run(pipeline::schedule const& order, std::vector<std::int32_t> const& x, float scale, Before const& before) {
    pipeline::slot_table const table = pipeline::slots(order);
    pipeline::stage_memory<Compute> memory(compute_, space_, reserve_for(planned_, table, comm_.rank()), table,
                                           comm_.rank());
    runner_type runner(compute_, stage_, plan_, order, comm_.rank(), memory, links_, space_, 1);
    runner.poison(true);
    work w(*this, x, scale);
    try {
      before(runner, w);
      runner.run(w);
      compute_.synchronize();
      runner.synchronize();
    } catch (std::exception const& e) {
      give_up(runner, e.what());
      throw;
    }
    return w.result();
  }
  outcome run(pipeline::schedule const& order, std::vector<std::int32_t> const& x, float scale) {
    return run(order, x, scale, [](auto&, auto&) {});
  }

 private:
  struct work {
    toy_rank& rank;
    std::vector<std::int32_t> const& x;
    float factor;
    std::vector<float> losses, flat;
    std::vector<std::int64_t> counts;
    std::vector<typename toy_model::parameters<nn::gradient<float>>> trees;

    work(toy_rank& r, std::vector<std::int32_t> const& numbers, float scale)
        : rank(r), x(numbers), factor(scale), losses(x.size(), 99.0f), flat(x.size() * blocks(), 99.0f),
          counts(x.size(), 99), trees(x.size(), r.stage_.template tree<nn::gradient<float>>()) {
      for (std::size_t m = 0; m < x.size(); ++m)
        for (std::size_t i = 0; i < blocks(); ++i)
          trees[m].blocks.each[i].weight.local = {&flat[m * blocks() + i], dims<1>(1)};
    }
    std::size_t blocks() const { return static_cast<std::size_t>(rank.stage_.blocks.count); }

    auto& weights() { return rank.tree_; }
    nn::token_batch batch(int m) { return {{&x[static_cast<std::size_t>(m)], dims<1>(1)}, {}, 1}; }
    nn::loss_views loss(int m) {
      return {{&losses[static_cast<std::size_t>(m)], dims<1>(1)}, {&counts[static_cast<std::size_t>(m)], dims<1>(1)}};
    }
    view<float const, 1> scale() { return {&factor, dims<1>(1)}; }
    call<context_type> begin_call(int m) {
      call<context_type> c{&rank.context_};
      c.microbatch = m;
      return c;
    }
    auto& gradients(int m) { return trees[static_cast<std::size_t>(m)]; }

    outcome result() const {
      outcome r{losses, std::vector<float>(blocks(), 0.0f)};
      for (std::size_t i = 0; i < flat.size(); ++i) r.gradients[i % blocks()] += flat[i];
      return r;
    }
  };

  void give_up(runner_type& runner, char const* why) {
    comm_.fail(why);
    runner.cancel();
    if constexpr (requires { compute_.cancel(); }) compute_.cancel();
    for (int i = 0; i < 2; ++i) try {
        i == 0 ? compute_.synchronize() : runner.synchronize();
      } catch (std::exception const&) {  // what led here is on its way
      }
  }

  thread_communicator& comm_;
  host_space space_;
  Compute compute_;
  toy_model stage_;
  context_type context_;
  pipeline::stage_links<thread_communicator> links_;
  nn::planner planned_{sizeof(float)};
  typename toy_model::plan plan_;
  std::vector<float> weights_;
  typename toy_model::parameters<nn::in_use<float>> tree_;
};

/// Calls body(rank) on every stage of a pipeline.
template <class Compute, class Body>
void on_stages(int stages, toy_model const& whole, std::vector<float> const& weights, Body const& body) {
  rank_options o;
  o.threads_per_rank = 1;
  o.deadline = 20;
  run_ranks(stages, [&](thread_communicator& comm) {
    toy_rank<Compute> rank(comm, whole, weights);
    body(rank, comm.rank());
  }, o);
}

}  // namespace heddle::test
