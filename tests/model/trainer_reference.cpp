// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/exec/serial_executor.hpp>
#include <heddle/optim/schedule.hpp>

#include <support/catch.hpp>
#include <support/random.hpp>

#include "tiny.hpp"
#include "written_decoder.hpp"

#include <algorithm>

using namespace heddle;

namespace {

using named_values = std::map<std::string, std::vector<float>>;

constexpr int tokens = 4, sequences = 2, microbatches = 4, steps = 3;
constexpr optim::lr_schedule rates{.peak = 0.02, .warmup = 2, .total = 4, .shape = optim::lr_shape::linear};

model::decoder_sizes sizes_of(bool llama) {
  model::decoder_sizes s;
  s.vocabulary = 11;
  s.layers = 2;
  s.width = 8;
  s.heads = 2;
  s.key_heads = llama ? 1 : 2;
  s.hidden = 6;
  s.positions = tokens;
  return s;
}

model::trainer_options options_of(int pp, int dp) {
  model::trainer_options o;
  o.mesh.pp = pp;
  o.mesh.dp = dp;
  o.microbatches = microbatches;
  o.sequences = sequences;
  o.tokens = tokens;
  o.policy.order = pp * dp > 1 ? order_policy::repeatable : order_policy::elastic;
  o.shard_optimizer = dp > 1;
  o.weight_decay = 0.3;
  o.rule = optim::adamw(0.8, 0.95, 0.02);  // with so large an epsilon the size of the gradient is seen
  return o;
}

/// Of microbatch 1 every third row counts, of the others all.
void batch(index_t step, index_t microbatch, std::int32_t* in, std::int32_t* targets) {
  for (index_t r = 0; r < sequences * tokens; ++r) {
    index_t const e = (step * microbatches + microbatch) * sequences * tokens + r;
    in[r] = static_cast<std::int32_t>(test::random_below(21, e, 11));
    bool const counts = microbatch != 1 || r % 3 == 0;
    targets[r] = counts ? static_cast<std::int32_t>(test::random_below(22, e, 11)) : -100;
  }
}

/// What all ranks saw: parameters before each step and after the last one, loss and norm of each step.
struct record {
  std::vector<named_values> parameters;
  std::vector<model::step_result> results;
  bool copies_agree = true;
  float evaluated = -1;

  record() : parameters(steps + 1), results(steps) {}
};

template <class Trainer>
void collect(Trainer& trainer, record& seen, int step) {
  auto const& list = trainer.state().list;
  named_values& all = seen.parameters[static_cast<std::size_t>(step)];
  for (std::size_t i = 0; i < list.records().size(); ++i) {
    float const* const from = trainer.parameters() + list.stored_at(i);
    std::vector<float> const values(from, from + list.records()[i].size);
    auto const [place, first] = all.try_emplace(list.records()[i].name, values);
    seen.copies_agree = seen.copies_agree && (first || place->second == values);
  }
}

template <class Model>
record run(Model const& whole, model::trainer_options const& o) {
  record seen;
  rank_options ranks;
  ranks.threads_per_rank = 1;
  ranks.deadline = 30;
  run_ranks(
      o.mesh.ranks(),
      [&](thread_communicator& comm) {
        model::memory_spaces spaces;
        serial_executor exec;
        model::trainer<Model, float, serial_executor, thread_communicator> trainer(exec, comm, spaces, whole, o);
        auto const& records = trainer.state().list.records();
        for (std::size_t i = 0; i < records.size(); ++i) {
          bool const ones = records[i].options.init.how == nn::initializer::kind::ones;
          std::uint64_t const seed = site_of(records[i].name.c_str());
          trainer.fill(i,
                       [=](index_t e) { return static_cast<float>((ones ? 1 : 0) + test::random_value(seed, e) / 2); });
        }
        auto const in_turn = [&](int step) {
          for (int r = 0; r < comm.size(); ++r) {
            barrier(comm, exec);
            if (r == comm.rank()) collect(trainer, seen, step);
          }
          barrier(comm, exec);
        };
        in_turn(0);
        float const evaluated = trainer.evaluate(batch);  // of the data of step 0
        if (comm.rank() == 0) seen.evaluated = evaluated;
        for (int s = 0; s < steps; ++s) {
          model::step_result const r = trainer.step(s, rates(s), batch);
          if (comm.rank() == 0) seen.results[static_cast<std::size_t>(s)] = r;
          in_turn(s + 1);
        }
      },
      ranks);
  return seen;
}

/// Two-dimensional weights decay, biases and norms do not.
bool decays(std::string const& name) {
  return name.find("bias") == std::string::npos && name.find("ln_") == std::string::npos &&
         name.find("norm") == std::string::npos;
}

/// The right values of one step, and how far a computation in fp32 may be from them: as far as the same reference is
/// when its scalars are fp32, times a factor for another order of sums and other forms of the formulas.
struct right_values {
  static constexpr double forms = 8;
  double loss = 0, loss_bound = 0, norm = 0, norm_bound = 0;
  std::map<std::string, std::vector<test::bounded>> gradients;

