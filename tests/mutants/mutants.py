#!/usr/bin/env python3
"""Mutation testing: what would the tests notice?

Draws places in the product (by a hash of the file's name and the line: the same ones after other lines have changed, or files have
moved), changes one thing at each, builds that file alone, links it into copies of dsgd_tests and dsgd before what they
are made of, and runs the suites that concern the file, the fastest first, until a test fails. Tests start the copy of the program
that DSGD_TEST_BINARY names.

    tests/mutants/mutants.py --n 200 --seed 1          # build/dev has to be built
    tests/mutants/mutants.py --n 25 analysis           # of a room, see ROOMS; or of files
    tests/mutants/mutants.py --list sim/exchange/pair.c

A mutant is `killed` by a suite, `survived` them all, has the `same` object code as the original at -O2 (no test could tell), or does
`not compile`. A process has so many seconds of CPU time (RLIMIT_CPU), and a suite minutes of the clock for what waits for nothing.
"""
import argparse
import concurrent.futures
import fnmatch
import functools
import glob
import hashlib
import json
import os
import re
import resource
import shlex
import signal
import subprocess
import sys
import tempfile
import threading

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
LEFT_OUT = {"algorithms/registry.c", "command/commands.c"}  # lists
# A room, files of it (* also stands for folders), and suites in the order of their seconds; the first row that fits a file.
# conformance=NAMES: its checks of these algorithms; of those of the file: conformance=*.
# X:CASE: a case of a suite.
ROOMS = [
    ("inside", "command/*/lesson*.c", "lesson"),
    ("inside", "command/*timeline/*.c command/trace/*.c", "timeline lesson"),
    ("studies", "command/*tune/*.c", "tune"),
    ("analysis", "command/*report/*.c", "report compare fuzz"),
    ("analysis", "command/*/published.c", "reproduce"),
    ("analysis", "command/*/verdict.c command/*/caveats.c", "verdict report compare tune"),
    ("analysis", "command/*/exchanges.c", "exchanges"),
    ("analysis", "command/*/figure*.c command/*/plot.c command/*/gnuplot.c command/*/summary.c",
     "reproduce report phase compare plot timeline"),
    ("analysis", "command/*/target.c", "report compare tune plot"),
    ("analysis", "command/*/comparison.c command/*/compare.c", "report compare tune fuzz"),
    ("analysis", "command/analysis/*.c",
     "report reproduce compare tune sensitivity verdict explain plot"),
    ("studies", "command/*/phase*.c", "phase"),
    ("studies", "command/*/sensitivity*.c", "sensitivity input"),
    ("studies", "command/*reproduce.c", "reproduce"),
    ("studies", "command/*task.c", "course:command course:tasks"),
    ("studies", "command/*explain/*.c command/explain.c", "explain"),
    ("studies", "command/studies/*.c", "phase reproduce explain tune sensitivity"),
    ("experiment", "command/experiment/plugin.c", "plugin"),
    ("experiment", "command/experiment/*.c", "schema sweep tables reproduce input tune run fuzz"),
    ("commands", "command/imbalance.c command/import/steps.c", "imbalance_fit input"),
    ("import", "command/import/*.c command/import.c", "import cluster import_kineto fuzz"),
    ("commands", "command/*platform.c", "describe input"),
    ("commands", "command/*list.c command/*keys.c", "schema describe"),
    ("commands", "command/*test.c", "plugin"),
    ("runs", "command/*check.c", "tables input"),
    ("runs", "command/*/prepare.c command/*merge.c command/*/selection.c", "sweep shards fuzz"),
    ("runs", "command/run.c command/run/*.c command/runs/*.c", "sweep tables expenses reproduce run exchanges shards fuzz input"),
    ("commands", "command/*.c", "tables schema input describe"),
    ("models", "models/data/split.c", "split data"),
    ("models", "models/data/*.c", "data images stream split fuzz zoo"),
    ("models", "models/values/*.c", "values stream devices encodings networks"),
    ("models", "models/encodings/*.c", "encodings values encoded"),
    ("models", "models/optim/*.c", "networks devices schema trainings"),
    ("models", "models/zoo/*.c", "zoo networks trainings"),
    ("devices", "models/devices/*.c", "devices encodings values networks matmul"),
    ("traces", "traces/platform.c", "traces platforms"),
    ("traces", "traces/expenses.c", "expenses"),
    ("traces", "traces/failures.c", "failures failures_in_runs open"),
    ("traces", "traces/nccl*.c", "nccl cluster fuzz"),
    ("traces", "traces/shapes/*.c traces/hosts.c", "shapes fabrics platforms traces"),
    ("traces", "traces/regions.c traces/platform_xml.c", "platforms traces maxmin input"),
    ("traces", "traces/kineto.c traces/slurm.c traces/step_*.c", "import cluster import_kineto imbalance_fit fuzz"),
    ("traces", "traces/fit.c", "imbalance_fit imbalance"),
    ("traces", "traces/workload.c", "traces hybrid schema fuzz"),
    ("traces", "traces/closed_form.c", "traces collectives server messages platforms"),
    ("traces", "traces/*.c", "traces imbalance"),
    ("base", "base/draw.c", "draw traces data"),
    ("base", "base/csv.c base/file.c base/json.c", "fuzz sweep report expenses imbalance_fit compare run"),
    ("base", "base/*.c", "draw option round status schema tables input describe run"),
    ("network", "sim/network/maxmin.c sim/network/paths.c sim/network/machine.c",
     "platforms fabrics accounting runtime exchange maxmin traces"),
    ("network", "sim/network/placement.c", "platforms hybrid traces schema"),
    ("network", "sim/network/*.c",
     "spans staging pair messages server collectives accounting exchange runtime platforms hang"),
    ("sim", "sim/graph.c", "graph gossip"),
    ("sim", "sim/check.c sim/config.c", "schema exchanges failures_in_runs slow_links hybrid input"),
    ("sim", "sim/run.c", "memory spans accounting exchange algorithms"),
    ("sim", "sim/conformance/*.c", "plugin conformance"),
    ("sim", "sim/hybrid/*.c", "hybrid schedules explain timeline"),
    ("sim", "sim/failures/failures.c sim/failures/rejoin.c sim/failures/restart.c sim/failures/quorum.c",
     "failures_in_runs open failures explain run"),
    ("sim", "sim/failures/slow_links.c", "slow_links failures_in_runs explain"),
    ("sim", "sim/observe/timeline.c", "spans timeline lesson"),
    ("sim", "sim/observe/ledger.c", "memory spans accounting timeline lesson"),
    ("sim", "sim/engine/learning.c", "accounting staging exchange encoded against_oracle networks trainings algorithms"),
    ("sim", "sim/engine/encodings.c", "encoded encodings against_oracle"),
    ("sim", "sim/engine/vectors.c", "memory exchange encoded against_oracle conformance=allreduce,ad_psgd"),
    ("sim", "sim/exchange/pair*.c", "memory staging pair runtime against_arrivals hang conformance=ad_psgd"),
    ("sim", "sim/exchange/server*.c",
     "memory server spans staging against_arrivals servers runtime conformance=ssp"),
    ("sim", "sim/exchange/messages*.c",
     "memory messages spans against_arrivals servers conformance=ringmaster,dsgd_aau,cluster_based"),
    ("sim", "sim/exchange/partial*.c",
     "memory partial against_oracle staleness laws fragments spans conformance=eager_majority,wagma"),
    ("sim", "sim/exchange/analytic*.c", "memory collectives exchange fragments analytic conformance=allreduce"),
    ("sim", "sim/exchange/gossip*.c",
     "memory exchange staleness encoded fragments against_oracle gossip conformance=sgp,choco"),
    ("sim", "sim/exchange/fusion*.c", "memory exchange accounting staging"),
    ("sim", "sim/exchange/collectives*.c",
     "memory staging exchange collectives accounting encoded fragments communicators analytic "
     "conformance=allreduce"),
    ("sim", "sim/exchange/schedules*.c sim/exchange/plan.c",
     "memory encoded collectives accounting exchange partial communicators microbenchmark "
     "conformance=allreduce,power_sgd"),
    ("sim", "sim/exchange/communicators*.c",
     "memory splits collectives fragments communicators conformance=hierarchical"),
    ("sim", "sim/exchange/alarms*.c", "messages cancel servers"),
    ("sim", "sim/exchange/*.c",
     "memory staging exchange collectives accounting staleness encoded fragments partial communicators "
     "conformance=allreduce,wagma"),
    ("sim", "sim/engine/*.c",
     "memory spans accounting staging cancel exchange staleness messages server fragments against_oracle drop_compute servers "
     "laws hang partial analytic conformance=allreduce,ad_psgd"),
    ("sim", "sim/*.c",
     "memory spans accounting staging cancel exchange staleness messages server fragments against_oracle drop_compute servers "
     "laws hang partial analytic conformance=allreduce,ad_psgd"),
    ("algorithms", "algorithms/drop_compute.c", "against_oracle drop_compute conformance=*"),
    ("algorithms", "algorithms/roles/*.c algorithms/template/*.c", "plugin"),
    ("algorithms", "algorithms/*.c",
     "memory outer staleness encoded against_arrivals against_oracle conformance=* "
     "servers laws failures_in_runs algorithms"),
]
# What survivors are tried by, too, when they are tried again.
REST = ("schema draw option round values encodings exchange accounting partial pair outer servers staleness zero differing_data "
        "hybrid slow_links failures failures_in_runs open nccl traces platforms fabrics describe sweep tables expenses compare reproduce report "
        "explain lesson cluster import run exchanges plugin verdict tune sensitivity phase random timeline")
