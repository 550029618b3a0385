#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Seconds and megabytes of the compilations that users feel, with g++ -O2; the median of three.

Seconds are processor time, so that other work on the machine does not count.
"""
import os
import resource
import subprocess
import tempfile

from compiler import STANDARD
from tree import ROOT

CASES = {"quickstart": ROOT / "examples" / "quickstart.cpp", "matmul_call": ROOT / "cmake/checks/matmul_call.cpp"}


def children_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(source):
    """Seconds and bytes of one compilation, or the compiler's message."""
    with tempfile.TemporaryDirectory() as folder:
        target = os.path.join(folder, "a.o")
        times = []
        for _ in range(3):
            start = children_seconds()
            result = subprocess.run(["g++", *STANDARD, "-O2", "-I", str(ROOT / "examples"), "-c", str(source), "-o",
                                     target], capture_output=True, text=True)
            times.append(children_seconds() - start)
            if result.returncode:
                return result.stderr.splitlines()[0]
        return sorted(times)[1], os.path.getsize(target)


def main():
    for name, source in CASES.items():
        result = measure(source) if source.is_file() else "not_there"
        if isinstance(result, str):
            print(f"evidence headers.{name}_s absent {result.replace(' ', '_')}")
            print(f"evidence headers.{name}_mb absent {result.replace(' ', '_')}")
        else:
            print(f"evidence headers.{name}_s {result[0]:.2f} s")
            print(f"evidence headers.{name}_mb {result[1] / 1e6:.2f} MB")


main()
