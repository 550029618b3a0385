#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files of at most 500 lines, functions of at most 60; 100 in backend/, where the kernel bodies are."""
from blocks import functions
from tree import ROOT, fail, finish, tracked

FILE_LINES = 500
FUNCTION_LINES = 60
KERNEL_LINES = 100


def main():
    names = tracked("include/*", "tests/*.hpp", "tests/*.cpp", "tests/*.cu", "examples/*.hpp", "examples/*.cpp",
                    "benchmarks/*.hpp", "benchmarks/*.cpp")
    for name in names:
        text = (ROOT / name).read_text()
        lines = text.count("\n")
        if lines > FILE_LINES:
            fail(name, FILE_LINES, f"{lines} lines, more than {FILE_LINES}")
        limit = KERNEL_LINES if name.startswith("include/heddle/backend/") else FUNCTION_LINES
        for function in functions(text):
            if function.lines() > limit:
                what = " ".join(function.head.split())[:80]
                fail(name, function.first, f"a function of {function.lines()} lines, more than {limit}: {what}")
    finish("sizes", len(names))


if __name__ == "__main__":
    main()
