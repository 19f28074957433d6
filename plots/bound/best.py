#!/usr/bin/env python3
"""Steps per worker until LOSS, at the best learning rate, of the results of `dsgd run`, and how many times as few as with one worker.

    best.py DIR LOSS [LOSS...]        a loss for each data set, in the order of the experiment; the last is of all others

Prints a table, and writes DIR/best.csv: columns place (of the data set, from 0), algorithm, workers, lr, steps, speedup; a cell is
empty where a seed never reaches LOSS at any rate. Steps are interpolated between evaluations, mean over seeds.
"""
import csv
import sys

FOLDER, losses = sys.argv[1], [float(x) for x in sys.argv[2:]]


def rows(name):
    with open(f"{FOLDER}/{name}", newline="") as file:
        yield from csv.DictReader(file)


data = list(dict.fromkeys(row["learn.data"] for row in rows("runs.csv")))
loss_of = {d: losses[min(i, len(losses) - 1)] for i, d in enumerate(data)}
cell_of, n_seeds, reached, before = {}, {}, {}, {}
for row in rows("runs.csv"):
    cell = (row["learn.data"], row["algorithm"], int(row["workers"]), float(row["learn.optimizer.lr"]))
    cell_of[row["run"]] = cell
    n_seeds[cell] = n_seeds.get(cell, 0) + 1
for row in rows("curves.csv"):
    run, step, loss = row["run"], float(row["steps"]), float(row["loss"])
    wanted = loss_of[row["learn.data"]]
    if loss <= wanted and run not in reached:
        at, last = before.get(run, (step, loss))
        reached[run] = step if last <= loss else at + (step - at) * (last - wanted) / (last - loss)
    before[run] = (step, loss)

steps = {}
for run, step in reached.items():
    steps.setdefault(cell_of[run], []).append(step)
best = {}  # of (data, algorithm, workers): mean steps, rate
for cell, found in steps.items():
    mean = sum(found) / len(found)
    if len(found) == n_seeds[cell] and mean < best.get(cell[:3], (float("inf"),))[0]:
        best[cell[:3]] = (mean, cell[3])

places = sorted({cell[:3] for cell in n_seeds}, key=lambda c: (data.index(c[0]), c[1], c[2]))
with open(f"{FOLDER}/best.csv", "w", newline="") as file:
    table = csv.writer(file, lineterminator="\n")
    table.writerow(["place", "algorithm", "workers", "lr", "steps", "speedup"])
    for d, algorithm, workers in places:
        mean, lr = best.get((d, algorithm, workers), (None, None))
        one = best.get((d, algorithm, 1), (None,))[0]
        row = [lr, mean, one / mean if mean and one else None]
        table.writerow([data.index(d), algorithm, workers] + ["" if x is None else f"{x:.4g}" for x in row])
        print(f"{data.index(d)} {algorithm:14} {workers:4} " + " ".join("      -" if x is None else f"{x:7.4g}" for x in row))