STATEMENT = re.compile(r"^(\s+)([a-z_]\w*\((?:[^;{}]*)\));$")
OPERATORS = [  # what, by what
    (r"(?<=\s)<=(?=\s)", ["<", ">="]), (r"(?<=\s)>=(?=\s)", [">", "<="]), (r"(?<=\s)<(?=\s)", ["<=", ">"]),
    (r"(?<=\s)>(?=\s)", [">=", "<"]), (r"(?<=\s)==(?=\s)", ["!="]), (r"(?<=\s)!=(?=\s)", ["=="]),
    (r"(?<=\s)&&(?=\s)", ["||"]), (r"(?<=\s)\|\|(?=\s)", ["&&"]), (r"(?<=\s)\+(?=\s)", ["-"]), (r"(?<=\s)-(?=\s)", ["+"]),
    (r"(?<=\s)\*(?=\s)", ["/"]), (r"(?<=\s)/(?=\s)", ["*"]), (r"(?<=\s)%(?=\s)", ["/"]), (r"(?<=\s)\+=(?=\s)", ["-="]),
    (r"(?<=\s)-=(?=\s)", ["+="]), (r"(?<=\w)\+\+", ["--"]), (r"\btrue\b", ["false"]), (r"\bfalse\b", ["true"]),
    (r"\bdsgd_max\b|\bfmax\b", ["fmin"]), (r"\bfmin\b", ["fmax"]), (r"(?<![\w.\"\\])\d+(?![\w.\"])", ["+1", "-1"]),
    (r"(?<=if \()(?=[^;{}]*\)$)", ["!("]), (r"(?<=while \()(?=[^;{}]*\)( \{)?$)", ["!("]),
]


