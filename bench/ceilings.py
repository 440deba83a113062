#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a GPU reaches at best, by PyTorch: the rate of a copy, of a large product and of a batch of products of the size that a row
of ALS has, as rows of a Markdown table.

    bench/ceilings.py [--factors F] [--small]

A copy counts the bytes read and written; products a multiply-add as two. Medians of seven rounds after two, with the least and the most.
"""
import argparse
import statistics
import sys

ROUNDS, WARM_UP = 7, 2


def rates(amount, work):
    """Of each round: `amount` a second."""
    import torch  # pylint: disable=import-outside-toplevel
    found = []
    for turn in range(ROUNDS + WARM_UP):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        work()
        end.record()
        torch.cuda.synchronize()
        if turn >= WARM_UP:
            found.append(amount / begin.elapsed_time(end) * 1e3)
    return found


def copies(torch, size):
    source = torch.empty(size, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    return rates(2 * size, lambda: target.copy_(source))


def products(torch, kind, batch, rows, inner):
    a = torch.randn(batch, rows, inner, device="cuda", dtype=kind)
    b = torch.randn(batch, inner, rows, device="cuda", dtype=kind)
    return rates(2 * batch * rows * rows * inner, lambda: torch.bmm(a, b))


def ceilings(factors, small):
    """[(what, unit, rates)]"""
    import torch  # pylint: disable=import-outside-toplevel
    large, batch = (512, 64) if small else (8192, 8192)
    found = [("copy", "GB/s", [x * 1e-9 for x in copies(torch, (1 << 24) if small else (1 << 31))])]
    for kind in (torch.float16, torch.float32):
        name = str(kind).removeprefix("torch.")
        for what, shape in ((f"product {large}^3, {name}", (1, large, large)),
                            (f"{batch} products {factors} x 256 x {factors}, {name}", (batch, factors, 256))):
            found.append((what, "TFLOP/s", [x * 1e-12 for x in products(torch, kind, *shape)]))
    return found


def print_table(found):
    print("| ceiling | rate | |\n|---|---:|---|")
    for what, unit, some in found:
        print(f"| {what} | {statistics.median(some):.1f} ({min(some):.1f} - {max(some):.1f}) | {unit} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--factors", type=int, default=100)
    parser.add_argument("--small", action="store_true")
    args = parser.parse_args()
    try:
        print_table(ceilings(args.factors, args.small))
    except ImportError:
        sys.exit("ceilings: no PyTorch")


if __name__ == "__main__":
    main()
