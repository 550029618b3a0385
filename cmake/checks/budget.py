#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The compile budget in preprocessed lines, which no busy machine can change: core, each feature header, umbrella."""
from compiler import each, preprocessed_lines
from self_contained import FOREIGN
from tree import fail, finish, public_headers

CORE = 15_000
FEATURE = 40_000
MODEL = 50_000  # model/ joins all folders
UMBRELLA = 70_000


def main():
    names = [h for h in public_headers() if h.endswith(".hpp") and not h.startswith(FOREIGN)]
    core = [h for h in names if h.startswith("core/")]
    features = [h for h in names if not h.startswith(("core/", "report/")) and h != "heddle.hpp"]
    jobs = [core, ["heddle.hpp"]] + [[h] for h in features]
    counts = each(preprocessed_lines, jobs)
    if None in counts:
        fail(f"include/heddle/{jobs[counts.index(None)][0]}", 1, "can't be preprocessed")
        finish("budget", len(jobs))
    print(f"evidence headers.core_lines {counts[0]} lines")
    print(f"evidence headers.umbrella_lines {counts[1]} lines")
    limits = [CORE, UMBRELLA] + [MODEL if h.startswith("model/") else FEATURE for h in features]
    titles = ["core/*.hpp", "heddle.hpp"] + features
    for title, count, limit in zip(titles, counts, limits):
        if count > limit:
            fail(f"include/heddle/{title}", 1, f"{count} preprocessed lines, more than {limit}")
    dearest = sorted(zip(counts[2:], features), reverse=True)[:5]
    print("dearest features: " + ", ".join(f"{h} {n}" for n, h in dearest))
    finish("budget", len(jobs))


if __name__ == "__main__":
    main()
