#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Operations, bytes and time of every kernel of a program, by Nsight Compute's counters, as a Markdown table and a roofline.

    bench/roofline.py [--least SHARE] [--plot FILE.svg] [--ceilings] NAME=COMMAND ...

COMMAND is one word, split as a shell would. Operations are those of the tensor cores and of float32 units (a multiply-add is two),
bytes those that the memory moved. A kernel with less than SHARE (0.02) of the time of a command's kernels is left out. --ceilings
measures copies and products first, with PyTorch, and draws the roof by them. Counters replay each launch, and the clocks are left as
they are, so times differ a little from those of a run without.
"""
import argparse
import collections
import csv
import pathlib
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile

import ceilings

TIME, MEMORY, CACHE = "gpu__time_duration.sum", "dram__bytes.sum", "lts__t_bytes.sum"
FLOAT = {f"smsp__sass_thread_inst_executed_op_{name}_pred_on.sum": times for name, times in (("ffma", 2), ("fadd", 1), ("fmul", 1))}
# Of Hopper, and of Ampere.
TENSOR = re.compile(r"sm__ops_path_tensor_(op_h?g?mma_)?src_(fp16|fp16_dst_fp32|bf16_dst_fp32|tf32_dst_fp32)$")
COLOURS = ("#2166ac", "#b2182b", "#1b7837", "#762a83", "#e08214")
LIMIT_S = 240


def tensor_metrics():
    """Those that this GPU has; of two names for the same operations the one that holds the other."""
    told = subprocess.run(["ncu", "--query-metrics"], capture_output=True, text=True, check=False, timeout=LIMIT_S).stdout
    names = {line.split()[0] for line in told.splitlines() if line.strip()}
    found = {name for name in names if TENSOR.match(name)}
    if not found:
        sys.exit("roofline: ncu names no counter of tensor operations for this GPU")
    return sorted(f"{name}.sum" for name in found if name.removesuffix("_dst_fp32") == name or name.removesuffix("_dst_fp32") not in found)


def profile(command, tensor):
    """A row of numbers by name for every launch."""
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "ncu.csv"
        metrics = ",".join([TIME, MEMORY, CACHE, *FLOAT, *tensor])
        done = subprocess.run(["ncu", "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none", "--metrics", metrics,
                               "--log-file", log, *shlex.split(command)], capture_output=True, text=True, check=False, timeout=LIMIT_S)
        text = log.read_text(errors="replace") if log.exists() else ""
    lines = [line for line in text.splitlines() if line.startswith('"')]
    if done.returncode != 0 or len(lines) < 3:
        told = (text + done.stderr).strip().splitlines()
        sys.exit(f"roofline: {command}: {told[-1] if told else 'ncu said nothing'}")
    rows = list(csv.DictReader(lines))
    return rows[1:]  # behind the units


def number(row, name):
    text = row.get(name, "").replace(",", "")
    try:
        return float(text)
    except ValueError:
        return 0.0


def short(name):
    """"void likewise::cuda::f<(int)8, true>(...)" is "f<8, true>"."""
    name = re.sub(r"\(anonymous namespace\)::|<?unnamed>::|\b(likewise|cuda|cub|detail)::|\((int|bool|unsigned int)\)|^void ", "", name)
    depth = 0
    for at, sign in enumerate(name):
        depth += (sign == "<") - (sign == ">")
        if sign == "(" and depth == 0:
            name = name[:at]
            break
    return name if len(name) < 60 else name[:57] + "..."


Point = collections.namedtuple("Point", "work kernel launches seconds operations memory cache")


def points_of(work, rows, tensor, least):
    sums = collections.defaultdict(lambda: [0, 0.0, 0.0, 0.0, 0.0])
    for row in rows:
        operations = sum(number(row, name) * times for name, times in FLOAT.items()) + sum(number(row, name) for name in tensor)
        one = sums[short(row["Kernel Name"])]
        for at, value in enumerate((1, number(row, TIME) * 1e-9, operations, number(row, MEMORY), number(row, CACHE))):
            one[at] += value
    whole = sum(one[1] for one in sums.values())
    points = [Point(work, kernel, *one) for kernel, one in sums.items() if one[1] >= least * whole]
    return sorted(points, key=lambda point: -point.seconds)


def print_points(points):
    print("| work | kernel | launches | ms | GFLOP | memory, GB | FLOP a byte | TFLOP/s | memory, GB/s | L2, GB/s |")
    print("|---|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for p in points:
        print(f"| {p.work} | `{p.kernel}` | {p.launches} | {p.seconds * 1e3:.2f} | {p.operations * 1e-9:.1f} | {p.memory * 1e-9:.2f} | "
              f"{p.operations / max(p.memory, 1.0):.1f} | {p.operations / p.seconds * 1e-12:.2f} | {p.memory / p.seconds * 1e-9:.0f} | "
              f"{p.cache / p.seconds * 1e-9:.0f} |")


def roof_of(found):
    """(bytes a second, operations a second); of the H100's data sheet where nothing was measured."""
    if not found:
        return 3.35e12, 989e12
    copy, product = (statistics.median(found[at][2]) for at in (0, 1))
    return copy * 1e9, product * 1e12


