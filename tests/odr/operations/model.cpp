// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A training run and a generator: layers, optimizer, pipeline, parallel and checkpoint together.
#include <heddle/backend/reference/matmul.hpp>
#include <heddle/backend/reference/tile_context.hpp>
#include <heddle/comm/transport/thread.hpp>
#include <heddle/exec/reference_executor.hpp>
#include <heddle/model/decoder.hpp>
#include <heddle/model/generator.hpp>
#include <heddle/model/sampler.hpp>
#include <heddle/model/trainer.hpp>
#include <heddle/model/trainer_checkpoint.hpp>

using namespace heddle;

using decoder = decltype(model::gpt2(model::decoder_sizes{}));
using modern = decltype(model::llama(model::decoder_sizes{}));
using trainer = model::trainer<decoder, float, reference_executor, thread_communicator>;

void use_trainer(thread_communicator& comm, decoder const& whole, model::trainer_options const& options) {
  reference_executor exec;
  model::memory_spaces spaces;
  trainer t(exec, comm, spaces, whole, options);
  t.initialize();
  auto const data = [](index_t, index_t, std::int32_t*, std::int32_t*) {};
  t.step(0, 1e-2, data);
  t.evaluate(data);
  t.abandon("a reason");
  t.measured();
  t.times();
  model::save(t, "folder", 0, {});
  model::resume(t, "folder", whole, [](checkpoint::store const&) {});
}

void use_generator(modern const& whole) {
  reference_executor exec;
  model::weights<float> w(exec, whole);
  w.load(checkpoint::open_store("folder"));
  model::generator<modern, float, reference_executor> g(exec, whole, w, {.capacity = 4});
  auto const logits = g.append(0);
  model::sampler s({}, 4);
  s(logits, 0);
}
