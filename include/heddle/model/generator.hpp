// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/exec/context.hpp>
#include <heddle/exec/plan.hpp>
#include <heddle/model/decoding_form.hpp>
#include <heddle/model/weights.hpp>

namespace heddle::model {

/// What a generator keeps, known before it exists. Units: bytes.
struct generator_memory {
  std::size_t cache = 0;        ///< keys and values of all tokens, all layers
  std::size_t activations = 0;  ///< of one pass
  std::size_t ends = 0;         ///< tokens and logits

  HEDDLE_FN std::size_t total() const noexcept { return cache + activations + ends; }
};

/// How a generator is cut. Units: tokens.
struct generator_options {
  index_t capacity = 0;   ///< the longest sequence
  index_t pass_rows = 0;  ///< the most tokens of one pass; longer prompts take several. 0: capacity
};

/// Runs a decoder over one sequence that grows: a prompt in one pass, then token by token.
///
/// Types: T is the storage type of parameters, activations and cache.
/// Determinism: the logits after n tokens have the bits of a training forward pass over these n tokens, however they
/// were cut into calls of `append`.
/// Memory: `planned()`, taken at construction, and the scratch of a whole pass and of a step; one more token allocates
/// nothing.
template <class Model, class T, executor E>
class generator {
 public:
  using form = decoding_t<std::remove_const_t<Model>>;

  /// Pre: the weights were made for this model and outlive the generator; 1 <= capacity <= rows of the model's position
  /// table, where it has one. Errors: contract_error.
  HEDDLE_FN generator(E& exec, Model const& model, weights<T> const& w, generator_options const& options,
                      host_space& space = default_host_space)
      : exec_(&exec), options_(with_defaults(options)), form_(checked(model, options_)), context_(exec),
        step_(plan_of(form_, 1)), planned_(plan_memory(form_, options_)), vocabulary_(step_.classes) {
    tree_ = form_.template tree<nn::in_use<T>>();
    w.bind(form_, tree_);
    cache_ = tensor<std::byte, 1>(exec, space, dims<1>(static_cast<index_t>(planned_.cache)));
    activations_ = tensor<std::byte, 1>(exec, space, dims<1>(static_cast<index_t>(planned_.activations)));
    tokens_ = tensor<std::int32_t, 1>(exec, space, dims<1>(options_.capacity));
    logits_ = tensor<T, 1>(exec, space, dims<1>(vocabulary_));
    reserve_scratch();
  }
  generator(generator const&) = delete;
  generator& operator=(generator const&) = delete;
  HEDDLE_FN ~generator() = default;

  /// What a generator would reserve: a pure function of its arguments.
  static HEDDLE_FN generator_memory plan(Model const& model, generator_options const& options) {
    generator_options const o = with_defaults(options);
    return plan_memory(checked(model, o), o);
  }
  HEDDLE_FN generator_memory const& planned() const noexcept { return planned_; }
  HEDDLE_FN index_t capacity() const noexcept { return options_.capacity; }
  HEDDLE_FN index_t vocabulary() const noexcept { return vocabulary_; }
  /// Tokens so far.
  HEDDLE_FN index_t size() const noexcept { return size_; }
  HEDDLE_FN view<std::int32_t const, 1> tokens() const { return slice(tokens_.view(), 0, 0, size_); }

  /// Adds tokens to the sequence and returns the logits of what follows the last one.
  ///
  /// Pre: at least one token, 0 <= token < vocabulary; size() + tokens <= capacity(). Post: the result is valid after
  /// synchronize, until the next call. Errors: contract_error, before anything has changed.
  /// Sync: copies the tokens, then submits.
  HEDDLE_FN view<T const, 1> append(view<std::int32_t const, 1> const& tokens) {
    index_t const n = tokens.extent(0);
    HEDDLE_EXPECTS(n >= 1, "a generator needs at least one token to say what follows", n);
    HEDDLE_EXPECTS(n <= options_.capacity - size_, "a sequence must not pass the last position of its generator",
                   size_, n, options_.capacity);
    for (index_t i = 0; i < n; ++i)
      HEDDLE_EXPECTS(tokens(i) >= 0 && tokens(i) < vocabulary_, "a token must be in the vocabulary", i, tokens(i),
                     vocabulary_);
    for (index_t i = 0; i < n; ++i) tokens_.data()[size_ + i] = tokens(i);
    for (index_t done = 0; done < n;) {
      index_t const left = n - done, rows = left < options_.pass_rows ? left : options_.pass_rows;
      if (rows == 1)
        pass(step_, 1, left == 1);
      else
        pass(plan_of(form_, rows), rows, left == rows);
      done += rows;
    }
    return logits_.view();
  }
  /// The same for one token.
  HEDDLE_FN view<T const, 1> append(std::int32_t token) {
    return append(view<std::int32_t const, 1>(&token, dims<1>(1)));
  }

