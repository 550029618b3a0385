// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Everything that needs no third party, with the cpu backend; report/ is left out. For short compile times include
/// the headers that you use instead. Written by cmake/checks/umbrella.py --write.

#include <heddle/config.hpp>
#include <heddle/core/contracts.hpp>
#include <heddle/core/error.hpp>
#include <heddle/core/extents.hpp>
#include <heddle/core/tensor.hpp>
#include <heddle/core/tensor_view.hpp>
#include <heddle/core/text.hpp>
#include <heddle/exec/arena.hpp>
#include <heddle/exec/backends.hpp>
#include <heddle/exec/executor.hpp>
#include <heddle/exec/loop_executor.hpp>
#include <heddle/exec/memory.hpp>
#include <heddle/exec/observer.hpp>
#include <heddle/exec/reference_executor.hpp>
#include <heddle/exec/serial_executor.hpp>
#include <heddle/exec/wait.hpp>
#include <heddle/version.hpp>
