// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/exec/serial_executor.hpp>
#include <heddle/model/trainer_checkpoint.hpp>

#include "support/catch.hpp"
#include "tiny.hpp"

#include <cstdlib>
#include <string>
#include <unistd.h>

namespace heddle {
namespace {

/// A folder that is gone at the end.
struct folder {
  std::string path;
  folder() {
    char name[] = "/tmp/heddle-trainer-XXXXXX";
    REQUIRE(::mkdtemp(name) != nullptr);
    path = name;
  }
  folder(folder const&) = delete;
  folder& operator=(folder const&) = delete;
  ~folder() { CHECK(std::system(("rm -r " + path).c_str()) == 0); }
};

/// Steps [from, to), where `from` is what `resume` holds, saving into `save`. Empty names do neither.
template <class Model>
std::vector<float> run(Model const& whole, int pp, int dp, bool zero, index_t to, std::string const& resume,
                       std::string const& save) {
  std::vector<float> losses;
  model::trainer_options o = test::tiny_options(pp, dp);
  o.shard_optimizer = zero;
  rank_options ranks;
  ranks.threads_per_rank = 1;
  ranks.deadline = 20;
  run_ranks(pp * dp, [&](thread_communicator& comm) {
    model::memory_spaces spaces;
    serial_executor exec;
    model::trainer<Model, float, serial_executor, thread_communicator> trainer(exec, comm, spaces, whole, o);
    trainer.initialize();
    index_t from = 0;
    std::string note;
    if (!resume.empty())
      from = model::resume(trainer, resume, whole, [&](checkpoint::store const& s) { note = *s.meta("note"); });
    if (!resume.empty()) CHECK(note == "tiny");
    for (index_t s = from; s < to; ++s) {
      float const loss = trainer.step(s, 1e-2, test::tiny_data).loss;
      if (comm.rank() == 0) losses.push_back(loss);
    }
    if (!save.empty()) model::save(trainer, save, to, {{"note", "tiny"}});
  }, ranks);
  return losses;
}

}  // namespace

TEST_CASE("a run that resumes on another mesh goes on with the same bits", "[model]") {
  auto const whole = model::gpt2(test::tiny_sizes());
  std::vector<float> const unbroken = run(whole, 1, 1, false, 6, "", "");
  std::vector<float> const rest(unbroken.begin() + 3, unbroken.end());
  folder sharded, plain;
  run(whole, 2, 2, true, 3, "", sharded.path);
  run(whole, 3, 1, false, 3, "", plain.path);
  for (std::string const& from : {sharded.path, plain.path}) {
    CHECK(run(whole, 1, 1, false, 6, from, "") == rest);
    CHECK(run(whole, 3, 1, true, 6, from, "") == rest);
    CHECK(run(whole, 1, 3, true, 6, from, "") == rest);
  }
}

TEST_CASE("a checkpoint of another model is refused with the first difference", "[model]") {
  folder f;
  run(model::gpt2(test::tiny_sizes()), 1, 1, false, 1, "", f.path);
  model::decoder_sizes wider = test::tiny_sizes();
  wider.hidden = 16;
  CHECK_THROWS_WITH(run(model::gpt2(wider), 2, 1, false, 2, f.path, ""), test::has_text("mlp.c_fc"));
  CHECK_THROWS_WITH(run(model::gpt2(test::tiny_sizes()), 1, 2, false, 2, f.path + "/nowhere", ""),
                    test::has_text("no usable checkpoint"));
}

}  // namespace heddle
