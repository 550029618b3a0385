// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/overlap.hpp>

namespace heddle::linalg::detail {
using heddle::surely_overlap;
}