def code_lines(text):
    """Numbers of lines of functions, without comments, tables of options and assertions, which are no behaviour to be tested."""
    inside, comment, table = False, False, False
    for number, line in enumerate(text.split("\n")):
        bare = line.strip()
        if bare.startswith("/*"):
            comment = True
        if comment:
            comment = "*/" not in bare
            continue
        if line == "{":
            inside = True
        elif line == "}":
            inside = False
        elif inside and not re.search(r"DSGD_ASSERT|DSGD_OPTION|^\s*\"|dsgd_fail\(|^\s*(static )?const char|enum \{|#", line):
            yield number


def mutants_of(path):
    """(line number, the line, the changed line) of all mutants of a file."""
    lines = open(os.path.join(ROOT, path)).read().split("\n")
    found = []
    for number in code_lines("\n".join(lines)):
        line = lines[number]
        code = re.sub(r"/\*.*", "", line)
        for pattern, others in OPERATORS:
            for m in re.finditer(pattern, code):
                if '"' in code[:m.start()]:
                    continue
                for other in others:
                    if other in ("+1", "-1"):
                        other = str(int(m.group()) + int(other))
                    if other == "!(":
                        end = code.rindex(")")
                        changed = code[:m.end()] + "!(" + code[m.end():end] + ")" + code[end:]
                    else:
                        changed = code[:m.start()] + other + code[m.end():]
                    found.append((number, line, changed))
        m = STATEMENT.match(code)
        if m and not m.group(2).startswith(("return", "sizeof", "free(")):
            found.append((number, line, m.group(1) + ";"))
    return lines, found


