#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every public header is reached by a test, every folder has a page in docs/ that is not empty.

A test reaches what it includes, and the parts that a reached header takes from its own top folder; a backend also
reaches the parts that it is made of."""
from layering import includes
from tree import ROOT, fail, finish, public_headers, tracked

# Headers that only forward, or are tested through another: header -> the one whose tests reach it.
THROUGH = {"heddle.hpp": "odr", "config.hpp": "odr", "kernels.hpp": "package"}


def main():
    tested = set()
    for name in tracked("tests/*.cpp", "tests/*.hpp", "tests/*.cu"):
        tested.update(target for _, target in includes(ROOT / name))
    headers = public_headers()
    waiting = [h for h in headers if f"heddle/{h}" in tested]
    while waiting:
        header = waiting.pop()
        for _, target in includes(ROOT / "include" / "heddle" / header):
            part = target.removeprefix("heddle/")
            own = header.startswith("backend/") or part.split("/")[0] == header.split("/")[0]
            if target not in tested and own and (ROOT / "include" / target).is_file():
                tested.add(target)
                waiting.append(part)
    for header in headers:
        if f"heddle/{header}" not in tested and header not in THROUGH:
            fail(f"include/heddle/{header}", 1, "no test includes it")
    for folder in sorted({h.split("/")[0] for h in headers if "/" in h}):
        page = ROOT / "docs" / f"{folder}.md"
        if not page.is_file() or len(page.read_text().split()) < 50:
            fail(f"docs/{folder}.md", 1, f"the page of include/heddle/{folder} is missing")
    finish("mirror", len(headers))


if __name__ == "__main__":
    main()
