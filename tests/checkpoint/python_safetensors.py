#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exchanges files with Python's safetensors package: `python_safetensors.py PEER`, PEER built from peer/.

Exit status 77 where the package is not installed, which ctest calls skipped.
"""
import json
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
    from safetensors import safe_open
    from safetensors.numpy import load_file, save_file
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)


def peer(*arguments, good=True):
    done = subprocess.run([sys.argv[1], *arguments], capture_output=True, text=True, timeout=60)
    assert (done.returncode == 0) == good, done.stderr
    return done.stdout if good else done.stderr


def they_read_ours(folder):
    path = os.path.join(folder, "ours.safetensors")
    peer("write", path)
    got = load_file(path)
    want = {
        "f": np.array([[0, 1, 2], [-3, 4.5, 1e-30]], np.float32),
        "d": np.array([1 / 3, -0.0], np.float64),
        "i": np.array([-1, 0, 1 << 62], np.int64),
        "u": np.array([0, 127, 255], np.uint8),
        "b": np.array([True, False]),
        "scalar": np.array(7, np.float32),
        "empty": np.zeros((2, 0), np.float32),
    }
    assert got.keys() == want.keys(), got.keys()
    for name, array in want.items():
        assert got[name].dtype == array.dtype and got[name].shape == array.shape, name
        assert got[name].tobytes() == array.tobytes(), name
    with safe_open(path, "np") as f:
        assert f.metadata()["note"] == 'written by heddle: "\u20ac"'


def we_read_theirs(folder):
    path = os.path.join(folder, "theirs.safetensors")
    random = np.random.default_rng(1)
    arrays = {"scalar": np.array(7, np.float32), "empty": np.zeros((3, 0, 2), np.float16)}
    arrays["\u00e9 \"x\""] = np.ones(1, bool)
    for kind in ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
                 "uint64"):
        arrays[kind] = (random.random((3, 5)) * 100).astype(kind)
    save_file(arrays, path, metadata={"who": "python"})
    names = {"float": "F", "int": "I", "uint": "U", "bool": "BOOL"}
    lines = peer("list", path).splitlines()
    assert len(lines) == len(arrays), lines
    for line in lines:
        head, _, data = line.rpartition("] ")
        head, _, shape = head.rpartition(" [")
        name, _, kind = head.rpartition(" ")
        array = arrays[name]
        stem = array.dtype.name.rstrip("0123456789")
        assert kind == names[stem] + array.dtype.name[len(stem):], (name, kind)
        assert [int(n) for n in shape.split()] == list(array.shape), (name, shape)
        assert bytes.fromhex(data) == array.tobytes(), name


def both_refuse_the_same(folder):
    whole = os.path.join(folder, "whole.safetensors")
    save_file({"a": np.arange(4, dtype=np.float32)}, whole)
    raw = open(whole, "rb").read()
    entry = {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]}
    headers = [
        {"a": {**entry, "data_offsets": [0, 5]}}, {"a": {**entry, "shape": [5]}}, {"a": {**entry, "dtype": "U9"}},
        {"a": {**entry, "data_offsets": [1, 5]}}, {"a": entry, "b": entry}, {"a": {"dtype": "U8"}}, {"a": 1},
        {"a": {**entry, "shape": [2**62, 8]}}, {"a": entry, "e": {**entry, "shape": [0], "data_offsets": [2, 2]}},
        {"__metadata__": {"k": 1}, "a": entry},
    ]
    bad = [raw[:n] for n in (0, 7, 8, 20, len(raw) - 1)] + [raw + b"x", b"\xff" * 8 + raw[8:]]
    for header in headers:
        text = json.dumps(header).encode()
        bad.append(len(text).to_bytes(8, "little") + text + b"abcd")
    for number, content in enumerate(bad):
        path = os.path.join(folder, f"bad{number}")
        with open(path, "wb") as f:
            f.write(content)
        try:
            load_file(path)
        except Exception:
            assert path in peer("list", path, good=False), number
        else:
            raise AssertionError(f"python accepts {number}")


def they_read_a_sharded_save(folder):
    root = os.path.join(folder, "out")
    save = os.path.join(root, peer("save", root).strip())
    parts = [load_file(os.path.join(save, f"rank-{rank:05}.safetensors")) for rank in (0, 1)]
    want = np.arange(15, dtype=np.float32).reshape(5, 3)
    assert (parts[0]["whole"] == want).all()
    assert (np.concatenate([parts[0]["w[0:3,0:3]"], parts[1]["w[3:5,0:3]"]]) == want).all()
    with safe_open(os.path.join(save, "rank-00001.safetensors"), "np") as f:
        assert json.loads(f.metadata()["heddle.boxes"])[0]["lo"] == [3, 0]
    assert json.load(open(os.path.join(save, "manifest.json")))["step"] == 3


with tempfile.TemporaryDirectory() as scratch:
    for part in (they_read_ours, we_read_theirs, both_refuse_the_same, they_read_a_sharded_save):
        part(scratch)
        print(f"{part.__name__}: good")