def row_of(path):
    return next((row for row in ROOMS if any(fnmatch.fnmatch(path, pattern) for pattern in row[1].split())), None)


def expand(names):
    """The paths of rooms and of patterns; of all rooms without any."""
    product = sorted(os.path.relpath(p, ROOT) for folder in ("algorithms", "base", "command", "models", "sim", "traces")
                     for p in glob.glob(os.path.join(ROOT, folder, "**", "*.c"), recursive=True))
    product = [p for p in product if p not in LEFT_OUT and row_of(p) is not None]
    return [p for p in product if not names or any(name == row_of(p)[0] or fnmatch.fnmatch(p, name) for name in names)]


@functools.lru_cache(None)
def starts_programs(suite):
    """Whether a suite starts dsgd, as the file of its tests tells."""
    for path in glob.glob(os.path.join(ROOT, "tests", "*", "*.c")):
        with open(path) as stream:
            text = stream.read()
        if re.search(r"^(Suite \*%s_suite\(void\)|SUITE\(%s,)" % (suite, suite), text, re.M):
            return "tests/command/shell.h" in text or "_BINARY" in text
    sys.exit("there is no suite %s" % suite)


class Build:
    PRODUCTS = {"dsgd_tests": None, "dsgd": "DSGD_TEST_BINARY"}

    def __init__(self, folder):
        self.folder = os.path.join(ROOT, folder)
        self.compile = {}
        with open(os.path.join(self.folder, "compile_commands.json")) as stream:
            for c in json.load(stream):
                words = shlex.split(c["command"])
                words = words[os.path.basename(words[0]) == "ccache":]
                self.compile.setdefault(os.path.relpath(c["file"], ROOT), []).append(words)
        self.link = {product: self.link_of(product) for product in self.PRODUCTS}
        self.originals = {}

    def link_of(self, product):
        ninja = subprocess.run(["ninja", "-C", self.folder, "-t", "commands", product], check=True, capture_output=True, text=True)
        link = ninja.stdout.strip().split("\n")[-1]
        return shlex.split(link.replace(": && ", "").replace(" && :", ""))

    def products_of(self, path):
        """Those that a file is linked into, alone or in a library. Texts of devices are compiled several times, for one library."""
        found = set()
        for words in self.compile[path]:
            output = words[words.index("-o") + 1]
            target = re.sub(r"^dsgd_(cpu|encode|multiply)_.*", "dsgd_models", re.search(r"(\w[\w-]*)\.dir/", output).group(1))
            found |= {product for product, link in self.link.items() if output in link or any(w.endswith("lib%s.a" % target) for w in link)}
        return found

    def objects(self, path, lines, folder):
        """The object codes of a text in place of the file, None where it does not compile. At -O2, which finds more mutants the same."""
        source = os.path.join(folder, os.path.basename(path))
        with open(source, "w") as stream:
            stream.write("\n".join(lines))
        codes = []
        for k, words in enumerate(self.compile[path]):
            output = os.path.join(folder, "mutant%d.o" % k)
            words = [w for w in words if w not in ("-O1", "-g", "-Werror")]
            words = words[:words.index("-o")] + ["-w", "-O2", "-fmacro-prefix-map=%s=." % folder, "-o", output, "-c", source]
            if subprocess.run(words, capture_output=True, cwd=self.folder).returncode != 0:
                return None
            with open(output, "rb") as stream:
                codes.append(stream.read())
        return codes

    def original(self, path, lines, folder):
        if path not in self.originals:
            self.originals[path] = self.objects(path, lines, folder)
        return self.originals[path]

    def program(self, product, folder):
        """A copy of a program with the mutant's objects, whose definitions come first and are therefore taken."""
        output = os.path.join(folder, product)
        if not os.path.exists(output):
            words = list(self.link[product])
            words[words.index("-o") + 1] = output
            at = next(i for i, w in enumerate(words) if w.endswith((".o", ".a")))
            words = words[:at] + sorted(glob.glob(os.path.join(folder, "mutant*.o"))) + words[at:] + ["-Wl,-S", "-Wl,-z,muldefs"]
            subprocess.run(words, check=True, cwd=self.folder)
        return output


