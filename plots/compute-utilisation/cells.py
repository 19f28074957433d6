#!/usr/bin/env python3
"""Bandwidths at which compute utilisation reaches a share, of a results folder, beside table-4.csv.

    cells.py FOLDER     a row per workload and algorithm, Gb/s: the last value of the grid below the
                        share, the first that reaches it, and what was published, where it was
"""
import csv
import os
import sys

SHARES = (0.5, 0.8, 0.9, 0.95, 0.99)
BANDWIDTH = "platform.host_bandwidth_bytes_per_s"


def rows_of(path):
    with open(path, newline="") as stream:
        yield from csv.DictReader(line for line in stream if not line.startswith("#"))


def curves(folder):
    """{(workload, algorithm): [(Gb/s, utilisation)]}, by bandwidth."""
    found = {}
    for row in rows_of(os.path.join(folder, "runs.csv")):
        point = float(row[BANDWIDTH]) * 8e-9, float(row["compute_share"])
        found.setdefault((row["workload"], row["algorithm"]), []).append(point)
    return {key: sorted(points) for key, points in found.items()}


def cell(points, share):
    """The last bandwidth below the share, and the first at which it is reached."""
    reached = [i for i, (_, utilisation) in enumerate(points) if utilisation >= share]
    if not reached:
        return points[-1][0], float("inf")
    first = reached[0]
    return points[max(first - 1, 0)][0], points[first][0]


def same(a, b):
    """To the digits that are printed; a step of the grid is 1.207."""
    return abs(a / b - 1) < 0.05


def main(folder):
    here = os.path.dirname(os.path.abspath(__file__))
    published = {(row["workload"], row["algorithm"]): [float(row[f"share_{s:g}"]) for s in SHARES]
                 for row in rows_of(os.path.join(here, "table-4.csv"))}
    n = n_below = n_first = 0
    print("| workload | algorithm | " + " | ".join(f"{s:.0%}" for s in SHARES) + " |")
    print("|---" * (2 + len(SHARES)) + "|")
    for (workload, algorithm), points in curves(folder).items():
        texts = []
        known = published.get((workload, algorithm))
        for k, share in enumerate(SHARES):
            below, first = cell(points, share)
            text = f"{below:.4g} < {first:.4g}"
            if known:
                n += 1
                n_below += same(below, known[k])
                n_first += same(first, known[k])
                text += f" ({known[k]:g})"
            texts.append(text)
        print(f"| {workload.removeprefix('workloads/').removesuffix('.yaml')} | {algorithm} | " + " | ".join(texts) + " |")
    if n > 0:
        print(f"\nof {n} published cells {n_below} are the last value below the share, {n_first} the "
              "first that reaches it")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
