// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/kernels.hpp>

/// @file
/// What every file of heddle::kernels relies on: it is compiled with the flags that the target's tags name.

#if !defined(HEDDLE_KERNELS)
#error "a file of the target heddle::kernels"
#endif

static_assert(heddle::detail::has_own_tag(HEDDLE_KERNELS),
              "the flags of heddle::kernels were changed after its tags were taken (cmake/kernels.cmake)");