def limit_cpu(seconds):
    def limit():
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    return limit


def names_in(path):
    """The algorithms of a file."""
    text = open(os.path.join(ROOT, path)).read()
    return re.findall(r"\.about =\s*\{\.name = \"(\w+)\"", text)


def end_session(leader):
    """Of what a suite started, too: programs in process groups of their own."""
    for stat in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(stat) as stream:
                pid, rest = stream.read().split(" ", 1)
            if int(rest.rsplit(") ", 1)[1].split()[3]) == leader:
                os.kill(int(pid), signal.SIGKILL)
        except (FileNotFoundError, ProcessLookupError):
            pass


def killed_by(build, suite, path, folder, limits):
    """The name of the first test that fails, or how the suite ended; None: it passes."""
    suite, _, names = suite.partition("=")
    suite, _, case = suite.partition(":")
    environment = dict(os.environ, CK_TAP_LOG_FILE_NAME="-", CK_VERBOSITY="silent", CK_TIMEOUT_MULTIPLIER="20")
    if names:
        names = names_in(path) if names == "*" else names.split(",")
        environment.update(CK_RUN_CASE="declared", DSGD_TEST_ALGORITHMS=" ".join(names))
    if case:
        environment["CK_RUN_CASE"] = case
    products = build.products_of(path)
    tests = os.path.join(build.folder, "dsgd_tests")
    if starts_programs(suite):
        for product in products - {"dsgd_tests"}:
            environment[build.PRODUCTS[product]] = build.program(product, folder)
    in_tests = not starts_programs(suite) or not path.startswith("command/") or path.startswith("command/experiment/")
    if "dsgd_tests" in products and in_tests:
        tests = build.program("dsgd_tests", folder)
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen([tests, suite], stdout=subprocess.PIPE, stderr=errors, text=True, cwd=build.folder, env=environment,
                                   preexec_fn=limit_cpu(limits.cpu_seconds))
        alarm = threading.Timer(limits.wall_seconds, lambda: end_session(process.pid))
        try:
            alarm.start()
            for line in process.stdout:
                if line.startswith("not ok"):
                    return line.strip().split(" - ", 1)[-1][:120]
            return None if process.wait() == 0 else "ended by %d" % process.returncode
        finally:
            alarm.cancel()
            end_session(process.pid)
            process.stdout.close()
            process.wait()


def try_one(build, path, lines, mutant, arguments):
    number_of_line, before, after = mutant
    suites = row_of(path)[2].split()
    if arguments.again:
        suites += [s for s in REST.split() if s not in suites]
    with tempfile.TemporaryDirectory(prefix="dsgd-mutant-") as folder:
        changed = list(lines)
        changed[number_of_line] = after
        original = build.original(path, lines, folder)
        code = build.objects(path, changed, folder)
        if code is None:
            return ("not compile", "")
        if code == original and before != after:
            return ("same", "")
        for suite in suites:
            why = killed_by(build, suite, path, folder, arguments)
            if why is not None:
                return ("killed", "%s: %s" % (suite, why))
    return ("survived", " ".join(suites))


def reasons_of_survivors():
    """By (name of the file, line, changed line)."""
    reasons = {}
    for line in open(os.path.join(os.path.dirname(__file__), "survivors.txt")):
        if line.strip() and not line.startswith("#"):
            reason, path, before, after = (word.strip() for word in re.split(r"\t|  ->  ", line.strip()))
            reasons[(os.path.basename(path), before, after)] = reason
    return reasons


def report(verdicts):
    """Counts by room; the equivalent ones that survivors.txt names could not be noticed."""
    reasons = reasons_of_survivors()
    rooms = {}
    for (path, _, before, after), verdict in verdicts.items():
        if verdict == "survived":
            verdict = reasons.get((os.path.basename(path), before.strip(), after.strip()), "survived without a reason")
        for name in {row_of(path)[0], "all"}:
            counts = rooms.setdefault(name, {})
            counts[verdict] = counts.get(verdict, 0) + 1
    for name in sorted(rooms, key=lambda name: (name == "all", name)):
        print_counts(name, rooms[name])
    return 0 if "survived without a reason" not in rooms.get("all", {}) else 1


