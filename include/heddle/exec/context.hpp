// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/exec/executor.hpp>

namespace heddle {

/// Which of the promises about bits a run makes.
enum class order_policy {
  repeatable,  ///< the same bits for any thread count, instruction set, compiler, schedule and message size
  elastic,     ///< also for any mesh
  relaxed,     ///< no promise: what is fastest, for matrix products one chain however long
};

/// The type in which parameters and activations are stored; sums, moments and master copies are fp32. It describes the
/// element type that a program was compiled for: a trainer refuses another.
enum class storage_policy { fp32, bf16 };

/// What is decided once for a run, the same on every rank.
struct run_policy {
  std::uint64_t seed = 0;
  order_policy order = order_policy::repeatable;
  storage_policy storage = storage_policy::fp32;
};

/// The mesh of a program that runs on one rank.
struct no_mesh {};
inline no_mesh default_mesh;

/// What a rank hands to everything above nn: queues, mesh and policies. Fixed for a run; arenas, memory and
/// observers come with the executors.
/// Memory: refers to executors and mesh, which outlive it; trivially copyable.
template <executor Compute, executor Communication = Compute, class Mesh = no_mesh>
class context {
 public:
  using compute_executor = Compute;
  using communication_executor = Communication;
  using mesh_type = Mesh;

  HEDDLE_FN context(Compute& compute, Communication& communication, Mesh& mesh, run_policy const& policy = {}) noexcept
      : compute_(&compute), communication_(&communication), mesh_(&mesh), policy_(policy) {}
  /// One queue for both, on one rank.
  HEDDLE_FN explicit context(Compute& compute, run_policy const& policy = {}) noexcept
    requires(std::same_as<Compute, Communication> && std::same_as<Mesh, no_mesh>)
      : context(compute, compute, default_mesh, policy) {}

  HEDDLE_FN Compute& compute() const noexcept { return *compute_; }
  HEDDLE_FN Communication& communication() const noexcept { return *communication_; }
  HEDDLE_FN Mesh& mesh() const noexcept { return *mesh_; }
  HEDDLE_FN run_policy const& policy() const noexcept { return policy_; }
  HEDDLE_FN std::uint64_t seed() const noexcept { return policy_.seed; }
  HEDDLE_FN order_policy order() const noexcept { return policy_.order; }
  HEDDLE_FN storage_policy storage() const noexcept { return policy_.storage; }

 private:
  Compute* compute_;
  Communication* communication_;
  Mesh* mesh_;
  run_policy policy_;
};

namespace detail {
inline constexpr std::uint64_t root_site = 14695981039346656037u;

HEDDLE_FN constexpr std::uint64_t site_byte(std::uint64_t site, char c) noexcept {
  return (site ^ static_cast<unsigned char>(c)) * 1099511628211u;  // FNV-1a, 64 bits
}
}  // namespace detail

/// The hash of a dotted path ("blocks.3.attention"); the root is the empty path.
HEDDLE_FN constexpr std::uint64_t site_of(char const* path, std::uint64_t site = detail::root_site) noexcept {
  for (; *path; ++path) site = detail::site_byte(site, *path);
  return site;
}

/// What a layer is told about the pass that it takes part in: a trivially copyable value, derived for every child.
///
/// Units: `step` and `microbatch` count from 0 over the run and over all data-parallel ranks; `first_row` is the
/// global index of the first row of this microbatch, so that random numbers don't depend on the mesh.
template <class Context>
struct call {
  Context const* run;
  index_t step = 0;
  index_t microbatch = 0;
  index_t first_row = 0;
  std::uint64_t site = detail::root_site;  ///< `site_of` the dotted path of this place in the model
  void (*ready_hook)(void* state, int bucket) = nullptr;
  void* ready_state = nullptr;

  HEDDLE_FN auto& exec() const noexcept { return run->compute(); }

  /// The call of a named child.
  HEDDLE_FN constexpr call at(char const* name) const noexcept {
    call child = *this;
    if (site != detail::root_site) child.site = detail::site_byte(child.site, '.');
    child.site = site_of(name, child.site);
    return child;
  }
  /// The call of a child with a global index; the same site as that of its decimal digits. Pre: index >= 0.
  HEDDLE_FN constexpr call at(index_t index) const noexcept {
    char digits[24] = {};
    int at_digit = 23;
    do {
      digits[--at_digit] = static_cast<char>('0' + index % 10);
      index /= 10;
    } while (index > 0);
    return at(static_cast<char const*>(digits + at_digit));
  }
  HEDDLE_FN constexpr call at(int index) const noexcept { return at(static_cast<index_t>(index)); }

  /// Says that the gradients of a bucket are complete in the compute queue.
  HEDDLE_FN void ready(int bucket) const {
    if (ready_hook) ready_hook(ready_state, bucket);
  }
};

}  // namespace heddle
