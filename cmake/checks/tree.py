# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the checks share: the files of the repository, text without comments, and reporting."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "include" / "heddle"

_faults = []


def fail(path, line, text):
    """Notes one violation with its place."""
    _faults.append(f"{path}:{line}: {text}")


def failed():
    """Whether a violation was reported."""
    return bool(_faults)


def finish(name, looked_at):
    """Prints every violation and one result line, and ends the program."""
    for fault in _faults:
        print(fault)
    state = f"{len(_faults)} violations" if _faults else "ok"
    print(f"check {name}: {looked_at} looked at, {state}")
    sys.exit(1 if _faults else 0)


def tracked(*patterns):
    """Paths, relative to the root, of the files that git knows or would add."""
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "--", *patterns], cwd=ROOT, check=True,
                           capture_output=True, text=True).stdout.split("\n")
    return sorted(n for n in set(names) if n and (ROOT / n).is_file())


def headers():
    """Every header, relative to include/heddle."""
    return [n[len("include/heddle/"):] for n in tracked("include/heddle/*.hpp", "include/heddle/*.cuh")]


def public_headers():
    return [h for h in headers() if "detail" not in h.split("/")]


_BLANK = re.compile(r'//[^\n]*|/\*.*?\*/|R"(?P<d>[^(\s]*)\(.*?\)(?P=d)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'',
                    re.S)


def without_comments(text, keep_strings=False):
    """The text with comments (and the inside of literals) blanked out; line breaks stay."""

    def blank(match):
        s = match.group(0)
        if s.startswith("'") and match.start() > 0 and text[match.start() - 1].isalnum():
            return s  # a digit separator
        if keep_strings and not s.startswith("/"):
            return s
        return re.sub(r"[^\n]", " ", s)

    return _BLANK.sub(blank, text)