def print_counts(name, counts):
    told = sum(n for verdict, n in counts.items() if verdict not in ("same", "not compile", "equivalent"))
    print("%s: %d mutants: %s; of %d that could be told from the original %.1f %% killed" %
          (name, sum(counts.values()), ", ".join("%d %s" % (n, verdict) for verdict, n in sorted(counts.items())), told,
           100 * counts.get("killed", 0) / max(told, 1)))


def order(seed, path, _, mutant):
    """A mutant's place in the draw, which other lines and files that change or move do not move."""
    return hashlib.sha256("\t".join([str(seed), os.path.basename(path), mutant[1].strip(), mutant[2].strip()]).encode()).digest()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="*", help="rooms, or paths from the root; all that are concerned, if absent")
    parser.add_argument("--build", default="build/dev", help="folder of a build of dsgd_tests")
    parser.add_argument("--n", type=int, default=200, help="mutants, drawn")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="passes over so many of those drawn")
    parser.add_argument("--only", action="append", metavar="FILE:LINE", help="all mutants of a line, none drawn")
    parser.add_argument("--again", action="store_true", help="tries those that have survived in the log without a reason, by more suites")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--list", action="store_true", help="prints all mutants and runs nothing")
    parser.add_argument("--log", help="a file of one JSON object per mutant, appended to; what is in it is not tried again")
    parser.add_argument("--unchanged", action="append", metavar="FILE", help="first passes the suites of this file with no mutant")
    parser.add_argument("--cpu-seconds", type=int, default=20, help="of each process of a suite")
    parser.add_argument("--wall-seconds", type=int, default=200, help="of a suite")
    arguments = parser.parse_args()
    everything = []
    for path in expand(arguments.files):
        lines, mutants = mutants_of(path)
        everything += [(path, lines, m) for m in mutants]
    print("%d mutants are possible" % len(everything), flush=True)
    if arguments.list:
        for path, _, (number, before, after) in everything:
            print("%s:%d: %s  ->  %s" % (path, number + 1, before.strip(), after.strip()))
        return 0
    drawn = sorted(everything, key=lambda one: order(arguments.seed, *one))[arguments.first:arguments.n]
    if arguments.only:
        drawn = [(path, lines, m) for path, lines, m in everything if "%s:%d" % (path, m[0] + 1) in arguments.only]
    build = Build(arguments.build)
    verdicts = {}
    if arguments.log and os.path.exists(arguments.log):
        for line in open(arguments.log):
            one = json.loads(line)
            verdicts[(one["file"], one["line"], one["from"], one["to"])] = one["verdict"]
    if arguments.again:
        known = reasons_of_survivors()
        left = {key for key, verdict in verdicts.items()
                if verdict == "survived" and (os.path.basename(key[0]), key[2].strip(), key[3].strip()) not in known}
        drawn = [(path, lines, m) for path, lines, m in everything if (path, m[0] + 1, m[1], m[2]) in left]
    else:
        drawn = [(path, lines, m) for path, lines, m in drawn if (path, m[0] + 1, m[1], m[2]) not in verdicts]
    for path in arguments.unchanged or []:  # the suites of a file have to pass without a change
        lines, _ = mutants_of(path)
        verdict, why = try_one(build, path, lines, (0, lines[0], lines[0]), arguments)
        print("%s, unchanged, is %s by %s" % (path, verdict, why), flush=True)
        if verdict != "survived":
            return 2
    said = threading.Lock()

    def one(path, lines, mutant):
        number, before, after = mutant
        change = "%s:%d: %s  ->  %s" % (path, number + 1, before.strip(), after.strip())
        try:
            verdict, why = try_one(build, path, lines, mutant, arguments)
        except (OSError, subprocess.CalledProcessError) as error:  # the others go on
            print("not tried   %s: %s" % (change, error), flush=True)
            return
        with said:
            verdicts[(path, number + 1, before, after)] = verdict
            print("%-11s %s   [%s]" % (verdict, change, why), flush=True)
            if arguments.log:
                with open(arguments.log, "a") as log:
                    log.write(json.dumps({"verdict": verdict, "file": path, "line": number + 1, "from": before, "to": after,
                                          "why": why}) + "\n")

    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for task in [pool.submit(one, *mutant) for mutant in drawn]:
            task.result()
    return report(verdicts)


if __name__ == "__main__":
    sys.exit(main())
