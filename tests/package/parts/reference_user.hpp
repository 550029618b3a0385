// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// A user's own executor that takes the forms of a backend by its tag: here the plain loops.

#include "user_executor.hpp"

struct reference_user : user_executor {
  using backend = heddle::reference_tag;
};
