#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles every header alone, included twice, with g++ and clang++, and all headers in one file with the other
compilers that are named; warnings are errors.

usage: self_contained.py [other compiler...]
"""
import shutil
import sys

from compiler import compile_text, each
from tree import fail, finish, headers

FLAGS = ["-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]
# Headers that need a package or another compiler.
FOREIGN = ("backend/cuda/", "backend/kokkos/", "comm/transport/mpi", "comm/transport/nccl", "exec/kokkos_executor",
           "exec/cuda_executor")


ALONE = ("g++", "clang++")


def check(job):
    """One file that includes the headers of a job twice."""
    compiler, names = job
    flags = FLAGS + (["-fopenmp"] if any("openmp" in n for n in names) else [])
    if compiler not in ALONE:  # newer ones call the standard library's own stable_sort deprecated
        flags.append("-Wno-deprecated-declarations")
    lines = "".join(f"#include <heddle/{name}>\n" for name in names)
    result = compile_text(compiler, flags, lines + lines)
    return compiler, names, result.stderr if result.returncode else ""


def main():
    compilers = [c for c in (*ALONE, *sys.argv[1:]) if shutil.which(c)]
    for name in sorted({*ALONE, *sys.argv[1:]} - set(compilers)):
        print(f"{name} is not on this machine: left out")
    names = [h for h in headers() if not h.startswith(FOREIGN) and h.endswith(".hpp")]
    jobs = []
    for c in compilers:
        with_openmp = compile_text(c, [*FLAGS, "-fopenmp"], "#include <omp.h>\n").returncode == 0
        own = [h for h in names if with_openmp or "openmp" not in h]
        jobs += [(c, [h]) for h in own] if c in ALONE else [(c, own)]
    for compiler, group, errors in each(check, jobs):
        if errors:
            text = "\n    ".join(errors.splitlines()[:12])
            what = "does not compile alone" if len(group) == 1 else "and others do not compile"
            fail(f"include/heddle/{group[0]}", 1, f"{what} with {compiler}:\n    {text}")
    if not compilers:
        fail("-", 0, "no compiler was found")
    finish(f"self_contained ({', '.join(compilers)})", len(jobs))


if __name__ == "__main__":
    main()
