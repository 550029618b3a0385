// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "settings.hpp"

namespace train_gpt {

/// Prints what the model of the newest checkpoint under `--out` writes after a line break, `--sample` bytes of it, and
/// leaves it there as sample.txt. Does nothing without `--out`, or for 0 bytes.
void write_sample(settings const& s);

}  // namespace train_gpt
