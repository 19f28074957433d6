#!/usr/bin/env python3
"""One step of gossip by all workers, on the device's operations or the value store, and as batched PyTorch.

torch_replicas.py cuda DSGD_BENCH_CUDA [WORKERS]     mlp and cnn, on the GPU
torch_replicas.py cpu DSGD_BENCH_VALUES [WORKERS]    mlp, on both cores

All workers' models are stacked in tensors: torch.baddbmm for dense layers, grouped convolutions, gradients by autograd, momentum 0.9, then
the mean with the next worker, in float32 without TF32. The images are noise; both sides normalise them at every gradient. Checks a stacked
gradient against that of the network alone, then lets the two take turns and prints medians and the ratio of each turn.
"""
import os
import re
import statistics
import subprocess
import sys
import time

import torch
import torch.nn.functional as F

TURNS, STEPS, CLASSES, MOMENTUM, LR, BATCH, TRAIN, WIDTH = 5, 4, 10, 0.9, 0.01, 16, 4096, 28
torch.set_num_threads(os.cpu_count())
torch.backends.cuda.matmul.allow_tf32 = False
torch.backends.cudnn.allow_tf32 = False


def stacked(n, device, *shapes):
    draw = torch.Generator().manual_seed(1)
    one = [torch.randn(s, generator=draw) * (s[0] if len(s) < 3 else s[1] * 9) ** -0.5 for s in shapes]
    return [p.to(device).repeat(n, *[1] * p.dim()).requires_grad_() for p in one]


def mlp_new(n, device, hidden=32):
    return stacked(n, device, (WIDTH * WIDTH, hidden), (hidden,), (hidden, CLASSES), (CLASSES,))


def mlp_loss(p, x, labels):
    """x [n, batch, pixels]: the sum over the workers of their mean losses."""
    a = torch.baddbmm(p[1][:, None], x, p[0]).relu()
    z = torch.baddbmm(p[3][:, None], a, p[2])
    return F.cross_entropy(z.flatten(0, 1), labels.flatten(), reduction="sum") / labels.shape[1]


def cnn_new(n, device):
    return stacked(n, device, (8, 1, 3, 3), (8,), (16, 8, 3, 3), (16,), (784, 32), (32,), (32, CLASSES), (CLASSES,))


def cnn_loss(p, x, labels):
    n, batch = labels.shape
    y = x.view(n, batch, WIDTH, WIDTH).transpose(0, 1)
    for weights, biases in ((p[0], p[1]), (p[2], p[3])):
        y = F.conv2d(y, weights.flatten(0, 1), biases.flatten(), padding=1, groups=n).relu()
        y = F.max_pool2d(y, 2)
    return mlp_loss(p[4:], y.reshape(batch, n, 784).transpose(0, 1), labels)


def check(new, loss, images, labels, device):
    """The second of three stacked workers, against itself alone."""
    p = new(3, device)
    with torch.no_grad():
        for q in p:
            q.mul_(torch.tensor([1.0, 0.8, 1.2], device=device).view(3, *[1] * (q.dim() - 1)))
    alone = [q[1:2].detach().clone().requires_grad_() for q in p]
    both = torch.autograd.grad(loss(p, images, labels), p)
    one = torch.autograd.grad(loss(alone, images[1:2], labels[1:2]), alone)
    for a, b in zip(both, one):
        assert (a[1] - b[0]).norm() <= 1e-4 * b.norm(), "a stacked gradient is wrong"


class Team:
    def __init__(self, new, loss, n, device):
        draw = torch.Generator().manual_seed(3)
        self.images = torch.randint(0, 256, (TRAIN, WIDTH * WIDTH), dtype=torch.uint8, generator=draw).to(device)
        self.labels = torch.randint(0, CLASSES, (TRAIN,), generator=draw).to(device)
        self.order = (torch.arange(n * BATCH) % TRAIN).view(n, BATCH).to(device)
        self.loss, self.device = loss, device
        self.p = new(n, device)
        self.v = [torch.zeros_like(q) for q in self.p]
        check(new, loss, self.batch()[:3], self.labels[self.order][:3], device)

    def batch(self):
        return (self.images[self.order].float() / 255 - 0.5) / 0.3

    def step(self):
        gradient = torch.autograd.grad(self.loss(self.p, self.batch(), self.labels[self.order]), self.p)
        with torch.no_grad():
            for p, v, g in zip(self.p, self.v, gradient):
                v.mul_(MOMENTUM).add_(g)
                p.sub_(v, alpha=LR)
                p.copy_((p + p.roll(-1, 0)) / 2)

    def ms(self):
        self.wait()
        start = time.perf_counter()
        for _ in range(STEPS):
            self.step()
        self.wait()
        return 1e3 * (time.perf_counter() - start) / STEPS

    def wait(self):
        if self.device == "cuda":
            torch.cuda.synchronize()


def ours_ms(where, bench, n, model):
    arguments = [n] if where == "cuda" else [n, 1, 32, BATCH]
    text = subprocess.run([bench, *map(str, arguments)], check=True, capture_output=True, text=True).stdout
    if where == "cuda":
        return float(re.search(model + r":.* median ([0-9.]+) ms", text).group(1))
    return 1e-3 * n * float(re.search(r"median ([0-9.]+) us", text).group(1))


def main():
    where, bench = sys.argv[1:3]
    n = int(sys.argv[3]) if len(sys.argv) > 3 else 1024
    models = {"mlp": (mlp_new, mlp_loss), "cnn": (cnn_new, cnn_loss)}
    for model in models if where == "cuda" else ["mlp"]:
        team = Team(*models[model], n, where)
        team.ms()  # warms up
        theirs, ours = [], []
        for _ in range(TURNS):
            theirs.append(team.ms())
            ours.append(ours_ms(where, bench, n, model))
        assert all(q.isfinite().all() for q in team.p)
        ratios = [a / b for a, b in zip(theirs, ours)]
        on = torch.cuda.get_device_name() if where == "cuda" else f"{torch.get_num_threads()} threads"
        print(f"{model}, {n} workers, batch {BATCH}, {on}: PyTorch {torch.__version__} {statistics.median(theirs):.1f} ms, "
              f"here {statistics.median(ours):.1f} ms per step; {statistics.median(ratios):.1f} x "
              f"({min(ratios):.1f} to {max(ratios):.1f})")


main()
