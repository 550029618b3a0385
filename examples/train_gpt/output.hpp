// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "settings.hpp"

namespace train_gpt {

/// Whether `--resume` names the run in `--out`, so that its records go on.
bool goes_on(settings const& s);

/// Refuses an `--out` that holds another run, whose saves this one would delete. Touches nothing. Errors: usage_error.
void check_output(settings const& s);

}  // namespace train_gpt
