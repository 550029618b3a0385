#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds tests/bits with several compilers and flags, runs it under every instruction set, and compares the hashes."""
import os
import pathlib
import shutil
import subprocess
import tempfile

from compiler import each
from tree import ROOT, fail, finish

# The first is what the others are compared with. -O0 builds have the baseline only; one of them per compiler is enough.
VARIANTS = [
    ("g++", "-std=c++20 -O2"),
    ("g++", "-std=c++20 -O0"),
    ("g++", "-std=gnu++20 -O3"),
    ("g++", "-std=c++20 -O2 -ffp-contract=off -DNDEBUG"),
    ("g++", "-std=gnu++20 -O2 -march=native -ffp-contract=fast"),
    ("clang++", "-std=c++20 -O2"),
    ("clang++", "-std=c++20 -O0"),
    ("clang++", "-std=c++20 -O3 -march=native"),
    ("aarch64-linux-gnu-g++", "-std=c++20 -O2 -static"),
]
SETS = ("baseline", "avx2", "avx512", "avx512_bf16")


def build(job):
    compiler, flags, source, target = job
    command = [compiler, *flags.split(), "-Wall", "-Wextra", "-Werror", "-pthread", "-I", str(ROOT / "include"), "-I",
               str(ROOT / "tests"), "-c", str(source), "-o", str(target)]
    return subprocess.run(command, capture_output=True, text=True)


def run(program, emulator, instruction_set):
    """What the program prints, or None where the machine lacks the set."""
    environment = dict(os.environ, HEDDLE_ISA=instruction_set)
    result = subprocess.run([*emulator, str(program)], capture_output=True, text=True, env=environment)
    if result.returncode and "this machine has no" in result.stderr:
        return None
    if result.returncode:
        return [f"FAILED ({result.returncode}): {result.stderr.strip()[:200]}"]
    return result.stdout.splitlines()


def runs_of(index, folder, sources):
    """Yields (instruction set, lines) of one variant, or one entry with the compiler's message."""
    compiler, flags = VARIANTS[index]
    objects = [folder / f"{index}-{s.stem}.o" for s in sources]
    jobs = [(compiler, flags, s, o) for s, o in zip(sources, objects)]
    for result in each(build, jobs):
        if result.returncode:
            yield "build", result.stderr.splitlines()[:8]
            return
    program = folder / f"{index}-bits"
    link = [compiler, *[f for f in flags.split() if f == "-static"], "-pthread", *map(str, objects), "-o", str(program)]
    subprocess.run(link, check=True)
    emulator = ["qemu-aarch64"] if compiler.startswith("aarch64") else []
    for instruction_set in ("baseline",) if emulator or "-O0" in flags else SETS:
        lines = run(program, emulator, instruction_set)
        if lines is not None:
            yield instruction_set, lines


def main():
    sources = sorted((ROOT / "tests/bits").glob("*.cpp"))
    expected, compared = None, 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for index, (compiler, flags) in enumerate(VARIANTS):
            if not shutil.which(compiler) or (compiler.startswith("aarch64") and not shutil.which("qemu-aarch64")):
                print(f"{compiler} or its emulator is not on this machine: left out")
                continue
            for instruction_set, lines in runs_of(index, folder, sources):
                expected = expected or lines
                compared += len(lines)
                for got, wanted in zip(lines + [""] * len(expected), expected):
                    if got != wanted:
                        fail("tests/bits", 0, f"{compiler} {flags}, {instruction_set}: {got or 'nothing'} for {wanted}")
    finish("bits", compared)


if __name__ == "__main__":
    main()
