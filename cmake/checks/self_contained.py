#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles every header alone, included twice, with each compiler named (default: g++ and clang++), warnings as errors.

usage: self_contained.py [compiler...]
"""
import shutil
import sys

from compiler import compile_text, each
from tree import fail, finish, headers

FLAGS = ["-fsyntax-only", "-Wall", "-Wextra", "-Werror"]
# Headers that need a package or another compiler.
FOREIGN = ("backend/cuda/", "backend/kokkos/", "comm/transport/mpi", "comm/transport/nccl", "exec/kokkos_executor",
           "exec/cuda_executor")


def check(job):
    compiler, header = job
    flags = FLAGS + (["-fopenmp"] if "openmp" in header else [])
    line = f"#include <heddle/{header}>\n"
    result = compile_text(compiler, flags, line + line)
    return compiler, header, result.stderr if result.returncode else ""


def main():
    asked = sys.argv[1:] or ["g++", "clang++"]
    compilers = [c for c in asked if shutil.which(c)]
    for name in sorted(set(asked) - set(compilers)):
        print(f"{name} is not on this machine: left out")
    names = [h for h in headers() if not h.startswith(FOREIGN) and h.endswith(".hpp")]
    with_openmp = {c for c in compilers if compile_text(c, [*FLAGS, "-fopenmp"], "#include <omp.h>\n").returncode == 0}
    jobs = [(c, h) for c in compilers for h in names if c in with_openmp or "openmp" not in h]
    for compiler, header, errors in each(check, jobs):
        if errors:
            text = "\n    ".join(errors.splitlines()[:12])
            fail(f"include/heddle/{header}", 1, f"does not compile alone with {compiler}:\n    {text}")
    if not compilers:
        fail("-", 0, "no compiler was found")
    finish(f"self_contained ({', '.join(compilers)})", len(jobs))


if __name__ == "__main__":
    main()
