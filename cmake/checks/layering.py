#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads every #include of include/heddle against layers.txt and includes.txt, and keeps backends and report apart."""
import pathlib
import re

from tree import INCLUDE, ROOT, fail, finish, headers, tracked, without_comments

HERE = pathlib.Path(__file__).parent
INCLUDE_LINE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.M)
TRANSPORT_WORDS = re.compile(r"\b(MPI_\w+|nccl[A-Z]\w+)\b")


def rules(name):
    """The lines `part: words` of a data file, with its lists put in."""
    table, lists = {}, {}
    for line in (HERE / name).read_text().splitlines():
        if line.startswith("#") or not line.strip():
            continue
        if " = " in line:
            key, words = line.split(" = ")
            lists[key] = words.split()
        else:
            key, words = line.split(":")
            table[key] = [w for word in words.split() for w in lists.get(word, [word])]
    return table


def part_of(header, table):
    """The longest part of the table that a header lies in, or None."""
    stem = header.rsplit(".", 1)[0]
    fits = [p for p in table if stem == p or stem.startswith(p + "/")]
    return max(fits, key=len) if fits else None


def includes(path):
    text = without_comments(path.read_text(), keep_strings=True)
    for match in INCLUDE_LINE.finditer(text):
        yield text.count("\n", 0, match.start()) + 1 + match.group(0).count("\n"), match.group(1)


def check_header(header, layers, banned):
    shown = f"include/heddle/{header}"
    part = part_of(header, layers)
    if part is None and "/" in header:
        fail(shown, 1, "lies in no part that layers.txt knows")
        return
    ban = part_of(header, banned)
    for line, name in includes(INCLUDE / header):
        if name.startswith("heddle/"):
            target = part_of(name[len("heddle/"):], layers)
            if name == "heddle/heddle.hpp":
                fail(shown, line, "the umbrella is for users, not for the library")
            elif target is not None and part is not None and target != part and target not in layers[part]:
                fail(shown, line, f"{part} must not include {target} (layers.txt)")
        elif ban and name in banned[ban]:
            fail(shown, line, f"<{name}> is too dear here (includes.txt)")


def check_words(header):
    """Only comm/transport/mpi* and nccl* speak of MPI and NCCL."""
    if header.startswith("comm/transport/"):
        return
    text = without_comments((INCLUDE / header).read_text())
    for match in TRANSPORT_WORDS.finditer(text):
        fail(f"include/heddle/{header}", text.count("\n", 0, match.start()) + 1, f"names {match.group(1)}")


def main():
    layers, banned = rules("layers.txt"), rules("includes.txt")
    names = headers()
    for header in names:
        if header != "heddle.hpp":
            check_header(header, layers, banned)
        check_words(header)
    files = tracked("tests/*.hpp", "tests/*.cpp", "examples/*.hpp", "examples/*.cpp", "benchmarks/*")
    for name in files:
        for line, target in includes(ROOT / name):
            if target.endswith(".cpp") and not name.startswith("tests/odr"):
                fail(name, line, f"includes a source file, {target}")
            block = re.fullmatch(r"tests/package/parts/(\w+)\.cpp", name)
            own = block and (f"heddle/{block.group(1)}/", "heddle/backend/reference/")
            if block and target.startswith("heddle/") and not target.startswith(own):
                fail(name, line, f"shows the use of {block.group(1)} alone, but includes {target}")
    finish("layering", len(names) + len(files))


if __name__ == "__main__":
    main()
