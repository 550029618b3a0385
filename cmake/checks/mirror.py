#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every public header has a test that includes it, every folder a page in docs/ that is not empty."""
from layering import includes
from tree import ROOT, fail, finish, public_headers, tracked

# Headers that only forward, or are tested through another: header -> the one whose tests reach it.
THROUGH = {"heddle.hpp": "odr", "config.hpp": "odr"}


def main():
    tested = set()
    for name in tracked("tests/*.cpp", "tests/*.hpp", "tests/*.cu"):
        tested.update(target for _, target in includes(ROOT / name))
    headers = public_headers()
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