  right_values(test::written_sizes const& sizes, named_values const& parameters, int step) {
    test::written_decoder<double> exact(sizes, parameters);
    test::written_decoder<float> rounded(sizes, parameters);
    for (index_t b = 0; b < microbatches; ++b) {
      std::int32_t in[sequences * tokens], targets[sequences * tokens];
      batch(step, b, in, targets);
      for (int s = 0; s < sequences; ++s) {
        exact.sequence(in + s * tokens, targets + s * tokens);
        rounded.sequence(in + s * tokens, targets + s * tokens);
      }
    }
    for (int i : exact.row_losses())
      loss_bound = std::max(loss_bound, forms * std::abs(exact.numbers().value(i) - rounded.numbers().value(i)));
    int const out = exact.loss(), other = rounded.loss();
    loss = exact.numbers().value(out);
    std::vector<double> const g = exact.numbers().gradient(out);
    std::vector<float> const f = rounded.numbers().gradient(other);
    double far = 0, squares = 0, count = 0;
    for (auto const& [name, ids] : exact.leaves())
      for (int id : ids) {
        std::size_t const i = static_cast<std::size_t>(id);
        far = std::max(far, forms * std::abs(g[i] - f[i]));
        squares += g[i] * g[i];
        ++count;
        gradients[name].push_back({g[i], 0});
      }
    for (auto& [name, values] : gradients)
      for (test::bounded& x : values) x.e = far;
    norm = std::sqrt(squares);
    norm_bound = std::sqrt(count) * far;
  }
};

void check_step(record const& seen, model::trainer_options const& o, test::written_sizes const& sizes, int step,
                std::map<std::string, std::vector<test::bounded>>& m,
                std::map<std::string, std::vector<test::bounded>>& v) {
  CAPTURE(step);
  named_values const& before = seen.parameters[static_cast<std::size_t>(step)];
  named_values const& after = seen.parameters[static_cast<std::size_t>(step) + 1];
  right_values const right(sizes, before, step);
  model::step_result const& told = seen.results[static_cast<std::size_t>(step)];
  REQUIRE_FALSE(told.skipped);
  CHECK(std::abs(told.loss - right.loss) <= right.loss_bound);
  CHECK(std::abs(told.norm - right.norm) <= right.norm_bound);
  CHECK(right.loss_bound < 1e-4 * right.loss);
  CHECK(right.norm_bound < 1e-3 * right.norm);

  test::bounded clip{1, 0};
  if (right.norm >= o.clip) clip = test::bounded{o.clip, 0} / test::bounded{right.norm, right.norm_bound};
  test::written_adamw rule{rates(step), 0, o.rule.beta1, o.rule.beta2, o.rule.eps};
  int wrong = 0;
  double largest_bound = 0;
  std::string where;
  for (auto const& [name, slopes] : right.gradients) {
    rule.decay = decays(name) ? o.weight_decay : 0;
    m[name].resize(slopes.size());
    v[name].resize(slopes.size());
    for (std::size_t i = 0; i < slopes.size(); ++i) {
      test::bounded const g = clip * slopes[i];
      test::bounded const want = rule({before.at(name)[i], 0}, g, m[name][i], v[name][i], step + 1);
      double const off = std::abs(after.at(name)[i] - want.v) / want.e;
      if (!(off <= 1)) where = name + " " + std::to_string(i);
      wrong += off <= 1 ? 0 : 1;
      largest_bound = std::max(largest_bound, want.e);
    }
  }
  CAPTURE(where);
  CHECK(wrong == 0);
  CHECK(largest_bound < 0.02 * rule.lr);  // a bound that says something: a step moves by lr at most, but for decay
}

template <class Model>
void check_run(Model const& whole, bool llama, int pp, int dp, double clip) {
  CAPTURE(llama, pp, dp, clip);
  model::trainer_options o = options_of(pp, dp);
  o.clip = clip;
  record const seen = run(whole, o);
  CHECK(seen.copies_agree);
  CHECK(seen.evaluated == seen.results[0].loss);
  model::decoder_sizes const s = sizes_of(llama);
  auto const number = [](index_t n) { return static_cast<int>(n); };
  test::written_sizes const sizes{number(s.width),
                                  number(s.heads),
                                  number(s.key_heads),
                                  number(s.hidden),
                                  number(s.layers),
                                  number(s.vocabulary),
                                  tokens,
                                  llama};
  std::map<std::string, std::vector<test::bounded>> m, v;
  for (int step = 0; step < steps; ++step) check_step(seen, o, sizes, step, m, v);
}

}  // namespace

TEST_CASE("GPT-2 steps are what the papers say, written out in double", "[model]") {
  auto const whole = model::gpt2(sizes_of(false));
  check_run(whole, false, 1, 1, 0.25);
  check_run(whole, false, 2, 2, 0.25);
  check_run(whole, false, 1, 1, 100);
}

TEST_CASE("Llama steps are what the papers say, written out in double", "[model]") {
  auto const whole = model::llama(sizes_of(true));
  check_run(whole, true, 1, 1, 0.25);
  check_run(whole, true, 2, 2, 0.25);
}
