#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every public type, concept, function and function object has a /// comment; every function carries HEDDLE_FN.

Public is what a header outside detail/ declares at namespace scope, outside namespaces called detail. Declarations
that follow each other without an empty line share the comment of the first.
"""
import re

from blocks import blocks, functions, plain
from tree import INCLUDE, fail, finish, headers, public_headers

TAGS = re.compile(r"\bHEDDLE_(?:FN|HD_FN|TILE|SHIM|LAMBDA|\w+_FN)\b|\babi_tag\b|\bconsteval\b")
# Attributes and access words may stand before the word that tells what is declared.
NEEDS = re.compile(r"(?:^|\s)(?:class|struct|union|enum|concept|using)\s+\w|\(|inline constexpr ")
EXEMPT = re.compile(r"^(?:template <>|namespace\b|extern\b|static_assert\b|friend\b|#|\}|public:|private:)|= delete;|"
                    r"^(?:template\s*<.*>\s*)?(?:class|struct|enum class)\s+\w+;|^HEDDLE_[A-Z_]+\(|^using \w+ = |_v<|"
                    r"^inline constexpr \w+_fn \w+(?:\{\})?;")


def scopes(text, lines):
    """Per line: whether its start lies at public namespace scope."""
    public = [True] * (lines + 2)
    for block in blocks(text):
        inner = range(block.first + 1, block.last + 1)
        hidden = block.kind != "namespace" or re.search(r"\bdetail\b", block.head)
        if hidden:
            for line in inner:
                public[line] = False
    return public


def check_comments(name):
    raw = (INCLUDE / name).read_text()
    lines, bare = raw.split("\n"), plain(raw).split("\n")
    public = scopes(raw, len(lines))
    documented, statement_open = False, False
    for number, line in enumerate(lines, 1):
        if not line.strip():
            documented = documented and statement_open
        elif line.lstrip().startswith("///"):
            documented = True
        elif public[number] and not statement_open and bare[number - 1].strip():
            head = bare[number - 1].strip()
            if re.match(r"struct \w+_fn\b.*\{$", head) and lines[number].lstrip().startswith("///"):
                documented = True  # the comment stands at the call operator
            more = head + " " + (bare[number].strip() if number < len(bare) else "")
            if not documented and "///<" not in line and NEEDS.search(more) and not EXEMPT.search(more):
                fail(f"include/heddle/{name}", number, f"has no /// comment: {line.strip()[:70]}")
                documented = True
        if public[number] and bare[number - 1].strip():
            statement_open = not re.search(r"[;{}]\s*$", bare[number - 1])


def check_tags(name):
    text = (INCLUDE / name).read_text()
    for function in functions(text):
        head = " ".join(function.head.split())
        if "__device__" in head or "__global__" in head:
            continue  # device code alone: there is one set of flags
        if not TAGS.search(head) and not re.search(r"\b\w+(?:<[^()]*>)?::~?\w+\s*\(", head):
            fail(f"include/heddle/{name}", function.first, f"carries no HEDDLE_FN: {head[:70]}")


def main():
    for name in public_headers():
        check_comments(name)
    for name in headers():
        check_tags(name)
    finish("docstrings", len(headers()))


if __name__ == "__main__":
    main()
