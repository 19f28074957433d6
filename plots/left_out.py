#!/usr/bin/env python3
"""How well published figures are met by constants that were fitted to all other figures. published.md explains the method.

    left_out.py [-d DSGD] [-o DIR] [-j N] [FIGURE...]       DSGD: the program [dsgd]; FIGURE: [every folder with a published.csv]

Runs `dsgd reproduce FIGURE --set CONSTANT=VALUE` for each constant of constants.csv, fits the constants, and runs each figure again.
Prints three tables in Markdown: the fits, the points that depend on a fitted constant, and their errors by class.
DIR has the results [results/left-out]; the same command again takes up what was done before.
"""
import argparse
import csv
import json
import math
import pathlib
import statistics
import subprocess
import sys

MOVED = 0.1  # by how much a constant is moved for its slope
LEAST_DEVIATION = 0.05  # of a point that is known exactly: about the program's own error
HUBER = 1.5  # deviations beyond which a point pulls no harder
LEAST_SLOPE = 0.005  # a point with a smaller slope does not depend on the constant
FIXED = "quantity published uncertainty relation over use class source beyond simulated error".split()

plots = pathlib.Path(__file__).resolve().parent
parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("-d", "--dsgd", default="dsgd")
parser.add_argument("-o", "--output", default="results/left-out", type=pathlib.Path)
parser.add_argument("-j", "--jobs", default="1")
parser.add_argument("-p", "--plots", default=plots, type=pathlib.Path, help="the folder of the figures [the script's]")
parser.add_argument("figures", nargs="*", metavar="FIGURE")
a = parser.parse_args()
figures = a.figures or sorted(p.parent.name for p in a.plots.glob("*/published.csv"))


def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def reproduce(figure, values):
    """The published rows of a figure, simulated with other values of constants, and the folder of its results."""
    folder = a.output / ("shipped" if not values else ",".join(f"{key.split('.')[1]}={x:.6g}" for key, x in sorted(values.items())))
    sets = [f"--set={key}={x:.6g}" for key, x in values.items()]
    command = [a.dsgd, "reproduce", figure, "-o", folder, "-j", a.jobs, "--markdown", *sets]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return read(folder / figure / f"{figure}.csv"), folder / figure


def log_error(row):
    return math.log1p(float(row["error"])) if row["error"] else math.nan


class Point:
    def __init__(self, figure, index, row):
        self.figure, self.index, self.row = figure, index, row
        self.error = log_error(row)
        published = float(row["published"])
        rest = published - float(row.get("beyond") or 0)
        self.deviation = math.hypot(LEAST_DEVIATION, float(row["uncertainty"]) * published / rest)
        self.slopes = {}  # by constant: of the error by the logarithm of the constant


points, shipped, allowed = [], {}, {}  # of a constant (of, key): its shipped value, and its range as logarithms
constants_of = {}
for figure in figures:
    rows, folder = reproduce(figure, {})
    own = [Point(figure, i, row) for i, row in enumerate(rows) if row["error"]]
    run = read(folder / "runs.csv")[0]
    configuration = json.load(open(folder / "manifest.json", encoding="utf-8"))["runs"][0]
    constants_of[figure] = []
    for line in read(a.plots / "constants.csv"):
        constant = (line["of"], line["key"])
        where, name = line["key"].split(".")
        if not own or run[where] != line["of"]:
            continue
        value = configuration[where].get(name)
        if not isinstance(value, (int, float)) or not float(line["low"]) <= value <= float(line["high"]) or value <= 0:
            sys.exit(f"constants.csv: {line['key']} is {value} in figure {figure}, but must be a number from low to high, above 0")
        shipped[constant] = value
        allowed[constant] = [math.log(float(line[end]) / value) for end in ("low", "high")]
        constants_of[figure].append(constant)
        again, _ = reproduce(figure, {line["key"]: value * (1 + MOVED)})
        for p in own:
            slope = (log_error(again[p.index]) - p.error) / math.log1p(MOVED)
            p.slopes[constant] = slope if math.isfinite(slope) else 0
    points += own


def fit(without):
    """Logarithms of the fitted over the shipped constants, a constant at a time; half a range is the shipped value's deviation."""
    logs = dict.fromkeys(shipped, 0.0)
    others = [p for p in points if p.figure != without]
    for _ in range(1000):
        before = dict(logs)
        for c in logs:
            prior = 4 / (allowed[c][1] - allowed[c][0]) ** 2
            told = pull = 0.0
            for p in others:
                slope = p.slopes.get(c, 0)
                rest = p.error + sum(s * logs[d] for d, s in p.slopes.items())
                weight = 1 / (max(1, abs(rest) / (HUBER * p.deviation)) * p.deviation**2)
                told += weight * slope**2
                pull -= weight * slope * (rest - slope * logs[c])
            logs[c] = min(allowed[c][1], max(allowed[c][0], pull / (told + prior))) if told >= prior else 0
        if logs == before:
            break
    return {c: x for c, x in logs.items() if x != 0}


def table(*rows):
    print()
    for i, row in enumerate(rows):
        print("|", " | ".join(map(str, row)), "|")
        if i == 0:
            print("|", " | ".join("---" for _ in row), "|")


def name_of(row):
    keys = [(key, value) for key, value in row.items() if key not in FIXED and value]
    return ", ".join(value if key == "algorithm" else f"{key.split('.')[-1]} {value}" for key, value in keys)


fits, moved = [], []
for figure in figures:
    own = [p for p in points if p.figure == figure]
    logs = fit(figure)
    uses = constants_of[figure]
    again, _ = reproduce(figure, {c[1]: shipped[c] * math.exp(logs[c]) for c in uses if c in logs})
    for c in uses:
        steepest = max((abs(p.slopes[c]) for p in own), default=0)
        if steepest >= LEAST_SLOPE:
            fitted = f"{shipped[c] * math.exp(logs[c]):.3g}" if c in logs else "no other figure tells"
            fits.append((figure, c[1].split(".")[1], f"{shipped[c]:.3g}", fitted, f"{steepest:.2g}"))
    moved += [(p, float(again[p.index]["error"])) for p in own if any(c in logs and abs(p.slopes[c]) >= LEAST_SLOPE for c in uses)]

table(("left out", "constant", "shipped", "fitted", "largest slope"), *fits)
percent = "{:+.1f}".format
table(("figure", "point", "error (%)", "error with the fitted constants (%)"),
      *((p.figure, name_of(p.row), percent(100 * float(p.row["error"])), percent(100 * error)) for p, error in moved))
classes = []
for name in dict.fromkeys(p.row["class"] for p in points):
    errors = [abs(error) for p, error in moved if p.row["class"] == name]
    n = sum(p.row["class"] == name for p in points)
    if errors:
        within = sum(error <= 0.15 for error in errors)
        classes.append((name, n, len(errors), percent(100 * statistics.median(errors))[1:],
                        f"{within} ({100 * within / len(errors):.0f} %)", percent(100 * max(errors))[1:]))
table(("class", "points", "that depend on a fitted constant", "median error (%)", "within 15 %", "worst (%)"), *classes)
