#!/usr/bin/env python3
"""What the compiler makes of the CUDA module's kernels, and what they cost by a model.

  kernels.py           a table: registers, spills, instructions of the hot loop, widths of accesses
  kernels.py --times   predicted microseconds of a step of 1,024 workers: MLP-32 and cnn
  kernels.py --check   compares with kernels.txt; fails where a kernel became worse
  kernels.py --write   writes kernels.txt

Needs nvcc (--nvcc, or NVCC, or in the PATH), and no GPU. Returns 77, skipped, without one, or where
kernels.txt comes from another version of it. The instructions are read from the machine code
itself: 16 bytes each since 7.0, of which the lowest 12 bits name the operation.
"""
import argparse
import collections
import math
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXPECTED = os.path.join(ROOT, "tests", "bench", "kernels.txt")
SKIPPED = 77
ARCHITECTURE = 90  # what kernels.txt holds for

BRANCH, EXIT, NOP, BARRIER, FMA = 0x147, 0x14D, 0x118, 0x11D, 0x023  # of the 9 bits below the operands' kind
LOAD, LOAD_GENERIC, STORE, STORE_GENERIC = 0x181, 0x180, 0x186, 0x185
SPILL = (0x183, 0x187)
SHARED = (0x184, 0x188)
WIDTHS = (1, 1, 2, 2, 4, 8, 16, 16)  # bytes, by the field of a load or store

Instruction = collections.namedtuple("Instruction", "operation always width target")


def decode(code, split_target):
    """The instructions of a function; `target` is a branch's, as an index."""
    out = []
    for at in range(0, len(code), 16):
        low, high = struct.unpack_from("<QQ", code, at)
        operation = low & 0x1FF
        target = None
        if operation == BRANCH:
            words = (low >> 34) | (high & 0x3FFFF) << 30
            bits = 48
            if split_target:
                words, bits = words << 8 | (low >> 16) & 0xFF, 56
            words -= (words >> (bits - 1)) << bits
            target = (at + 16 + words * 4) // 16
        always = low >> 12 & 15 == 7
        out.append(Instruction(operation, always, WIDTHS[high >> 9 & 7], target))
    while out and out[-1].operation == NOP:
        out.pop()
    if out and out[-1].target == len(out) - 1:
        out.pop()  # the branch to itself behind the end
    return out


class Loop:
    """Instructions [begin, end) that are repeated; `own`: those in no loop within it."""

    def __init__(self, code, begin, end, inner):
        own = [code[i] for i in range(begin, end) if not any(l.begin <= i < l.end for l in inner)]
        all_of = [i for i in own if i.operation != NOP]
        self.begin, self.end = begin, end
        self.innermost = not any(l.stores or l.loads for l in inner)
        self.n = len(all_of)
        self.fma = sum(i.operation == FMA for i in all_of)
        self.shared = sum(i.operation in SHARED for i in all_of)
        self.spills = sum(i.operation in SPILL for i in all_of)
        self.loads = [i.width for i in all_of if i.operation in (LOAD, LOAD_GENERIC)]
        self.stores = [i.width for i in all_of if i.operation in (STORE, STORE_GENERIC)]
        self.generic = sum(i.operation in (LOAD_GENERIC, STORE_GENERIC) for i in all_of)

    def within(self, other):
        return other.begin <= self.begin and self.end <= other.end


def path(code, begin, end, aside):
    """Instructions that are executed from begin to end, without those of the loops `aside`: a
    branch is taken every second time, but for those that leave at once."""
    left = [0.0] * (end + 1)
    for at in range(end - 1, begin - 1, -1):
        i = code[at]
        following = left[at + 1]
        if i.target is not None and at < i.target:
            there = left[min(i.target, end)]
            if i.always:
                following = there
            elif there > 8:
                following = (following + there) / 2
        elif i.always and (i.operation == EXIT or i.target is not None):
            following = 0
        counts = i.operation != NOP and not any(l.begin <= at < l.end for l in aside)
        left[at] = following + counts
    return left[begin]


