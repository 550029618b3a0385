#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Keeps what pages quote equal to its source, and checks that their relative links lead somewhere.

<!-- snippet: <file> --> ... <!-- end of snippet -->          a whole file
<!-- snippet: <file>#<name> --> ... <!-- end of snippet -->   what stands between `// begin <name>` and `// end <name>`
<!-- table: operations by backends --> ... <!-- end of table -->
<!-- missed goals --> ... <!-- end of missed goals -->        the rows of docs/evidence.md that say so

--write brings the pages up to date.
"""
import re
import sys
import textwrap

from layering import includes
from tree import INCLUDE, ROOT, fail, finish, public_headers, tracked

SNIPPET = re.compile(r"(<!-- snippet: ([^ #]+)(?:#(\S+))? -->\n)(.*?)(<!-- end of snippet -->)", re.S)
TABLE = re.compile(r"(<!-- table: operations by backends[^>]*-->\n)(.*?)(<!-- end of table -->)", re.S)
MISSED = re.compile(r"(<!-- missed goals -->\n)(.*?)(<!-- end of missed goals -->)", re.S)
EVIDENCE = re.compile(r"^\| `([^`]+)` \| ([^|]+) \| ([^|]+) \| (\w+) \|", re.M)
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")
OBJECT = re.compile(r"^inline constexpr (\w+_fn) (\w+)(?:\{\})?;", re.M)
DECLARED = re.compile(r"^HEDDLE_DECLARE_KERNEL\((?:\w+::)*(?:(\w+)::)?(\w+_fn), (\w+)_tag,", re.M)
FOLDERS = ("algorithm", "linalg", "nn", "attention")
BACKENDS = ("reference", "cpu", "sim", "cuda")


def snippet(page, file, name):
    path = ROOT / file
    if not path.is_file():
        fail(page, 1, f"quotes {file}, which is not there")
        return None
    text = path.read_text()
    if name:
        match = re.search(rf"^[ ]*// begin {name}\n(.*?)^[ ]*// end {name}$", text, re.S | re.M)
        if not match:
            fail(page, 1, f"quotes {file}#{name}, which is not there")
            return None
        text = textwrap.dedent(match.group(1))
    else:
        text = re.sub(r"^// SPDX[^\n]*\n", "", text)
    language = "cmake" if file.endswith((".cmake", ".txt")) else "cpp"
    return f"```{language}\n{text.strip()}\n```\n"


def table():
    """Operations by backends: tuned forms from the declared grid, generic ones where a tile context exists."""
    tuned = {(scope or "", op, tag) for scope, op, tag in DECLARED.findall((INCLUDE / "exec/backends.hpp").read_text())}
    tiles = {b for b in BACKENDS if (INCLUDE / f"backend/{b}/tile_context.hpp").is_file()}
    rows = ["| header | operations | " + " | ".join(BACKENDS) + " |", "|---" * (len(BACKENDS) + 2) + "|"]
    products = "linalg/matmul.hpp"
    for header in public_headers():
        folder = header.split("/")[0]
        if folder not in FOLDERS:
            continue
        names = {name for _, name in includes(INCLUDE / header)}
        uses_tiles = bool(names & RUN_TILES)
        is_product = folder == "linalg" and f"heddle/{products}" in names  # submits a matmul
        groups = {}  # operations with the same cells share a row
        for op, name in OBJECT.findall((INCLUDE / header).read_text()):
            in_grid = any(op == other for _, other, _ in tuned)
            op = "matmul_fn" if is_product and not in_grid else op
            groups.setdefault(tuple(cell(folder, op, b, tuned, uses_tiles and b in tiles) for b in BACKENDS),
                              []).append(f"`{name}`")
        for cells, operations in groups.items():
            rows.append(f"| `{header}` | {', '.join(operations)} | " + " | ".join(cells) + " |")
    return "\n".join(rows) + "\n\n" + LEGEND


LEGEND = """*tuned*: a form written for that backend. *generic*: the operation's one tile program or loop, run there.
*compiled*: the same, compiled by nvcc and run in the simulator, not on a GPU. —: does not compile there.
"""

# What an operation includes to submit tile programs.
RUN_TILES = {"heddle/tile/run.hpp", "heddle/algorithm/copy.hpp", "heddle/algorithm/transform.hpp",
             "heddle/algorithm/detail/row_layout.hpp", "heddle/linalg/detail/grouped_programs.hpp"}


def cell(folder, op, backend, tuned, has_tiles):
    if (folder, op, backend) in tuned or ("", op, backend) in tuned:
        return "tuned"
    if backend == "cuda" and has_tiles:
        return "compiled"
    return "generic" if backend in ("reference", "cpu") or has_tiles else "—"


def missed_goals():
    """How many goals docs/evidence.md holds, and a line for each that was missed."""
    rows = EVIDENCE.findall((ROOT / "docs/evidence.md").read_text())
    missed = [row for row in rows if row[3] == "missed"]
    met = sum(row[3] == "met" for row in rows)
    lines = [f"There {met} goals are met, missed: {len(missed)}" + (":" if missed else "."), ""]
    lines += [f"- `{name}`: {value}, where the goal is {goal}" for name, value, goal, _ in missed]
    return "\n".join(lines).rstrip() + "\n"


def brought_up_to_date(page, text):
    quoted = set()

    def quote(match):
        source = match.group(2, 3)
        if source in quoted:
            fail(page, text[:match.start()].count("\n") + 1, f"quotes {match.group(2)} twice")
        quoted.add(source)
        new = snippet(page, match.group(2), match.group(3))
        return match.group(0) if new is None else match.group(1) + new + match.group(5)

    text = SNIPPET.sub(quote, text)
    text = MISSED.sub(lambda m: m.group(1) + missed_goals() + m.group(3), text)
    return TABLE.sub(lambda m: m.group(1) + table() + m.group(3), text)


def main():
    pages = tracked("*.md")
    for page in pages:
        path = ROOT / page
        text = path.read_text()
        wanted = brought_up_to_date(page, text)
        if wanted != text:
            if "--write" in sys.argv:
                path.write_text(wanted)
            else:
                fail(page, 1, "quotes something that has changed: run cmake/checks/docs.py --write")
        for match in LINK.finditer(wanted):
            if not (path.parent / match.group(1)).exists():
                fail(page, wanted.count("\n", 0, match.start()) + 1, f"links to {match.group(1)}, which is not there")
    finish("docs", len(pages))


if __name__ == "__main__":
    main()
