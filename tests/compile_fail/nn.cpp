// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/backend/reference/matmul.hpp>
#include <heddle/backend/reference/tile_context.hpp>
#include <heddle/exec/context.hpp>
#include <heddle/exec/reference_executor.hpp>
#include <heddle/nn/linear.hpp>
#include <heddle/nn/norm_layers.hpp>

namespace {

using namespace heddle;

using weights = nn::linear::parameters<nn::in_use<float>>;
using gradients = nn::linear::parameters<nn::gradient<float>>;
using stored = nn::linear::parameters<nn::at_rest<float>>;
using norm_gradients = nn::layer_norm_layer::parameters<nn::gradient<float>>;
using matrix = view<float const, 2>;

struct pass {
  call<context<reference_executor>> c;
  nn::linear layer;
  nn::layer_norm_layer norm;
  nn::linear::plan plan;
  nn::layer_norm_layer::plan norm_plan;
  nn::frame frame;
  matrix x;
  view<float, 2> y;
};

[[maybe_unused]] void right(pass const& p, weights const& w, gradients& g) {
  p.layer.forward(p.c, w, p.x, p.y, p.plan, p.frame);
  p.layer.backward_weight(p.c, p.x, p.x, p.plan, p.frame, g);
}

// expect gradients_as_weights: a layer reads weights of the family in_use
#if defined(case_gradients_as_weights)
void wrong(pass const& p, gradients const& g) { p.layer.forward(p.c, g, p.x, p.y, p.plan, p.frame); }
#endif

// expect weights_at_rest: a layer reads weights of the family in_use
#if defined(case_weights_at_rest)
void wrong(pass const& p, stored const& w) { p.layer.backward_input(p.c, w, p.x, p.x, p.x, p.y, p.plan, p.frame); }
#endif

// expect norm_gradients_as_weights: a layer reads weights of the family in_use
#if defined(case_norm_gradients_as_weights)
void wrong(pass const& p, norm_gradients const& g) { p.norm.forward(p.c, g, p.x, p.y, p.norm_plan, p.frame); }
#endif

// The optimizer's weights must not be overwritten by a sum that is not reduced yet.
// expect gradients_into_weights_at_rest: a layer writes gradients into a tree of the family gradient
#if defined(case_gradients_into_weights_at_rest)
void wrong(pass const& p, stored& w) { p.layer.backward_weight(p.c, p.x, p.x, p.plan, p.frame, w); }
#endif

// expect gradient_tree_of_another_family: could not convert|no viable conversion
#if defined(case_gradient_tree_of_another_family)
[[maybe_unused]] weights wrong(gradients const& g) { return g; }
#endif

}  // namespace
