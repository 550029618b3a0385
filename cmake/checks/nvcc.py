#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles the umbrella, the device backends and every .cu file of the tests with nvcc; nothing is run."""
import shutil
import subprocess
import tempfile

from compiler import each
from tree import ROOT, fail, finish, headers, tracked

FLAGS = ["-std=c++20", "-arch=sm_90a", "--extended-lambda", "--expt-relaxed-constexpr", "-Werror", "all-warnings",
         "-I", str(ROOT / "include"),
         "-I", str(ROOT / "tests")]
DEVICE = ("simt/", "backend/sim/", "backend/cuda/", "exec/sim_executor", "exec/cuda_executor")


def compile_file(job):
    name, path = job
    with tempfile.NamedTemporaryFile(suffix=".o") as target:
        result = subprocess.run(["nvcc", *FLAGS, "-c", str(path), "-o", target.name], capture_output=True, text=True)
    return name, (result.stdout + result.stderr) if result.returncode else ""


def main():
    if not shutil.which("nvcc"):
        print("nvcc is not on this machine: the device sources were not compiled")
        finish("nvcc", 0)
    device = [h for h in headers() if h.startswith(DEVICE)]
    with tempfile.NamedTemporaryFile("w", suffix=".cu") as unit:
        for header in ["heddle.hpp", *device]:
            unit.write(f"#include <heddle/{header}>\n")
        unit.write("int main() {}\n")
        unit.flush()
        jobs = [("include/heddle (all that nvcc reads)", unit.name)]
        jobs += [(name, ROOT / name) for name in tracked("*.cu")]
        for name, errors in each(compile_file, jobs):
            if errors:
                fail(name, 1, "nvcc refuses it:\n    " + "\n    ".join(errors.splitlines()[:30]))
    finish("nvcc", len(jobs))


if __name__ == "__main__":
    main()
