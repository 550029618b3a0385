// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/nn/layer.hpp>

namespace heddle::nn {

/// A string that can be a template argument.
template <std::size_t N>
struct fixed_string {
  char text[N] = {};
  HEDDLE_FN consteval fixed_string(char const (&s)[N]) {
    for (std::size_t i = 0; i < N; ++i) text[i] = s[i];
  }
};

/// A layer with one more part in the dotted names of its parameters and in the site of its calls.
template <fixed_string Name, class Inner>
struct named {
  Inner inner;

  template <class F>
  using parameters = typename Inner::template parameters<F>;
  using plan = typename Inner::plan;

  template <class F>
  HEDDLE_FN parameters<F> tree() const {
    return inner.template tree<F>();
  }
  template <class Visitor, class... Trees>
  HEDDLE_FN void describe(Visitor& v, Trees&... trees) const {
    v.enter(static_cast<char const*>(Name.text), [&] { inner.describe(v, trees...); });
  }
  HEDDLE_FN index_t out_width(index_t in) const { return inner.out_width(in); }
  template <class... Arguments>
  HEDDLE_FN plan make_plan(planner& p, Arguments const&... arguments) const {
    return inner.make_plan(p, arguments...);
  }
  HEDDLE_FN life keep_x() const { return inner.keep_x(); }
  HEDDLE_FN life keep_y() const { return inner.keep_y(); }
  HEDDLE_FN life keep_dy() const { return inner.keep_dy(); }

  template <class Call, class... Arguments>
  HEDDLE_FN void forward(Call const& call, Arguments&&... arguments) const {
    inner.forward(call.at(Name.text), arguments...);
  }
  template <class Call, class... Arguments>
  HEDDLE_FN void backward_input(Call const& call, Arguments&&... arguments) const {
    inner.backward_input(call.at(Name.text), arguments...);
  }
  template <class Call, class... Arguments>
  HEDDLE_FN void backward_weight(Call const& call, Arguments&&... arguments) const {
    inner.backward_weight(call.at(Name.text), arguments...);
  }
};

/// Names a layer: `name<"ln_1">(layer)`.
template <fixed_string Name, class Inner>
HEDDLE_FN constexpr named<Name, Inner> name(Inner const& inner) {
  return {inner};
}

/// `named` with a name that is chosen at run time; it must live for ever.
template <class Inner>
struct labelled {
  char const* label;
  Inner inner;

  template <class F>
  using parameters = typename Inner::template parameters<F>;
  using plan = typename Inner::plan;

  template <class F>
  HEDDLE_FN parameters<F> tree() const {
    return inner.template tree<F>();
  }
  template <class Visitor, class... Trees>
  HEDDLE_FN void describe(Visitor& v, Trees&... trees) const {
    v.enter(label, [&] { inner.describe(v, trees...); });
  }
  HEDDLE_FN index_t out_width(index_t in) const { return inner.out_width(in); }
  template <class... Arguments>
  HEDDLE_FN plan make_plan(planner& p, Arguments const&... arguments) const {
    return inner.make_plan(p, arguments...);
  }
  HEDDLE_FN life keep_x() const { return inner.keep_x(); }
  HEDDLE_FN life keep_y() const { return inner.keep_y(); }
  HEDDLE_FN life keep_dy() const { return inner.keep_dy(); }

  template <class Call, class... Arguments>
  HEDDLE_FN void forward(Call const& call, Arguments&&... arguments) const {
    inner.forward(call.at(label), arguments...);
  }
  template <class Call, class... Arguments>
  HEDDLE_FN void backward_input(Call const& call, Arguments&&... arguments) const {
    inner.backward_input(call.at(label), arguments...);
  }
  template <class Call, class... Arguments>
  HEDDLE_FN void backward_weight(Call const& call, Arguments&&... arguments) const {
    inner.backward_weight(call.at(label), arguments...);
  }
};

}  // namespace heddle::nn