def draw(points, roof, file):
    """Logarithms of operations a byte, 0.01 to 10,000, and of operations a second, 0.01 to 1,000 T; what has fewer is left out."""
    import math  # pylint: disable=import-outside-toplevel

    def place(intensity, rate):
        x = 70 + 110 * (math.log10(min(intensity, 1e4)) + 2)
        return x, 430 - 80 * (math.log10(min(rate * 1e-12, 1e3)) + 2)
    bandwidth, peak = roof
    works = list(dict.fromkeys(point.work for point in points))
    parts = ['<svg xmlns="http://www.w3.org/2000/svg" width="960" height="480" font-family="sans-serif" font-size="13">',
             '<rect width="960" height="480" fill="#fff"/>']
    for power in range(-2, 5):
        x, y = place(10.0 ** power, 1e10)
        parts.append(f'<path d="M{x:.0f} 30v{y - 30:.0f}" stroke="#ddd"/><text x="{x:.0f}" y="450" text-anchor="middle">{10.0 ** power:g}</text>')
    for power in range(-2, 4):
        x, y = place(0.01, 1e12 * 10.0 ** power)
        parts.append(f'<path d="M{x:.0f} {y:.0f}h660" stroke="#ddd"/><text x="62" y="{y + 4:.0f}" text-anchor="end">{10.0 ** power:g}</text>')
    parts.append('<text x="400" y="472" text-anchor="middle">operations a byte of memory</text><text x="70" y="20">TFLOP/s</text>')
    corners = [place(i, min(i * bandwidth, peak)) for i in (0.01, peak / bandwidth, 1e4)]
    parts.append(f'<polyline points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in corners)}" fill="none" stroke="#000"/>')
    for point in points:
        if point.operations < max(0.01 * point.memory, 1e10 * point.seconds):
            continue
        x, y = place(point.operations / max(point.memory, 1.0), point.operations / point.seconds)
        colour = COLOURS[works.index(point.work) % len(COLOURS)]
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"><title>{point.kernel.replace("&", "&amp;").replace("<", "&lt;")}'
                     f'</title></circle>')
    for at, work in enumerate(works):
        parts.append(f'<circle cx="750" cy="{60 + 22 * at}" r="4" fill="{COLOURS[at % len(COLOURS)]}"/><text x="762" y="{64 + 22 * at}">{work}</text>')
    pathlib.Path(file).write_text("\n".join([*parts, "</svg>", ""]), encoding="utf-8")


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("works", nargs="+", metavar="NAME=COMMAND")
    parser.add_argument("--least", type=float, default=0.02, metavar="SHARE")
    parser.add_argument("--plot", metavar="FILE.svg")
    parser.add_argument("--ceilings", action="store_true")
    args = parser.parse_args()
    if wrong := [work for work in args.works if "=" not in work]:
        parser.error(f"'{wrong[0]}' is not NAME=COMMAND")
    return args


def main():
    args = read_arguments()
    if not shutil.which("ncu"):
        sys.exit("roofline: no ncu (Nsight Compute)")
    found = ceilings.ceilings(100, small=False) if args.ceilings else []
    if found:
        ceilings.print_table(found)
        print()
    tensor = tensor_metrics()
    points = []
    for work in args.works:
        name, command = work.split("=", 1)
        points += points_of(name, profile(command, tensor), tensor, args.least)
    print_points(points)
    if args.plot:
        draw(points, roof_of(found), args.plot)


if __name__ == "__main__":
    main()
