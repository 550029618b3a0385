// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "settings.hpp"

namespace train_gpt {

/// The folder of saves that `--resume` names: `checkpoint/` in what a run left, or the folder itself.
std::string saves_folder(settings const& s);

/// How parameters are stored: "bf16" or "fp32".
std::string storage_name(settings const& s);

/// Holds the command line against the newest save under `--resume`, before anything is allocated or written. Does
/// nothing without `--resume`. Prints one line where the seed, the sequence or the storage differ, which are free to.
/// Errors: usage_error where the save is of another model or already at `--steps`,
/// errc::file where there is none.
void check_resume(settings const& s);

}  // namespace train_gpt
