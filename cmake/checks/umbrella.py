#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that heddle.hpp names every public header that needs no third party; --write brings it up to date."""
import sys

from tree import INCLUDE, fail, finish, public_headers

TOP = """// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Everything that needs no third party, with the cpu backend; report/ is left out. For short compile times include
/// the headers that you use instead. Written by cmake/checks/umbrella.py --write.

"""
LEFT_OUT = ("kernels", "report/", "simt/", "backend/cuda/", "backend/kokkos/", "backend/sim/", "comm/transport/mpi",
            "comm/transport/nccl", "exec/openmp_executor", "exec/kokkos_executor", "exec/cuda_executor",
            "exec/sim_executor")


def main():
    names = [h for h in public_headers() if h != "heddle.hpp" and not h.startswith(LEFT_OUT) and h.endswith(".hpp")]
    wanted = TOP + "".join(f"#include <heddle/{name}>\n" for name in sorted(names))
    path = INCLUDE / "heddle.hpp"
    if "--write" in sys.argv:
        path.write_text(wanted)
    elif path.read_text() != wanted:
        fail("include/heddle/heddle.hpp", 1, "is not complete: run cmake/checks/umbrella.py --write")
    finish("umbrella", 1)


if __name__ == "__main__":
    main()
