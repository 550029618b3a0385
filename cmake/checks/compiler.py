# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiling small texts against include/, several at once."""
import concurrent.futures
import os
import subprocess

from tree import ROOT

STANDARD = ["-std=c++20", "-pthread", "-I", str(ROOT / "include"), "-x", "c++"]


def compile_text(compiler, flags, text):
    """Gives the text to the compiler on standard input and returns the finished process."""
    return subprocess.run([compiler, *STANDARD, *flags, "-"], input=text, capture_output=True, text=True)


def preprocessed_lines(names, compiler="g++"):
    """Lines that remain of these headers after -E -P, or None where that fails."""
    text = "".join(f"#include <heddle/{name}>\n" for name in names)
    result = compile_text(compiler, ["-E", "-P"], text)
    return None if result.returncode else result.stdout.count("\n")


def each(function, jobs):
    """The results of function(job), in order, computed on all cores."""
    workers = int(os.environ.get("JOBS", 0)) or os.cpu_count()
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        return list(pool.map(function, jobs))
