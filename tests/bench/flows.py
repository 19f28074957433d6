"""CPU seconds of allreduces: dsgd, SimGrid's SMPI, and SimGrid alone, on the same platforms.

Usage: tests/bench/flows.py BUILD [WORKERS [ROUNDS]]    (of a release build; WORKERS 1024 or 64)

Each figure is user + system time, the least of two interleaved turns, with the virtual seconds of an
allreduce behind it: a wrong answer is no measurement. A step computes for 0.35 s.
"""
import csv
import os
import re
import subprocess
import sys
import tempfile

FLOATS = 25557032
OPTIONS = ["--cfg=network/model:CM02", "--cfg=network/TCP-gamma:0", "--cfg=network/crosstraffic:0",
           "--log=root.thres:warning"]
SHAPES = {  # cluster tags of links of 12.5 GB/s and 1 us, as in tests/sim/test_smpi.c
    1024: {"flat": "", "fat tree": 'topology="FAT_TREE" topo_parameters="2;32,32;1,16;1,1"',
           "dragonfly": 'topology="DRAGONFLY" topo_parameters="8,4;4,4;8,4;4"'},
    64: {"flat": "", "fat tree": 'topology="FAT_TREE" topo_parameters="2;8,8;1,4;1,1"',
         "dragonfly": 'topology="DRAGONFLY" topo_parameters="4,4;2,4;4,4;2"'},
}
COLLECTIVES = {"recursive-doubling": ("rdb", 1), "rabenseifner": ("rab_rdb", 1), "ring": ("lr", 0.05)}


def cpu_s(command, folder):
    """User and system seconds of a command and its children, and what it prints."""
    with open(os.path.join(folder, "output"), "w+") as output:
        process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        output.seek(0)
        text = output.read()
    if status != 0:
        sys.exit("%s failed: %s" % (command[0], text[-500:]))
    return usage.ru_utime + usage.ru_stime, text


def write_inputs(folder, workers, shape, collective, rounds):
    def write(name, text):
        with open(os.path.join(folder, name), "w") as stream:
            stream.write(text)
    latency = 1e-6
    write("p.xml", '<?xml version="1.0"?><!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'
          '<platform version="4.1"><zone id="w" routing="Full"><cluster id="c" prefix="n" suffix="" '
          'radical="0-%d" speed="1Gf" bw="12.5GBps" lat="%gs" sharing_policy="SPLITDUPLEX" %s/>'
          '</zone></platform>\n' % (workers - 1, latency, SHAPES[workers][shape]))
    for rank in range(workers):
        step = "%d compute 0.35e9\n%d allreduce %d 0 5\n" % (rank, rank, FLOATS)
        write("rank%d" % rank, "%d init\n%s%d finalize\n" % (rank, step * rounds, rank))
    write("traces", "".join("%s/rank%d\n" % (folder, rank) for rank in range(workers)))
    write("hosts", "".join("n%d\n" % rank for rank in range(workers)))
    write("e.yaml", "platform: %s/p.xml\nworkload: {bytes: %d, step: 0.35, samples: 1}\nworkers: %d\n"
          "algorithms: [allreduce]\nuntil: {steps: %d}\n"
          "exchange: {pieces: 1, overlap: false, collective: %s}\n"
          % (folder, 4 * FLOATS, workers, rounds, collective))


def commands(build, workers, collective, rounds):
    smpi = ["smpirun", "-np", str(workers), "-hostfile", "hosts", "-platform", "p.xml", "-replay",
            "traces", "--cfg=smpi/allreduce:" + COLLECTIVES[collective][0],
            "--cfg=smpi/host-speed:1Gf", "--cfg=smpi/privatization:no", "--cfg=smpi/lat-factor:0:1",
            "--cfg=smpi/bw-factor:0:1", "--cfg=smpi/os:0:0:0", "--cfg=smpi/or:0:0:0",
            "--cfg=smpi/ois:0:0:0", "--log=smpi_replay.thres:info"] + OPTIONS
    result = {"dsgd": [build + "/dsgd", "run", "e.yaml", "--numerics", "off", "-o", "r", "--force"],
              "SMPI": smpi}
    if collective == "recursive-doubling":
        result["SimGrid"] = [build + "/dsgd_bench_flows", "p.xml", str(workers), str(rounds),
                             str(4 * FLOATS), "--cfg=contexts/stack-size:128"] + OPTIONS
    return result


def virtual_s(program, folder, text):
    if program == "dsgd":
        with open(os.path.join(folder, "r", "runs.csv")) as stream:
            return float(next(csv.DictReader(stream))["virtual_s"])
    if program == "SMPI":
        return float(re.search(r"Simulation time ([0-9.]+)", text).group(1))
    return float(text.split()[-1])


def main():
    build = os.path.abspath(sys.argv[1])
    workers = int(sys.argv[2]) if len(sys.argv) > 2 else 1024
    most = int(sys.argv[3]) if len(sys.argv) > 3 else 20
    for collective, (_, share) in COLLECTIVES.items():
        for shape in SHAPES[workers]:
            rounds = max(1, round(most * share))
            with tempfile.TemporaryDirectory() as folder:
                write_inputs(folder, workers, shape, collective, rounds)
                least = {}
                for _ in range(2):
                    for program, command in commands(build, workers, collective, rounds).items():
                        seconds, text = cpu_s(command, folder)
                        each = virtual_s(program, folder, text) / rounds - 0.35
                        if program not in least or seconds < least[program][0]:
                            least[program] = (seconds, each)
                print("%3d x %-18s %-9s" % (rounds, collective, shape), "  ".join(
                    "%s %.2f s (%.5g)" % (p, *v) for p, v in least.items()),
                      " / SMPI %.2f" % (least["dsgd"][0] / least["SMPI"][0]),
                      "/ SimGrid %.2f" % (least["dsgd"][0] / least["SimGrid"][0])
                      if "SimGrid" in least else "", flush=True)


main()
