#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes docs/benchmarks.md and its pictures from docs/benchmarks.jsonl, and checks that they are what it makes.

The first line of the file says where it was measured, with a note where one is wanted; each other one is a `measure`
line of a benchmark (benchmarks/support/measure.hpp), as cmake/evidence.cmake kept it. --write brings page and pictures
up to date.
"""
import json
import math
import re
import sys

from pictures import bars, curves
from tree import ROOT, fail, finish, tracked

PAGE = "docs/benchmarks.md"
RESULTS = "docs/benchmarks.jsonl"
PICTURES = "docs/pictures/bench_"

# Of each benchmark: its heading, what its page says, and its charts:
#   ratio: time of the fastest peer / ours, with the line where both are the same
#   rate:  operations or bytes per second, with a tick at what the machine can do
#   share: that as a part of the ceiling
#   tokens: the same as curves over the number in "<series>, <n> tokens"
#   time:  milliseconds
BENCHES = {
    "linalg_matmul": ("Products in fp32", "Square sizes, layers of GPT-2 and Llama, and products short in one extent. "
                      "The ceiling is that of fused multiply-adds in registers; the peer is the fastest right library "
                      "of the machine at its fastest core. `nt`, `tn`, `tt`: which operands lie transposed. "
                      "Rows, columns and depth: GPT-2 qkv 256, 2304, 768; proj 256, 768, 768; fc 256, 3072, 768; "
                      "out 256, 768, 3072; head 64, 50304, 768; Llama qo 128, 4096, 4096; up 128, 11008, 4096; down "
                      "128, 4096, 11008; tall64 4096, 64, 64; tall32 16384, 32, 256; long_k 64, 64, 4096; thin_k 2048, "
                      "2048, 16.",
                      ("ratio", "rate")),
    "linalg_matmul_types": ("Products of bf16 and of bytes", "bf16 into float, beside oneDNN and beside our own float; "
                            "bytes into 32-bit integers. One thread.", ("ratio", "rate")),
    "linalg_decode": ("Products of few rows", "Weights of 4096 x 4096 that no cache holds: bytes per second over what "
                      "can be read or computed, the lesser.", ("share",)),
    "linalg_grouped": ("Grouped products", "64 groups of 1024 x 1024, 8192 rows in equal groups or by Zipf's law, "
                       "beside one dense product of as many flops; then batches of small products.", ("ratio", "rate")),
    "linalg_order": ("What the orders of sums cost", "The same products with any order of sums, the repeatable one and "
                     "the elastic one: time of the first / that of the others. The picture has the most threads.",
                     ("ratio",)),
    "attention_forward": ("Attention forward", "Causal; flops of the visible half. The ceiling is our matmul at 1024 "
                          "cubed.", ("tokens",)),
    "attention_backward": ("Attention backward", "Causal; 2.5 times the flops of the forward pass.", ("tokens",)),
    "attention_decode": ("Decoding one token", "Bytes of K and V per second as a part of what the machine reads.",
                         ("share",)),
    "algorithm_reduce": ("Reduce", "", ("ratio",)),
    "algorithm_scan": ("Scan", "", ("ratio",)),
    "algorithm_transform": ("Transform", "a = b + s c over arrays that no cache holds.", ("ratio",)),
    "algorithm_sort": ("Sort", "Peers sort in place; the copy before is not timed.", ("ratio",)),
    "algorithm_histogram": ("Histogram", "256 bins.", ("ratio",)),
    "algorithm_partition_by_key": ("Partition by key", "A stable permutation by keys, beside loops written out for "
                                   "this machine.", ("ratio",)),
    "algorithm_top_k": ("Top k", "", ("ratio",)),
    "algorithm_fft": ("FFT", "Rates count 5 n log2 n operations.", ("ratio",)),
    "algorithm_sparse": ("Sparse products", "", ("ratio",)),
    "algorithm_kokkos": ("Beside Kokkos", "As it is installed: with its Serial device one thread of each.", ("ratio",)),
    "model_plain_o2": ("Built with -O2 alone", "The same source with -O2, beside -O3 -march=native.", ("ratio",)),
    "optim_rules": ("Update rules", "Bytes of the formula per second; the ceiling is a triad that runs between them.",
                    ("share",)),
    "tile_probe": ("Tile programs", "Beside code written by hand for AVX-512, and as a part of the peak.",
                   ("ratio", "rate")),
    "comm_threads": ("Ranks as threads", "Open MPI starts its ranks as processes.", ("ratio",)),
    "model_step": ("A training step", "GPT-2 with 124 million parameters, 256 tokens a step, one rank.", ("time",)),
}


def ratio(m):
    return min(m["peers"].values()) / m["ours_us"] if m["peers"] else None


def series_of(m, most_threads):
    """What a measurement is a bar of, and the row in which it stands; None where it only stands in the table."""
    if m["bench"] == "linalg_order":
        kind, shape = m["case"].split(" ", 1)
        return (kind, shape) if m["threads"] == most_threads else None
    return "1 thread" if m["threads"] == 1 else f"{m['threads']} threads", m["case"]


def value_of(m, kind):
    """Value and ceiling of a measurement in a chart, or None."""
    if kind == "ratio":
        return (ratio(m), None) if m["peers"] else None
    if kind == "time":
        return m["ours_us"] / 1e3, None
    if "rate" not in m or (kind != "rate" and "ceiling" not in m):
        return None
    return (m["rate"], m.get("ceiling")) if kind == "rate" else (m["rate"] / m["ceiling"], None)


def chart(title, kind, measures):
    """A picture of these measurements, or None where they have nothing for it."""
    if kind == "tokens":
        lines = {}
        for m in measures:
            match = re.fullmatch(r"(.*), (\d+) tokens", m["case"])
            if match and value_of(m, kind):
                lines.setdefault(match.group(1), {})[int(match.group(2))] = value_of(m, kind)[0]
        return curves(title, "tokens", "part of the rate of matmul", lines, 1) if lines else None
    rows = {}
    for m in measures:
        value, place = value_of(m, kind), series_of(m, max(other["threads"] for other in measures))
        if value and place:
            rows.setdefault(place[1], {})[place[0]] = value
    if not rows:
        return None
    unit = next((m["unit"] for m in measures if "unit" in m), "")
    name = {"ratio": "time of the fastest peer / ours (longer is better)", "rate": unit, "time": "ms",
            "share": "part of the ceiling"}[kind]
    return bars(title, name, rows, 1 if kind in ("ratio", "share") else None, 3 if kind == "ratio" else math.inf)


def duration(us):
    for unit, size in (("s", 1e6), ("ms", 1e3), ("µs", 1)):
        if us >= size or unit == "µs":
            value = us / size
            return f"{value:.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"


def table(measures):
    with_rate = any("rate" in m for m in measures)
    with_ceiling = any("ceiling" in m for m in measures)
    with_peers = any(m["peers"] for m in measures)
    columns = ["case", "threads", "ours"] + ["rate"] * with_rate + ["of the ceiling"] * with_ceiling
    columns += ["peers", "fastest peer / ours"] * with_peers
    rows = ["| " + " | ".join(columns) + " |", "|---" * len(columns) + "|"]
    for m in measures:
        cells = [m["case"], str(m["threads"]), duration(m["ours_us"])]
        cells += [f"{m['rate']:.3g} {m['unit']}" if "rate" in m else ""] * with_rate
        cells += [f"{m['rate'] / m['ceiling']:.2f}" if "ceiling" in m else ""] * with_ceiling
        if with_peers:
            cells += [", ".join(f"{name} {duration(us)}" for name, us in m["peers"].items()),
                      f"{ratio(m):.2f}" if m["peers"] else ""]
        rows.append("| " + " | ".join(cells) + " |")
    text = "\n".join(rows) + "\n"
    return text if len(rows) <= 18 else f"<details><summary>{len(rows) - 2} rows</summary>\n\n{text}\n</details>\n"


def geometric_mean(measures):
    ratios = [ratio(m) for m in measures if m["peers"]]
    if len(ratios) < 2:
        return ""
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    return f"Geometric mean of the ratios: {mean:.2f}, least {min(ratios):.2f}. "


def generated(where, measures):
    """Every file that follows from the results: path and text."""
    files = {}
    page = ["# Benchmarks", "", "Written by `cmake/checks/benchmarks.py` from `benchmarks.jsonl`, which "
            "`cmake -P cmake/evidence.cmake` keeps of what the programs of `benchmarks/` print. Times are medians of "
            "interleaved runs; peers are forced to their best and checked before they are timed. A ratio is the time "
            "of the fastest peer / ours: above 1 ours is faster. [evidence.md](evidence.md) has the goals.", "",
            f"Source: {where['commit']}. Machine: {where['processor']}, {where['cores']} cores. "
            f"Compiler: {where['compiler']}.{' ' + where['note'] if 'note' in where else ''}", ""]
    for bench, (title, text, kinds) in BENCHES.items():
        mine = [m for m in measures if m["bench"] == bench]
        if not mine:
            continue
        page += [f"## {title}", "", (geometric_mean(mine) + text).strip(), ""]
        for kind in kinds:
            picture = chart(title, kind, mine)
            if picture:
                path = f"{PICTURES}{bench}_{kind}.svg"
                files[path] = picture
                page += [f"![{title}: {kind}]({path[len('docs/'):]})", ""]
        page += [table(mine)]
    files[PAGE] = re.sub(r"\n{3,}", "\n\n", "\n".join(page)).rstrip() + "\n"
    return files


def main():
    lines = (ROOT / RESULTS).read_text().splitlines()
    where, measures = json.loads(lines[0]), [json.loads(line) for line in lines[1:]]
    for m in measures:
        if m["bench"] not in BENCHES:
            fail(RESULTS, 1, f"measures {m['bench']}, which cmake/checks/benchmarks.py does not know")
    files = generated(where, measures)
    for path, text in files.items():
        file = ROOT / path
        if not file.is_file() or file.read_text() != text:
            if "--write" in sys.argv:
                file.write_text(text)
            else:
                fail(path, 1, "isn't what follows from the results: run cmake/checks/benchmarks.py --write")
    for path in set(tracked(PICTURES + "*.svg")) - set(files):
        if "--write" in sys.argv:
            (ROOT / path).unlink()
        else:
            fail(path, 1, "follows from no result: run cmake/checks/benchmarks.py --write")
    finish("benchmarks", len(files))


if __name__ == "__main__":
    main()
