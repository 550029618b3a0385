// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/linalg/matmul.hpp>

// expect first old_standard: heddle needs C\+\+20: compile with -std=c\+\+20
// flags old_standard: -std=c++17