def loops_of(code):
    """All loops, the whole function as the last."""
    ranges = {}
    for at, i in enumerate(code):
        if i.target is not None and i.target <= at:
            ranges[i.target] = max(ranges.get(i.target, 0), at + 1)
    out = []
    for begin, end in sorted(ranges.items(), key=lambda r: r[1] - r[0]) + [(0, len(code))]:
        out.append(Loop(code, begin, end, [l for l in out if begin <= l.begin and l.end <= end]))
    return out


class Kernel:
    """Instructions executed but for hot loops: `outside`; before and behind the first barrier: `lead`,
    `rest`. `product`: the loop over k."""

    def __init__(self, name, resources, code):
        self.name = name
        self.registers, self.spill_bytes, self.shared_bytes = resources
        self.loops = loops_of(code)
        self.instructions = sum(l.n for l in self.loops)
        inner = self.loops[:-1]
        self.product = max(inner, key=lambda l: l.fma, default=None)
        if self.product is not None and (self.product.fma < 16 or not self.product.shared):
            self.product = None
        storing = [l for l in inner if l.stores and
                   not (self.product and self.product.within(l)) and
                   not any(o.stores and o is not l and o.within(l) for o in inner)]
        self.storing_loops = storing
        self.storing = max(storing, key=lambda l: (sum(l.stores), l.n), default=None)
        loading = [l for l in inner if l.loads and not l.stores and l.innermost]
        self.loading = max(loading, key=lambda l: (sum(l.loads), l.n), default=None)
        if self.loading and self.storing and self.storing.loads and \
                not self.loading.within(self.storing) or self.product:
            self.loading = None  # the rest of a vector
        self.hot = self.product or self.storing or self.loading or self.loops[-1]
        hot = [l for l in (self.product, self.storing, self.loading) if l is not None]
        self.outside = path(code, 0, len(code), hot)
        barrier = next((at for at, i in enumerate(code) if i.operation == BARRIER), 0)
        self.lead = path(code, 0, barrier, hot)
        self.rest = path(code, barrier, len(code), hot)
        for loop in hot + storing:
            others = [l for l in hot if l is not loop and l.within(loop)]
            loop.executed = path(code, loop.begin, loop.end, others)

    def stored_numbers(self):
        return max(1, sum(self.hot.stores) / 4)

    def per_number(self):
        """Instructions of the hot loop per number stored there, or per multiplication."""
        hot = self.hot
        return hot.n / (hot.fma if hot is self.product else self.stored_numbers())


def short_name(mangled):
    """Of map_global<NAME_kernel, ...>: NAME; of NAME_global<...>: NAME<numbers>."""
    names, at = [], 0
    while at < len(mangled):  # names are preceded by their lengths
        found = re.compile(r"[1-9]\d*").search(mangled, at)
        if not found:
            break
        end = found.end() + int(found.group())
        name = mangled[found.end():end]
        if re.fullmatch(r"[a-z]\w*_(global|kernel|body)", name):
            names.append(name[:name.rindex("_")])
            at = end
        else:
            at = end if name.startswith("_GLOBAL") or name.startswith("_INTERNAL") else found.end()
    numbers = re.findall(r"L[a-z]\w*?(\d+)E", mangled[mangled.index("_global"):])
    if names[0] in ("map", "image") and len(names) > 1:
        return names[1]
    return names[0] + (f"<{','.join(numbers)}>" if numbers else "")


