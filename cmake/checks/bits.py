#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds tests/bits with several compilers and flags, runs it under every instruction set and with one to four threads,
and compares the hashes."""
import os
import pathlib
import shutil
import subprocess
import tempfile

from compiler import each
from tree import ROOT, fail, failed, finish

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
THREADS = (1, 2, 3, 4)  # more than one for the first variant only: the flags change nothing there


def build(job):
    """The compiler's message where it fails."""
    compiler, flags, source, target = job
    command = [compiler, *flags.split(), "-Wall", "-Wextra", "-Werror", "-pthread", "-I", str(ROOT / "include"), "-I",
               str(ROOT / "tests"), "-c", str(source), "-o", str(target)]
    result = subprocess.run(command, capture_output=True, text=True)
    return (result.stderr.splitlines()[:8] or ["no message"]) if result.returncode else []


def link(job):
    compiler, flags, objects, program = job
    subprocess.run([compiler, *[f for f in flags.split() if f == "-static"], "-pthread", *map(str, objects), "-o",
                    str(program)], check=True)


def run(job):
    """What the program prints, or None where the machine lacks the set."""
    program, emulator, instruction_set, threads = job
    environment = dict(os.environ, HEDDLE_ISA=instruction_set)
    result = subprocess.run([*emulator, str(program), str(threads)], capture_output=True, text=True, env=environment)
    if result.returncode and "this machine has no" in result.stderr:
        return None
    if result.returncode:
        return [f"FAILED ({result.returncode}): {result.stderr.strip()[:200]}"]
    return result.stdout.splitlines()


def variants():
    """Those whose compiler and emulator this machine has."""
    for compiler, flags in VARIANTS:
        if not shutil.which(compiler) or (compiler.startswith("aarch64") and not shutil.which("qemu-aarch64")):
            print(f"{compiler} or its emulator is not on this machine: left out")
        else:
            yield compiler, flags


def outputs(sources, folder):
    """(what was built and run, lines) in order. All cores have work until all is built, then until all has run."""
    builds, links, runs, names = [], [], [], []
    for index, (compiler, flags) in enumerate(variants()):
        objects = [folder / f"{index}-{s.stem}.o" for s in sources]
        program = folder / f"{index}-bits"
        builds += [(compiler, flags, s, o) for s, o in zip(sources, objects)]
        links.append((compiler, flags, objects, program))
        emulator = ["qemu-aarch64"] if compiler.startswith("aarch64") else []
        for instruction_set in ("baseline",) if emulator or "-O0" in flags else SETS:
            for threads in THREADS if index == 0 and instruction_set != "baseline" else THREADS[:1]:
                runs.append((program, emulator, instruction_set, threads))
                names.append(f"{compiler} {flags}, {instruction_set}, threads: {threads}")
    failed = [(f"{job[0]} {job[1]}, build", lines) for job, lines in zip(builds, each(build, builds)) if lines]
    if failed:
        return failed
    each(link, links)
    return [(name, lines) for name, lines in zip(names, each(run, runs)) if lines is not None]


def main():
    sources = sorted((ROOT / "tests/bits").glob("*.cpp"))
    expected, compared = None, 0
    with tempfile.TemporaryDirectory() as name:
        for what, lines in outputs(sources, pathlib.Path(name)):
            if what.endswith(", build"):
                fail("tests/bits", 0, "\n    ".join([what, *lines]))
                continue
            expected = expected or lines
            compared += len(lines)
            for got, wanted in zip(lines + [""] * len(expected), expected):
                if got != wanted:
                    fail("tests/bits", 0, f"{what}: {got or 'nothing'} for {wanted}")
    print(f"evidence bits.compilers {0 if failed() else 1} bool")
    finish("bits", compared)


if __name__ == "__main__":
    main()
