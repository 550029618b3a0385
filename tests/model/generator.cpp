// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/backend/cpu/attention_forward.hpp>
#include <heddle/backend/cpu/matmul.hpp>
#include <heddle/backend/reference/matmul.hpp>
#include <heddle/model/decoder.hpp>
#include <heddle/model/decoding_form.hpp>
#include <heddle/model/generator.hpp>

#include <support/catch.hpp>
#include <support/executors.hpp>
#include <support/numbers.hpp>
#include "made_decoder.hpp"

using namespace heddle;

namespace {

template <class T, class E, class Model>
std::vector<T> logits_now(E& exec, model::generator<Model, T, E>& g, std::vector<std::int32_t> const& next) {
  auto const logits = g.append(test::token_view(next));
  exec.synchronize();
  return std::vector<T>(logits.data(), logits.data() + logits.size());
}

template <class T>
std::vector<T> row(std::vector<T> const& all, index_t i, index_t columns) {
  auto const at = all.begin() + i * columns;
  return std::vector<T>(at, at + columns);
}

/// Prompts of several lengths, then token by token; passes cut; a cache that is dirty from other text.
template <class T, class E, class Model>
void check_bits(E& exec, Model const& m, index_t vocabulary) {
  index_t const n = 141;
  model::weights<T> const w(exec, m);
  test::make_weights(w);
  std::vector<std::int32_t> const tokens = test::made_tokens(n, vocabulary);
  std::vector<T> const wanted = test::training_logits<T>(exec, m, w, tokens);
  for (index_t rows : {0, 13}) {
    model::generator<Model, T, E> g(exec, m, w, {n, rows});
    for (index_t prompt : {126, 1, 16, 141}) {
      INFO("prompt " << prompt << " in passes of " << rows);
      g.rewind(0);
      std::vector<std::int32_t> const first(tokens.begin(), tokens.begin() + prompt);
      CHECK(test::same_bits(logits_now(exec, g, first), row(wanted, prompt - 1, vocabulary)));
      index_t differing = 0;
      for (index_t i = prompt; i < n && i < prompt + 15; ++i)
        differing += !test::same_bits(logits_now(exec, g, {tokens[static_cast<std::size_t>(i)]}),
                                      row(wanted, i, vocabulary));
      CHECK(differing == 0);
      CHECK(g.size() == (prompt + 15 < n ? prompt + 15 : n));
      g.rewind(0);
      logits_now(exec, g, test::made_tokens(n, vocabulary, 6));
    }
  }
}

}  // namespace

TEMPLATE_TEST_CASE("a generated GPT-2 has the bits of a training pass", "[model]", test::reference_case,
                   test::executor_case<queued<reference_executor>>) {
  TestType setup;
  model::decoder_sizes const s = test::tiny_sizes(false);
  check_bits<float>(setup.exec, model::gpt2(s), s.vocabulary);
}

TEST_CASE("a generated Llama has the bits of a training pass", "[model]") {
  test::threads_case<2> setup;
  model::decoder_sizes s = test::tiny_sizes(true);
  s.tied = false;
  s.recompute = true;
  check_bits<float>(setup.exec, model::llama(s), s.vocabulary);
}

TEST_CASE("generated bits in bf16", "[model]") {
  test::reference_case setup;
  model::decoder_sizes const s = test::tiny_sizes(false);
  check_bits<bf16>(setup.exec, model::gpt2(s), s.vocabulary);
}

TEST_CASE("a generator reserves what it planned, and a token allocates nothing", "[model]") {
  threads_executor exec(2);
  model::decoder_sizes const s = test::tiny_sizes(true);
  auto const m = model::llama(s);
  using generator = model::generator<std::remove_const_t<decltype(m)>, float, threads_executor>;
  host_space space;
  model::weights<float> const w(exec, m);
  test::make_weights(w);
  generator g(exec, m, w, {100, 40}, space);
  model::generator_memory const planned = generator::plan(m, {100, 40});
  CHECK(static_cast<std::size_t>(space.counts().peak) == planned.total());
  CHECK(planned.cache == std::size_t{2 * 100 * 2 * 8 * 4});  // layers, tokens, keys and values, a head, float
  CHECK(planned.ends == std::size_t{100 * 4 + 19 * 4});
  g.append(test::token_view(test::made_tokens(70, s.vocabulary)));
  auto const before = space.counts().allocations;
  std::size_t const scratch = exec.scratch().capacity();
  for (std::int32_t t = 0; t < 19; ++t) g.append(t);
  CHECK(space.counts().allocations == before);
  CHECK(exec.scratch().capacity() == scratch);
  CHECK(g.size() == 89);
}

TEST_CASE("a generator says what it can't do", "[model]") {
  reference_executor exec;
  model::decoder_sizes const s = test::tiny_sizes(false);
  auto const m = model::gpt2(s);
  using generator = model::generator<std::remove_const_t<decltype(m)>, float, reference_executor>;
  model::weights<float> const w(exec, m);
  test::make_weights(w);
  CHECK(test::refuses<contract_error>([&] { generator(exec, m, w, {151, 0}); }, "more tokens than the model has"));
  CHECK_THROWS_AS(generator(exec, m, w, {0, 0}), contract_error);
  CHECK(test::refuses<contract_error>([&] { generator(exec, m.cut(0, 2), w, {5, 0}); }, "only a whole model"));
  model::generator g(exec, m, w, {5, 0});
  CHECK_THROWS_AS(g.append(test::token_view({})), contract_error);
  CHECK(test::refuses<contract_error>([&] { g.append(19); }, "in the vocabulary"));
  CHECK_THROWS_AS(g.append(-1), contract_error);
  CHECK(test::refuses<contract_error>([&] { g.append(test::token_view(test::made_tokens(6, 19))); }, "last position"));
  CHECK(g.size() == 0);
  g.append(test::token_view(test::made_tokens(5, 19)));
  CHECK(test::refuses<contract_error>([&] { g.append(1); }, "last position"));
  CHECK_THROWS_AS(g.rewind(6), contract_error);
  model::decoder_sizes other = s;
  other.hidden = 25;
  auto const another = model::gpt2(other);
  CHECK(test::refuses<contract_error>([&] { generator(exec, another, w, {5, 0}); }, "made for another model"));
}
