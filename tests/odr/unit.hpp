// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// What two files of one program exchange that were compiled with different flags. unit.cpp is compiled twice;
/// main.cpp lets each of the two make, use and free the objects of the other.

#include <heddle/core/tensor.hpp>
#include <heddle/exec/context.hpp>
#include <heddle/exec/observed.hpp>
#include <heddle/exec/queued.hpp>
#include <heddle/exec/recorder.hpp>
#include <heddle/exec/reference_executor.hpp>
#include <heddle/exec/serial_executor.hpp>
#include <heddle/exec/threads_executor.hpp>

namespace odr {

using queue = heddle::queued<heddle::threads_executor>;

struct exchange {
  heddle::host_space* space = nullptr;
  heddle::threads_executor* threads = nullptr;
  heddle::serial_executor* serial = nullptr;
  queue* work = nullptr;
  heddle::recorder* times = nullptr;
  heddle::tensor<double, 2>* table = nullptr;
  heddle::view<double, 2> window = {};
  heddle::view<double const, 1> row = {};
  heddle::queue_event* event = nullptr;
  double sum = 0;
};

/// The functions of one compilation. Each step returns null, or what went wrong.
struct unit {
  char const* tag;               ///< HEDDLE_TAG as this file saw it
  int contracts;                 ///< its contract level
  bool (*checks_indices)();      ///< whether an index outside a view is caught, by running it
  void const* code;              ///< where its version of a heddle function lies
  void const* state;             ///< where the process state lies
  char const* (*make)(exchange&);
  char const* (*use)(exchange&);
  char const* (*fail)(exchange&);  ///< throws contract_error out of a tile of the other's executor
  char const* (*free)(exchange&);
};

}  // namespace odr

extern "C" odr::unit const* odr_first();
extern "C" odr::unit const* odr_second();
