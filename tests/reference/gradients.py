#!/usr/bin/env python3
"""The same networks as in tests/support/rig.c by PyTorch's own layers, in float64: losses, gradients, running statistics, optimizer steps.

The numbers in this folder were written by Debian 12's python3-torch 1.13.1+dfsg-4 and python3-numpy 1.24.2, on x86-64:

    python3 tests/reference/gradients.py tests/reference

Parameters and data are series of a formula, number() here and stand_number() in tests/support/rig.c. The order of parameters is that of
models/zoo/model.h: the last layer first; in a layer the weights [inputs][outputs], then the biases. Images lie pixel by pixel.
"""
import sys

import numpy
import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)

OF_X, OF_LABELS, OF_LENGTHS, OF_PARAMS, OF_GRADIENTS = 0, 1, 2, 3, 10


def number(salt, i):
    return ((7919 * i + 104729 * salt + i * i % 613) % 1009) / 1009


def series(salt, n):
    return numpy.array([number(salt, i) for i in range(n)])


class Spec:
    """Data of a shape, and parameters that are handed out in backward order."""

    def __init__(self, name, kind, rows, columns, width, classes, samples):
        self.name, self.kind, self.rows, self.columns = name, kind, rows, columns
        self.width, self.classes, self.n = width, classes, samples
        n = samples * rows * columns
        u = series(OF_X, n)
        if kind == "images":
            x = (numpy.floor(256 * u) / 255 - 0.5) / 0.25
        elif kind == "tokens":
            x = numpy.floor(classes * u)
        else:
            x = (2 * u - 1).astype(numpy.float32).astype(numpy.float64)
        self.x = torch.tensor(x.reshape(samples, rows, columns))
        labels = series(OF_LABELS, samples * (rows if kind == "tokens" else 1))
        if classes == 0:
            self.labels = torch.tensor((3 * labels).astype(numpy.float32).astype(numpy.float64))
        else:
            self.labels = torch.tensor(numpy.floor(classes * labels)).long()
        self.lengths = torch.tensor(numpy.floor(1 + rows * series(OF_LENGTHS, samples))).long()
        self.shapes = []  # in forward order: lists of the parts of a layer
        self.parts = None
        self.statistics = []  # of the batch norms in forward order: mean and variance

    def layer(self, *shapes):
        """Number of a layer whose parameters have these shapes."""
        self.shapes.append(shapes)
        return len(self.shapes) - 1

    def norm(self, channels):
        self.statistics.append([torch.zeros(channels), torch.ones(channels)])
        return self.layer([channels], [channels]), len(self.statistics) - 1

    def begin(self):
        """The parameter vector, and views of it for each layer."""
        n = sum(int(numpy.prod(s)) for shapes in self.shapes for s in shapes)
        self.vector = torch.tensor(series(OF_PARAMS, n) - 0.5, requires_grad=True)
        self.parts = [None] * len(self.shapes)
        at = 0
        for i in reversed(range(len(self.shapes))):
            self.parts[i] = []
            for shape in self.shapes[i]:
                size = int(numpy.prod(shape))
                self.parts[i].append(self.vector[at:at + size].reshape(shape))
                at += size

    def dense(self, x, layer):
        w, c = self.parts[layer]
        return F.linear(x, w.T, c)

    def conv(self, x, layer, stride):
        w = self.parts[layer][0].permute(3, 2, 0, 1)
        c = self.parts[layer][1] if len(self.parts[layer]) > 1 else None
        return F.conv2d(x, w, c, stride=stride, padding=w.shape[2] // 2)

    def batch_norm(self, x, numbers, training):
        gain, shift = self.parts[numbers[0]]
        mean, variance = self.statistics[numbers[1]]
        return F.batch_norm(x, mean, variance, gain, shift, training=training, momentum=0.1, eps=1e-5)

    def image(self, samples):
        x = self.x[samples].reshape(len(samples), self.rows // self.width, self.width, self.columns)
        return x.permute(0, 3, 1, 2)


def pixels(x):
    """One row of an image's numbers, pixel by pixel."""
    return x.permute(0, 2, 3, 1).reshape(x.shape[0], -1)


def hyperplane():
    s = Spec("hyperplane", "points", 1, 9, 1, 0, 37)
    out = s.layer([9, 1], [1])
    return s, lambda at, training: s.dense(s.x[at].reshape(len(at), -1), out)


def mlp():
    s = Spec("mlp-two-layers", "points", 1, 6, 1, 3, 37)
    layers = [s.layer([6, 7], [7]), s.layer([7, 5], [5]), s.layer([5, 3], [3])]

    def run(at, training):
        x = s.x[at].reshape(len(at), -1)
        x = F.relu(s.dense(x, layers[0]))
        return s.dense(F.relu(s.dense(x, layers[1])), layers[2])
    return s, run


def cnn():
    s = Spec("cnn-7x5", "images", 35, 1, 5, 4, 11)
    convs = [s.layer([3, 3, 1, 2], [2]), s.layer([3, 3, 2, 3], [3])]
    hidden, out = s.layer([3, 5], [5]), s.layer([5, 4], [4])

    def run(at, training):
        x = s.image(at)
        for c in convs:
            x = F.max_pool2d(F.relu(s.conv(x, c, 1)), 2)
        return s.dense(F.relu(s.dense(pixels(x), hidden)), out)
    return s, run


def resnet():
    s = Spec("resnet-9x7", "images", 63, 1, 7, 3, 7)
    first, first_norm = s.layer([3, 3, 1, 2]), s.norm(2)
    blocks = []
    for channels, width in ((2, 2), (2, 4)):
        blocks.append({"a": s.layer([3, 3, channels, width]), "norm a": s.norm(width),
                       "b": s.layer([3, 3, width, width]), "norm b": s.norm(width)})
        if channels != width:
            blocks[-1].update({"c": s.layer([1, 1, channels, width]), "norm c": s.norm(width)})
    out = s.layer([4, 3], [3])

    def run(at, training):
        x = F.relu(s.batch_norm(s.conv(s.image(at), first, 2), first_norm, training))
        for b in blocks:
            stride = 2 if "c" in b else 1
            y = F.relu(s.batch_norm(s.conv(x, b["a"], stride), b["norm a"], training))
            y = s.batch_norm(s.conv(y, b["b"], 1), b["norm b"], training)
            if "c" in b:
                x = s.batch_norm(s.conv(x, b["c"], stride), b["norm c"], training)
            x = F.relu(y + x)
        return s.dense(F.adaptive_avg_pool2d(x, 1).flatten(1), out)
    return s, run


def lstm():
    units = 5
    s = Spec("lstm", "sequences", 6, 3, 1, 4, 9)
    inputs, recurrence = s.layer([3, 4 * units], [4 * units]), s.layer([units, 4 * units])
    out = s.layer([units, 4], [4])

    def run(at, training):
        w, c = s.parts[inputs]
        weights = [w.T, s.parts[recurrence][0].T, c, torch.zeros(4 * units)]
        packed = torch.nn.utils.rnn.pack_padded_sequence(s.x[at], s.lengths[at], batch_first=True,
                                                         enforce_sorted=False)
        zeros = torch.zeros(1, len(at), units)
        # What torch.nn.LSTM calls: with biases, one layer, no dropout, not bidirectional.
        _, last, _ = torch._VF.lstm(packed.data, packed.batch_sizes, (zeros, zeros), weights,
                                    True, 1, 0.0, training, False)
        return s.dense(last[0][packed.unsorted_indices], out)
    return s, run


def transformer():
    rows, width, heads, classes = 5, 6, 2, 7
    s = Spec("transformer", "tokens", rows, 1, 1, classes, 4)
    tables = s.layer([classes, width], [rows, width])
    norm_a, qkv = s.layer([width], [width]), s.layer([width, 3 * width], [3 * width])
    out = s.layer([width, width], [width])
    norm_b, wide = s.layer([width], [width]), s.layer([width, 4 * width], [4 * width])
    narrow = s.layer([4 * width, width], [width])
    norm_c, answer = s.layer([width], [width]), s.layer([width, classes], [classes])

    def norm(x, layer):
        return F.layer_norm(x, [width], *s.parts[layer], eps=1e-5)

    def run(at, training):
        x = F.embedding(s.x[at, :, 0].long(), s.parts[tables][0]) + s.parts[tables][1]
        y = norm(x, norm_a).transpose(0, 1)  # steps first
        future = torch.triu(torch.ones(rows, rows, dtype=torch.bool), 1)
        y, _ = F.multi_head_attention_forward(
            y, y, y, width, heads, s.parts[qkv][0].T, s.parts[qkv][1], None, None, False, 0.0,
            s.parts[out][0].T, s.parts[out][1], training=training, attn_mask=future)
        x = x + y.transpose(0, 1)
        x = x + s.dense(F.relu(s.dense(norm(x, norm_b), wide)), narrow)
        return s.dense(norm(x, norm_c), answer)
    return s, run


def loss_of(s, z, at):
    if s.classes == 0:
        return (z[:, 0] - s.labels[at]).square().mean() / 2
    labels = s.labels.reshape(s.n, -1)[at].flatten()
    return F.cross_entropy(z.reshape(-1, s.classes), labels)


def write(folder, name, sections):
    with open(f"{folder}/{name}.txt", "w", encoding="ascii") as file:
        for title, numbers in sections:
            numbers = numpy.asarray(numbers.detach() if torch.is_tensor(numbers) else numbers).flatten()
            file.write(f"{title} {len(numbers)}\n")
            file.writelines(f"{x:.17g}\n" for x in numbers)


def network(folder, spec):
    """A gradient over all samples, one over the first half, and an evaluation with the statistics of the two."""
    s, run = spec()
    s.begin()
    sections = []
    for part, at in (("all", range(s.n)), ("half", range(s.n // 2))):
        s.vector.grad = None
        loss = loss_of(s, run(list(at), True), list(at))
        loss.backward()
        sections += [(f"loss_{part}", loss), (f"gradient_{part}", s.vector.grad)]
    if s.statistics:
        sections.append(("state", torch.cat([torch.cat(pair) for pair in s.statistics])))
    z = run(list(range(s.n)), False)
    sections.append(("evaluation", loss_of(s, z, list(range(s.n)))))
    if s.classes > 0:
        right = z.reshape(-1, s.classes).argmax(1) == s.labels
        sections.append(("accuracy", right.double().mean()))
    write(folder, s.name, sections)


def optimizers(folder):
    """Three steps each on gradients of the formula; the second is too small to be clipped."""
    n, clip = 20, 3.0
    sections = []
    for name, make in (
            ("momentum", lambda p: torch.optim.SGD(p, lr=1, momentum=0.9, weight_decay=0.01)),
            ("nesterov", lambda p: torch.optim.SGD(p, lr=1, momentum=0.8, weight_decay=0.02, nesterov=True)),
            ("adamw", lambda p: torch.optim.AdamW(p, lr=1, betas=(0.8, 0.95), eps=1e-6, weight_decay=0.1))):
        x = torch.tensor(series(OF_PARAMS, n) - 0.5, requires_grad=True)
        optimizer = make([x])
        for t, (lr, size) in enumerate(((0.1, 1), (0.05, 0.1), (0.2, 1))):
            x.grad = size * torch.tensor(4 * series(OF_GRADIENTS + t, n) - 2)
            norm = x.grad.norm()
            # PyTorch divides by the norm plus 1e-6, so that it clips a little too much; here not.
            torch.nn.utils.clip_grad_norm_([x], float(clip * (norm + 1e-6) / norm) if norm > clip else 1e9)
            optimizer.param_groups[0]["lr"] = lr
            optimizer.step()
            sections.append((f"{name}_{t + 1}", x.detach().clone()))
    write(folder, "optimizers", sections)


if __name__ == "__main__":
    for one in (hyperplane, mlp, cnn, resnet, lstm, transformer):
        network(sys.argv[1], one)
    optimizers(sys.argv[1])
