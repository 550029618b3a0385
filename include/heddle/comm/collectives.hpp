// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// All operations over ranks.

#include <heddle/comm/exchanges.hpp>
#include <heddle/comm/point_to_point.hpp>
#include <heddle/comm/reductions.hpp>