  /// Forgets all tokens from position `size` on. Pre: 0 <= size <= size(). Sync: waits for work in the queue.
  HEDDLE_FN void rewind(index_t size) {
    HEDDLE_EXPECTS(size >= 0 && size <= size_, "only tokens that are there can be forgotten", size, size_);
    exec_->synchronize();
    size_ = size;
  }

 private:
  using block_type = decltype(form::blocks.inner);
  using back_type = decltype(form::back);

  /// One pass over some rows: two activations that blocks read and write by turns.
  struct pass_plan {
    nn::slot x, y;
    typename block_type::plan block;
    typename back_type::plan back;
    std::size_t activations = 0, cache = 0;  // bytes of the pass; of the cache of one block
    index_t classes = 0;
  };

  static HEDDLE_FN generator_options with_defaults(generator_options o) {
    HEDDLE_EXPECTS(o.capacity >= 1 && o.pass_rows >= 0, "a generator holds at least one token", o.capacity,
                   o.pass_rows);
    if (o.pass_rows == 0 || o.pass_rows > o.capacity) o.pass_rows = o.capacity;
    return o;
  }
  static HEDDLE_FN form checked(Model const& model, generator_options const& o) {
    index_t const positions = model.source.positions;
    HEDDLE_EXPECTS(positions == 0 || o.capacity <= positions,
                   "a generator must not hold more tokens than the model has positions", o.capacity, positions);
    return decoding(model, o.capacity);
  }
  static HEDDLE_FN pass_plan plan_of(form const& f, index_t rows) {
    nn::planner p(sizeof(T));
    nn::planner::throwaway const no_backward(p);
    pass_plan result{};
    index_t const width = f.source.width();
    result.x = p.take_activation(nn::life::fwd, rows, width);
    result.y = p.take_activation(nn::life::fwd, rows, width);
    {
      nn::planner::scope const scope(p);
      result.block = f.blocks.inner.make_plan(p, {1, rows, width});
    }
    result.cache = p.bytes(nn::life::cache);
    nn::planner::scope const scope(p);
    result.back = f.back.make_plan(p, {1, 1, width});
    result.activations = p.bytes(nn::life::fwd);
    result.classes = f.back.out_width(width);
    return result;
  }
  static HEDDLE_FN generator_memory plan_memory(form const& f, generator_options const& o) {
    pass_plan const p = plan_of(f, o.pass_rows);
    std::size_t const tokens = static_cast<std::size_t>(o.capacity) * sizeof(std::int32_t);
    return {p.cache * static_cast<std::size_t>(f.blocks.count), p.activations,
            tokens + static_cast<std::size_t>(p.classes) * sizeof(T)};
  }

  /// Rows of the sequence from size_ on through the model; logits of the last one where they are wanted.
  HEDDLE_FN void pass(pass_plan const& pl, index_t rows, bool wants_logits) {
    call<context<E>> c{&context_};
    c.first_row = size_;
    nn::frame fr{};
    fr.base[static_cast<int>(nn::life::fwd)] = activations_.data();
    auto x = fr.at<T>(pl.x), y = fr.at<T>(pl.y);
    nn::token_batch const batch{slice(tokens_.view(), 0, size_, size_ + rows), {}, rows};
    form_.source.forward(c, tree_.source, batch, x);
    auto const blocks = c.at(form_.blocks_path);
    for (index_t i = 0; i < form_.blocks.count; ++i) {
      fr.base[static_cast<int>(nn::life::cache)] = cache_.data() + i * static_cast<index_t>(pl.cache);
      form_.blocks.inner.forward(blocks.at(form_.blocks.first + i), tree_.blocks.each[static_cast<std::size_t>(i)],
                                 view<T const, 2>(x), y, pl.block, fr);
      auto const swap = x;
      x = y;
      y = swap;
    }
    if (wants_logits)
      form_.back.forward(c, tree_.back, view<T const, 2>(slice(x, 0, rows - 1, rows)),
                         reshape(logits_.view(), dims<2>(1, vocabulary_)), pl.back, fr);
    size_ += rows;
  }

  HEDDLE_FN void reserve_scratch() {
    std::size_t most = 0;
    index_t const full = options_.pass_rows;
    for (index_t rows : {index_t{1}, full}) {
      pass_plan const pl = plan_of(form_, rows);
      size_ = options_.capacity - rows;
      std::size_t const bytes = heddle::plan(*exec_, [&] { pass(pl, rows, true); }).scratch_bytes;
      most = bytes > most ? bytes : most;
    }
    size_ = 0;
    exec_->scratch().reserve(most);
  }

  E* exec_;
  generator_options options_;
  form form_;
  context<E> context_;
  pass_plan step_;
  generator_memory planned_;
  index_t vocabulary_, size_ = 0;
  typename form::template parameters<nn::in_use<T>> tree_;
  tensor<std::byte, 1> cache_, activations_;
  tensor<std::int32_t, 1> tokens_;
  tensor<T, 1> logits_;
};

}  // namespace heddle::model
