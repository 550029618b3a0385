#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Licence line first, lines of at most 120 columns, no tabs, no machine paths, no duplicate names, one guard."""
import re

from tree import ROOT, fail, finish, tracked

SPDX = "SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"
CODE = ("*.hpp", "*.cpp", "*.cuh", "*.cu", "*.cmake", "*CMakeLists.txt", "*.py", "*.sh", ".ci/run")
CPP = (".hpp", ".cpp", ".cuh", ".cu")
MACHINE = re.compile(r"(?<![\w.$}/-])/(?:work|root|home|tmp)(?:/[\w.+-]+)+")
COLUMNS = 120


def check_lines(name, lines):
    for number, line in enumerate(lines, 1):
        if len(line) > COLUMNS:
            fail(name, number, f"{len(line)} columns, more than {COLUMNS}")
        if "\t" in line:
            fail(name, number, "a tab")
        if line != line.rstrip():
            fail(name, number, "blanks at the end")


def check_head(name, lines):
    if not any(SPDX in line for line in lines[:2]):
        fail(name, 1, "the first line must be the SPDX line (the second after #!)")
    if name.endswith((".hpp", ".cuh")) and (len(lines) < 2 or lines[1] != "#pragma once"):
        fail(name, 2, "the second line of a header must be #pragma once")


def main():
    code = tracked(*CODE)
    for name in code:
        lines = (ROOT / name).read_text().split("\n")
        check_lines(name, lines)
        check_head(name, lines)
    for name in code + tracked("*.md", "*.json", "*.txt"):
        text = (ROOT / name).read_text()
        for match in MACHINE.finditer(text):
            if not (name.startswith("tests/") and match.group(0).startswith("/tmp/")):  # tests may make files there
                fail(name, text.count("\n", 0, match.start()) + 1, f"a path of some machine, {match.group(0)}")
    seen = {}
    for name in code:
        folder, _, file = name.rpartition("/")
        stem = (folder, file.rsplit(".", 1)[0])
        if name.endswith(CPP) and folder.startswith("include") and seen.setdefault(stem, name) != name:
            fail(name, 1, f"has the same name as {seen[stem]}")
    finish("text", len(code))


if __name__ == "__main__":
    main()
