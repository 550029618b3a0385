#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The lines of code that each problem of examples/pareval takes, against its limit.

A problem is the function of its name in examples/pareval/<category>.hpp. Its lines are those between its braces that
are neither blank nor a comment, wrapped at 120 columns, and those of the functions over an executor that it calls and
that are no problems themselves. Types, constants and functions of elements that stand beside it (a struct with its
operator, a distance) are counted apart, as `beside`. What one problem takes is not counted again where another builds
on it. `pareval.lines` is the sum of all that, each line once."""
import re

from blocks import blocks, plain
from tree import ROOT, fail, finish

FOLDER = ROOT / "examples" / "pareval"
LIMITS = {"reduce": 3, "scan": 3, "transform": 3, "search": 3, "histogram": 3, "sort": 5}
SPECIAL = {"highest_degree": 8, "spmv": 8}
OTHERS = 20
COUNT = 60

_PROBLEM = re.compile(r'make_problem\(\s*category,\s*"(\w+)"')
_NAME = re.compile(r"(\w+)\s*\(")
_VARIABLE = re.compile(r"^inline constexpr [^;={]*?\b(\w+)\s*[={].*?;$", re.M | re.S)
_TYPE_NAME = re.compile(r"\b(?:struct|class)\s+(\w+)")


class Variable:
    """A variable at namespace level."""

    is_parallel = False

    def __init__(self, match):
        self.name = match.group(1)
        self.body = match.group(0)
        self.lines = self.body.count("\n") + 1

    def names(self, other):
        return other is not self and re.search(rf"\b{other.name}\b", self.body) is not None


class Piece:
    """A function or a type at namespace level: its name, its text, its lines of code."""

    def __init__(self, block, text):
        whole = "\n".join(text.split("\n")[block.first - 1:block.last])
        start = whole.index(block.head) + len(block.head)
        self.body = whole[whole.index("{", start) + 1:whole.rindex("}")]
        self.lines = sum(1 for line in self.body.split("\n") if line.strip())
        if block.kind == "type":
            self.name = _TYPE_NAME.search(block.head).group(1)
            self.lines += 2  # a type's first and last line are code of its own
        else:
            self.name = _NAME.search(re.sub(r"template\s*<.*?>\s*", "", block.head)).group(1)
        self.is_parallel = re.search(r"\bexecutor\b", block.head) is not None

    def names(self, other):
        return other is not self and re.search(rf"\b{other.name}\b", self.body) is not None


def pieces_of(category):
    text = plain((FOLDER / f"{category}.hpp").read_text())
    return [Piece(b, text) for b in blocks(text)
            if b.kind in ("function", "type") and b.parent is not None and b.parent.kind == "namespace"] + [
                Variable(m) for m in _VARIABLE.finditer(text)]


def reach(piece, pieces, problems):
    """The pieces that a piece needs, itself not among them, nor other problems and what only they need."""
    found, waiting = [], [piece]
    while waiting:
        at = waiting.pop()
        for other in pieces:
            is_problem = other.is_parallel and other.name in problems
            if at.names(other) and not is_problem and other is not piece and other not in found:
                found.append(other)
                waiting.append(other)
    return found


def main():
    solved = over = 0
    counted = set()
    for source in sorted(FOLDER.glob("*.cpp")):
        category = source.stem
        names = _PROBLEM.findall(source.read_text())
        pieces = pieces_of(category)
        for name in names:
            own = [p for p in pieces if p.name == name and p.is_parallel]
            if len(own) != 1:
                fail(f"examples/pareval/{category}.hpp", 1, f"{len(own)} functions are called {name}, not one")
                continue
            needed = reach(own[0], pieces, names)
            lines = own[0].lines + sum(p.lines for p in needed if p.is_parallel)
            beside = sum(p.lines for p in needed if not p.is_parallel)
            limit = SPECIAL.get(name, LIMITS.get(category, OTHERS))
            solved += 1
            counted.update([own[0]] + needed)
            apart = f", {beside} beside" if beside else ""
            print(f"{category:10} {name:26} {lines:3} lines, at most {limit:2}{apart}")
            if lines > limit:
                over += 1
                fail(f"examples/pareval/{category}.hpp", 1, f"{name} takes {lines} lines, more than {limit}")
    if solved != COUNT:
        fail("examples/pareval", 1, f"{solved} problems, not {COUNT}")
    print(f"evidence pareval.lines_over {over} problems")
    print(f"evidence pareval.lines {sum(p.lines for p in counted)} lines")
    finish("pareval", solved)


if __name__ == "__main__":
    main()
