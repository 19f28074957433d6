#!/usr/bin/env python3
"""One step of gossip by all workers, on the value store and as a NumPy loop.

numpy_gossip.py BENCH [WORKERS] [THREADS] [HIDDEN] [BATCH], BENCH being dsgd_bench_values. Each worker takes a gradient of its own
perceptron on Fashion-MNIST, updates it with momentum 0.9, and averages it with a neighbour; both sides compute in float32. The
loop is what one writes first: a list of models, matrix products by NumPy's BLAS (one thread). It may keep the images normalised,
which the store does at every gradient. Checks the loop's gradient by finite differences, then lets the two take turns and prints
medians and the ratio of each turn. Needs Debian's python3-numpy.
"""
import gzip
import os
import re
import statistics
import subprocess
import sys
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"
import numpy as np

DATA = "/usr/share/datasets/fashion-mnist/"
TURNS, STEPS, CLASSES, MOMENTUM, LR = 5, 4, 10, 0.9, 0.01


def load():
    with gzip.open(DATA + "train-images-idx3-ubyte.gz") as file:
        images = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 784)
    with gzip.open(DATA + "train-labels-idx1-ubyte.gz") as file:
        labels = np.frombuffer(file.read(), np.uint8, offset=8)
    x = images.astype(np.float32) / 255
    return (x - x.mean()) / x.std(), labels


def initial(hidden, seed, dtype=np.float32):
    draw = np.random.default_rng(seed)
    model = [draw.normal(0, 784**-0.5, (784, hidden)), np.zeros(hidden),
             draw.normal(0, hidden**-0.5, (hidden, CLASSES)), np.zeros(CLASSES)]
    return [p.astype(dtype) for p in model]


def loss_and_gradient(model, x, labels):
    w1, b1, w2, b2 = model
    a = np.maximum(x @ w1 + b1, 0)
    z = a @ w2 + b2
    z = z - z.max(axis=1, keepdims=True)
    p = np.exp(z)
    p /= p.sum(axis=1, keepdims=True)
    rows = np.arange(len(labels))
    loss = -np.log(p[rows, labels]).mean()
    p[rows, labels] -= 1
    p /= len(labels)
    da = (p @ w2.T) * (a > 0)
    return loss, [x.T @ da, da.sum(axis=0), a.T @ p, p.sum(axis=0)]


def check(x, labels, hidden, batch):
    model = initial(hidden, 0, np.float64)
    x, labels = x[:batch].astype(np.float64), labels[:batch]
    gradient = loss_and_gradient(model, x, labels)[1]
    for p, g in zip(model, gradient):
        i = np.unravel_index(np.abs(g).argmax(), g.shape)
        kept, h = p[i], 1e-5
        p[i] = kept + h
        above = loss_and_gradient(model, x, labels)[0]
        p[i] = kept - h
        below = loss_and_gradient(model, x, labels)[0]
        p[i] = kept
        assert abs((above - below) / (2 * h) - g[i]) < 1e-6 * abs(g[i]) + 1e-8, "the gradient is wrong"


def step(models, velocities, x, labels, order, batch, t):
    n = len(models)
    for w in range(n):
        first = (t * n + w) * batch % (len(order) - batch)
        mine = order[first:first + batch]
        gradient = loss_and_gradient(models[w], x[mine], labels[mine])[1]
        for p, v, g in zip(models[w], velocities[w], gradient):
            v *= MOMENTUM
            v += g
            p -= LR * v
    for w in range(0, n, 2):
        a, b = (w, w + 1) if t % 2 == 0 else (w + 1, (w + 2) % n)
        for p, q in zip(models[a], models[b]):
            p[...] = (p + q) / 2
            q[...] = p


def main():
    bench = sys.argv[1]
    n, threads, hidden, batch = [int(a) for a in sys.argv[2:] + ["1024", "1", "9", "8"][len(sys.argv) - 2:]]
    x, labels = load()
    check(x, labels, hidden, batch)
    models = [initial(hidden, 1) for _ in range(n)]
    velocities = [[np.zeros_like(p) for p in model] for model in models]
    order = np.random.default_rng(2).permutation(len(labels))
    loops, stores = [], []
    for turn in range(TURNS + 1):
        start = time.perf_counter()
        for t in range(STEPS):
            step(models, velocities, x, labels, order, batch, turn * STEPS + t)
        loop = 1e6 * (time.perf_counter() - start) / STEPS / n
        text = subprocess.run([bench, str(n), str(threads), "pairs", str(hidden), str(batch)], check=True,
                              capture_output=True, text=True).stdout
        store = float(re.search(r"median ([0-9.]+) us", text).group(1))
        if turn > 0:  # the first warms up
            loops.append(loop)
            stores.append(store)
    assert all(np.isfinite(p).all() for model in models for p in model)
    ratios = [a / b for a, b in zip(loops, stores)]
    print(f"{n} workers, hidden {hidden}, batch {batch}: NumPy {np.__version__} {statistics.median(loops):.1f} us, "
          f"store {statistics.median(stores):.1f} us ({threads} computing threads and the caller) per worker and step; "
          f"{statistics.median(ratios):.1f} x ({min(ratios):.1f} to {max(ratios):.1f})")


main()
