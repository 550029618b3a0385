// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/tensor_view.hpp>
#include <heddle/mesh/placement.hpp>

#include <cstddef>

/// @file
/// Parameter trees. A layer L owns no weights; it describes them: `L::parameters<F>` is a tree of leaves whose type
/// depends on the family F, so that weights at rest, weights in use and gradients have one shape and three types.

namespace heddle::nn {

/// One tensor of a parameter tree: a window on memory that the trainer owns, with its placement in the type.
template <class T, std::size_t Rank, class Spec>
struct leaf {
  using placement = Spec;
  view<T, Rank> local;
};

/// At rest on every axis but pp: the same on all ranks. On pp: whole on the stage that holds the layer.
using whole_at_rest = spec<resident, replicated, replicated, replicated, replicated>;

/// Family: what the optimizer owns and the checkpoint stores.
template <class T>
struct at_rest {
  template <std::size_t Rank, class Spec>
  using leaf = nn::leaf<T, Rank, Spec>;
};
/// Family: what layers read. A replicated leaf becomes varying: equal values, used for different work.
template <class T>
struct in_use {
  template <std::size_t Rank, class Spec>
  using leaf = nn::leaf<T const, Rank, heddle::in_use<Spec>>;
};
/// Family: what layers write. The dual of in_use: a varying leaf becomes a partial sum.
template <class T>
struct gradient {
  template <std::size_t Rank, class Spec>
  using leaf = nn::leaf<T, Rank, heddle::gradient<Spec>>;
};

namespace detail {
/// Stands in layers where they read a leaf.
template <class T, std::size_t Rank, class Spec>
HEDDLE_FN constexpr void expect_in_use(leaf<T, Rank, Spec> const&) noexcept {
  static_assert(std::is_const_v<T>, "a layer reads weights of the family in_use, not a tree at rest nor gradients");
}
/// Stands in layers where they write a leaf.
template <class T, std::size_t Rank, class... P>
HEDDLE_FN constexpr void expect_gradient(leaf<T, Rank, spec<P...>> const&) noexcept {
  static_assert(!std::is_const_v<T> && (heddle::detail::is_partial<P> || ...),
                "a layer writes gradients into a tree of the family gradient");
}
}  // namespace detail

/// How a leaf starts.
struct initializer {
  enum class kind { zeros, ones, normal } how = kind::zeros;
  double scale = 0;  ///< standard deviation of normal
};

/// What a layer says about a leaf, beside its name and extents.
struct leaf_options {
  initializer init{};
  bool decay = true;  ///< whether weight decay applies
};

/// The path of a leaf while a tree is walked: parts joined by dots.
class path {
 public:
  static constexpr std::size_t capacity = 127;

  HEDDLE_FN path() noexcept : size_(0) { text_[0] = 0; }
  /// Adds a part and returns the size to go back to.
  HEDDLE_FN std::size_t push(char const* part) {
    std::size_t const before = size_;
    if (size_ > 0) add('.');
    for (; *part; ++part) add(*part);
    return before;
  }
  HEDDLE_FN std::size_t push(index_t number) {
    char digits[24];
    __builtin_snprintf(digits, sizeof digits, "%lld", static_cast<long long>(number));
    return push(digits);
  }
  HEDDLE_FN void pop(std::size_t size) noexcept {
    size_ = size;
    text_[size_] = 0;
  }
  HEDDLE_FN char const* c_str() const noexcept { return text_; }

 private:
  HEDDLE_FN void add(char c) {
    HEDDLE_EXPECTS(size_ < capacity, "a parameter's dotted name is too long", capacity);
    text_[size_++] = c;
    text_[size_] = 0;
  }
  std::size_t size_;
  char text_[capacity + 1];
};

/// Walks any number of trees of one layer side by side and keeps the dotted path.
///
/// `F(path, extents, options, leaf&...)` is called for every leaf; with no trees it sees the metadata alone.
template <class F>
class leaf_visitor {
 public:
  HEDDLE_FN explicit leaf_visitor(F f) : f_(f) {}

  template <index_t... E, class... Leaves>
  HEDDLE_FN void leaf(char const* name, extents<E...> const& sizes, leaf_options const& options, Leaves&... leaves) {
    std::size_t const before = path_.push(name);
    f_(path_.c_str(), sizes, options, leaves...);
    path_.pop(before);
  }
  /// Passed on to a function object that wants to know.
  HEDDLE_FN void bucket(int b) {
    if constexpr (requires { f_.bucket(b); }) f_.bucket(b);
  }
  /// Runs `inside` with one more part on the path.
  template <class Part, class Inside>
  HEDDLE_FN void enter(Part const& part, Inside const& inside) {
    std::size_t const before = path_.push(part);
    inside();
    path_.pop(before);
  }

 private:
  F f_;
  path path_;
};

/// Calls f(path, extents, options, leaf&...) for every leaf of a layer, in the order of its description.
template <class Layer, class F, class... Trees>
HEDDLE_FN void for_each_leaf(Layer const& layer, F f, Trees&... trees) {
  leaf_visitor<F&> visitor(f);
  layer.describe(visitor, trees...);
}

}  // namespace heddle::nn
