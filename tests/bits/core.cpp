// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bits.hpp"

#include <heddle/core/math.hpp>
#include <heddle/tile/targets.hpp>
#include <heddle/tile/vec.hpp>

#include <string>

namespace {

using namespace heddle;
using test::array;

constexpr index_t arguments = 4099;  // a few lanes more than whole registers
constexpr char const* names[] = {"exp", "exp2", "log", "rsqrt", "tanh", "erf", "sin", "cos"};
constexpr index_t functions = std::size(names);

/// Every function of V at one place, into rows of `out`.
template <class V, class Store>
HEDDLE_TILE void evaluate(V const& x, Store const& store) {
  store(0, heddle::exp(x));
  store(1, heddle::exp2(x));
  store(2, heddle::log(x));
  store(3, heddle::rsqrt(x));
  store(4, heddle::tanh(x));
  store(5, heddle::erf(x));
  store(6, heddle::sin(x));
  store(7, heddle::cos(x));
}

struct in_vectors {
  template <class Isa, class T>
  HEDDLE_TILE void operator()(Isa, T const* const& x, T* const& out) const {
    constexpr int lanes = Isa::template lanes<T>;
    using V = vec<T, lanes, lanes>;
    for (index_t i = 0; i < arguments; i += lanes) {
      index_t const n = arguments - i < lanes ? arguments - i : index_t{lanes};
      evaluate(V::load(x + i, n), [=](index_t f, V const& y) HEDDLE_LAMBDA { y.store(out + f * arguments + i, n); });
    }
  }
};

/// Numbers of every size and kind, and many of the sizes that are usual.
template <class T, class Word>
void fill_arguments(T* x) {
  test::fill_random(x, arguments, 1, -8, 8);
  for (index_t i = 0; i < arguments; i += 2) {
    Word const bits = static_cast<Word>(i) * static_cast<Word>(0x9e3779b97f4a7c15u);
    x[i] = bit_cast<T>(bits);
  }
}

template <class T, class Word>
void elementary(std::string const& type) {
  array<T, 1> x(dims<1>(arguments), 1);
  array<T, 2> vectors(dims<2>(functions, arguments)), numbers(dims<2>(functions, arguments));
  fill_arguments<T, Word>(x.data.data());
  T const* const from = x.data.data();
  T *const to = vectors.data.data(), *const each = numbers.data.data();
  dispatch_isa(in_vectors{}, from, to);
  for (index_t i = 0; i < arguments; ++i)
    evaluate(from[i], [=](index_t f, T y) HEDDLE_LAMBDA { each[f * arguments + i] = y; });
  for (index_t f = 0; f < functions; ++f) {
    std::string const name = std::string("core.") + names[f] + "." + type;
    test::print_bits((name + ".vector").c_str(), to + f * arguments, arguments);
    test::print_bits((name + ".number").c_str(), each + f * arguments, arguments);
  }
  for (index_t i = 0; i < arguments; ++i) each[i] = heddle::pow(from[i], from[arguments - 1 - i]);
  test::print_bits(("core.pow." + type).c_str(), each, arguments);
}

test::section const core_section("core", [] {
  elementary<float, std::uint32_t>("f32");
  elementary<double, std::uint64_t>("f64");
});

}  // namespace