def compile_module(nvcc, architecture):
    """The kernels by name."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "module.cubin")
        ran = subprocess.run(
            [nvcc, "-std=c++17", "-O3", "--fmad=false", "-I", ROOT, f"-arch=sm_{architecture}",
             "-cubin", "-Xptxas", "-v", "-o", path,
             os.path.join(ROOT, "models", "devices", "cuda.cu")],
            stderr=subprocess.PIPE, text=True, check=False)
        if ran.returncode != 0:
            sys.exit(ran.stderr)
        with open(path, "rb") as file:
            data = file.read()
    resources = {}
    for name, body in re.findall(r"Compiling entry function '(\w+)'(.*?registers.*?)\n", ran.stderr,
                                 re.S):
        figures = [re.search(p, body) for p in (r"Used (\d+) registers", r"(\d+) bytes spill stores",
                                                r"(\d+) bytes smem")]
        resources[name] = [int(f.group(1)) if f else 0 for f in figures]
    sections, = struct.unpack_from("<Q", data, 0x28)
    n_sections, names = struct.unpack_from("<HH", data, 0x3C)
    headers = [struct.unpack_from("<IIQQQQ", data, sections + 64 * i) for i in range(n_sections)]
    kernels = {}
    for header in headers:
        begin = headers[names][4] + header[0]
        name = data[begin:data.index(b"\0", begin)].decode()
        if name.startswith(".text."):
            code = decode(data[header[4]:header[4] + header[5]], architecture >= 90)
            kernel = Kernel(short_name(name[6:]), resources[name[6:]], code)
            kernels[kernel.name] = kernel
    return kernels


# --- the table ---------------------------------------------------------------------------------

def widths(accesses):
    return "+".join(f"{n}x{8 * w}" for w, n in sorted(collections.Counter(accesses).items())) or "-"


HEAD = "kernel registers spills shared instructions hot per_number loads stores".split()


def row_of(k):
    return [k.name, k.registers, k.spill_bytes, k.shared_bytes, k.instructions, k.hot.n,
            f"{k.per_number():.1f}", widths(k.hot.loads), widths(k.hot.stores)]


def table(kernels):
    rows = [HEAD] + [[str(x) for x in row_of(k)] for _, k in sorted(kernels.items())]
    size = [max(len(row[c]) for row in rows) for c in range(len(HEAD))]
    return "".join(" ".join(x.ljust(s) for x, s in zip(row, size)).rstrip() + "\n" for row in rows)


def narrowest(text):
    return min([int(part.split("x")[1]) for part in text.split("+") if part != "-"], default=0)


def worse(old, new):
    """The reasons why a row of the table became worse than the expected one."""
    old, new = dict(zip(HEAD, old)), dict(zip(HEAD, new))
    out = []
    for column, slack in (("registers", 0), ("spills", 0), ("shared", 0), ("instructions", 0.02),
                          ("per_number", 0.02)):
        if float(new[column]) > float(old[column]) * (1 + slack):
            out.append(f"{column} {old[column]} -> {new[column]}")
    for column in ("loads", "stores"):
        if narrowest(new[column]) < narrowest(old[column]):
            out.append(f"{column} {old[column]} -> {new[column]}")
    return out


def check(kernels, version):
    with open(EXPECTED, encoding="ascii") as file:
        lines = file.read().splitlines()
    if lines[0] != head_line(version):
        print(f"skipped: kernels.txt begins '{lines[0]}', here is '{head_line(version)}'")
        return SKIPPED
    expected = {line.split()[0]: line.split() for line in lines[2:]}
    bad = [f"{name}: not in kernels.txt" for name in kernels if name not in expected]
    bad += [f"{name}: only in kernels.txt" for name in expected if name not in kernels]
    for name in sorted(set(expected) & set(kernels)):
        reasons = worse(expected[name], [str(x) for x in row_of(kernels[name])])
        bad += [f"{name}: {'; '.join(reasons)}"] if reasons else []
    print("\n".join(bad + [f"{len(kernels)} kernels compared, {len(bad)} worse"]))
    return 1 if bad else 0


def head_line(version):
    return f"nvcc {version}, sm_{ARCHITECTURE}"


# --- the model ---------------------------------------------------------------------------------

REPLICAS, BATCH, WARP, THREADS = 1024, 16, 32, 256
PER_S = 132 * 4 * 1.98e9  # warp instructions that an H100 issues
COPY_BYTES_PER_S = 2.98e12  # measured
ISSUED, MOVED = 0.45, 0.9  # shares of both that kernels reached: products 0.36 to 0.59, waiting
START_US = 3  # of a launch
STORED_AT_ONCE = 4  # rows, by store_tile()


def time_us(warp_instructions, n_bytes):
    return START_US + 1e6 * max(warp_instructions / PER_S / ISSUED,
                                n_bytes / COPY_BYTES_PER_S / MOVED)


class Elements:
    """A launch that computes numbers one by one: of one replica `stores`, from `loads` numbers."""

    def __init__(self, name, stores, n_bytes, threads=None, loads=0, wide=None):
        self.name, self.stores, self.loads, self.wide = name, stores, loads, wide
        self.bytes = REPLICAS * n_bytes
        self.threads = threads or stores / 16

    def instructions(self, kernels):
        k = kernels[self.name]
        total = self.threads * k.outside
        storing = k.storing
        if self.wide:
            storing = next(l for l in k.storing_loops if sum(l.stores) == 4 * self.wide)
        if storing:
            total += self.stores / max(1, sum(storing.stores) / 4) * storing.executed
        if k.loading:
            total += (self.loads or self.stores) / max(1, sum(k.loading.loads) / 4) * k.loading.executed
        return REPLICAS * total / WARP


def size_class(n):
    return 16 if n <= 16 else 32 if n <= 32 else 64


class Products:
    """A launch of products, each (m, n, k, along): `along` is the dimension of the samples."""

    def __init__(self, label, *shapes):
        self.label = label
        rows = max((16 if m == 1 else 64) if along == "m" else m for m, n, k, along in shapes)
        self.rows, self.columns = size_class(rows), size_class(max(s[1] for s in shapes))
        full = [(m * (BATCH if along == "m" else 1), n, k * (BATCH if along == "k" else 1))
                for m, n, k, along in shapes]
        self.full = full
        flat = self.rows * 2, self.columns // 2
        if self.rows == 64 and self.columns != 32 and \
                self.tiles(*flat) < self.tiles(self.rows, self.columns):
            self.rows, self.columns = flat
        self.name = f"matmul<{self.rows},{self.columns}>"
        self.bytes = REPLICAS * 4 * sum(m * k + k * n + m * n for m, n, k in full)

    def tiles(self, rows, columns):
        return sum(math.ceil(m / rows) * math.ceil(n / columns) for m, n, _ in self.full)

    def instructions(self, kernels):
        """One warp of a block finds the tile (`lead`); `rest` has the last slice."""
        k = kernels[self.name]
        cells = self.rows * self.columns // 16
        parts = THREADS // cells
        depth = max(16, 4 * parts)
        warps = 0
        for m, n, depth_all in self.full:
            tiles = math.ceil(m / self.rows) * math.ceil(n / self.columns)
            trips = self.rows * self.columns / THREADS / STORED_AT_ONCE if k.storing else 0
            tile = k.lead * WARP / THREADS + k.rest + (math.ceil(depth_all / depth) - 1) * k.product.executed + \
                trips * (k.storing.executed if k.storing else 0)
            warps += tiles * tile * THREADS / WARP
        return REPLICAS * warps


class Mlp:
    """The launch of all gradients of an MLP: a block per replica, 8 warps of 16 cells each."""

    def __init__(self, *sizes):
        self.name = self.label = "mlp"
        self.links = list(zip(sizes, sizes[1:]))
        self.bytes = REPLICAS * (BATCH * sizes[0] + 8 * sum((n + 1) * m for n, m in self.links))

    def instructions(self, kernels):
        loops = kernels["mlp"].loops
        unrolled = [l for l in loops if l.fma == 64]  # four times a cell of 16
        forward = max((l for l in unrolled if l.loads), key=lambda l: l.n)
        cell, backward = next((l, b) for b in unrolled for l in loops
                              if b.within(l) and widths(l.stores) == "8x64")  # in pairs
        part = next(l for l in loops if l is not backward and backward.within(l))
        tile = next(l for l in loops if l is not forward and forward.within(l))
        added = max((l for l in loops if l.within(tile) and not forward.within(l) and not l.fma),
                    key=lambda l: l.n)
        word = next(l for l in loops if widths(l.loads) == "4x32" and l.shared == 4 and l.n > 64)
        warps = BATCH * self.links[0][0] / 4 / WARP * word.n / 4 + kernels["mlp"].loops[-1].n * 8
        for inputs, outputs in self.links:
            forward_parts = 4096 // 16 // size_class(outputs)
            backward_parts = min(4096 // size_class(inputs + 1) // size_class(outputs), BATCH)
            warps += 8 * (math.ceil(inputs / forward_parts) * forward.n / 4 + tile.n + added.n)
            cells = math.ceil((inputs + 1) / 4) * math.ceil(outputs / 4) / WARP
            warps += cells * (BATCH * backward.n / 4 + backward_parts * part.n + cell.n)
        for inputs, outputs in self.links[1:]:  # the grads of its inputs, one number at a time
            warps += 8 * (outputs * forward.n / 2 + tile.n + added.n)
        return REPLICAS * warps


def dense(inputs, outputs, first):
    backward = [(inputs + 1, outputs, 1, "k")] + ([] if first else [(1, inputs, outputs, "m")])
    return (Products(f"{inputs} x {outputs}", (1, outputs, inputs, "m")),
            Products(f"{inputs} x {outputs} backward", *backward))


def vectors(n):
    return [Elements("update<0>", n, 20 * n), Elements("combine<2,1>", n, 12 * n)]


def mlp():
    return [Mlp(784, 32, 10)] + vectors(25450)


def image(name, rows, channels, read, wide=4):
    """A kernel of images that reads `read` numbers for each that it writes, `wide` at a time."""
    n = BATCH * rows * channels
    return Elements(name, n, 4 * n * (1 + read), loads=n * read, wide=wide)


def cnn():
    forward_3, backward_3 = dense(784, 32, False)
    forward_4, backward_4 = dense(32, 10, False)
    return [Elements("load<1>", BATCH * 784, BATCH * 784 * 5),
            image("im2col", 784, 9, 1 / 9, wide=1),
            Products("convolution 1", (784, 8, 9, "m")),
            image("max_pool", 196, 8, 4),
            image("im2col", 196, 72, 1 / 9),
            Products("convolution 2", (196, 16, 72, "m")),
            image("max_pool", 49, 16, 4), forward_3, forward_4,
            Elements("cross_entropy", BATCH * 10, BATCH * 88, threads=BATCH),
            backward_4, backward_3,
            image("max_pool_backward", 196, 16, 2),
            Products("convolution 2, dW", (73, 16, 196, "k")),
            Products("convolution 2, dX", (196, 72, 16, "m")),
            image("col2im", 196, 8, 9),
            image("max_pool_backward", 784, 8, 2),
            Products("convolution 1, dW", (10, 8, 784, "k"))] + vectors(26698)


def times(kernels):
    for name, launches in (("MLP-32", mlp()), ("cnn", cnn())):
        print(f"{name}: {REPLICAS} replicas, batch {BATCH}, on an H100, by the model")
        print(f"{'launch':24} {'kernel':20} {'MB':>6} {'DRAM us':>8} {'issue us':>8} {'us':>7}")
        total = [0, 0]
        for launch in launches:
            instructions = launch.instructions(kernels)
            us = time_us(instructions, launch.bytes)
            total = [total[0] + launch.bytes, total[1] + us]
            label = getattr(launch, "label", launch.name)
            print(f"{label:24} {launch.name:20} {launch.bytes / 1e6:6.0f} "
                  f"{1e6 * launch.bytes / COPY_BYTES_PER_S:8.0f} {1e6 * instructions / PER_S:8.0f} "
                  f"{us:7.0f}")
        print(f"{'sum':24} {'':20} {total[0] / 1e6:6.0f} {'':17} {total[1]:7.0f}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nvcc", default=os.environ.get("NVCC") or shutil.which("nvcc"))
    parser.add_argument("--architecture", type=int, default=ARCHITECTURE)
    for action in ("--times", "--check", "--write"):
        parser.add_argument(action, action="store_true")
    options = parser.parse_args()
    if not options.nvcc or not shutil.which(options.nvcc):
        print("skipped: there is no nvcc")
        return SKIPPED
    version = re.search(r"release ([\d.]+)", subprocess.run(
        [options.nvcc, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout).group(1)
    kernels = compile_module(options.nvcc, options.architecture)
    if options.check:
        return check(kernels, version)
    if options.write:
        with open(EXPECTED, "w", encoding="ascii") as file:
            file.write(f"{head_line(version)}\n{table(kernels)}")
    elif options.times:
        times(kernels)
    else:
        print(table(kernels), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
