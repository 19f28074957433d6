#!/usr/bin/env python3
"""Mutation testing: what would the tests notice?

Draws places in the algorithms, the exchanges and the engine's accounting (by a hash: the same ones after other lines have changed),
changes one thing at each, builds that file alone, links it before the libraries of a copy of dsgd_tests, and runs the suites that
concern the file, the fastest first, until a test fails.

    tests/mutants/mutants.py --n 200 --seed 1        # build/dev has to be built
    tests/mutants/mutants.py --list sim/exchange/pair.c

A mutant is `killed` by a suite, `survived` them all, has the `same` object code as the original at -O2 (no test could tell), or does
`not compile`. A suite has so many seconds of CPU time (RLIMIT_CPU), and minutes of the clock for what waits for nothing.
"""
import argparse
import concurrent.futures
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
FILES = ["algorithms/*.c", "sim/exchange/*.c", "sim/engine/accounting.c", "sim/engine/steps.c", "sim/engine/step_times.c",
         "sim/engine/computation.c", "sim/engine/waiting.c"]
LEFT_OUT = {"algorithms/registry.c"}  # lists
# By the beginning of the path; the first that fits. Suites in the order of their seconds.
# conformance=NAMES: its checks of these algorithms; of those of the file: conformance=*. @loggp: on that network, which takes less.
SUITES = [
    ("sim/exchange/pair", "memory staging pair alone against_arrivals hang conformance=ad_psgd@loggp"),
    ("sim/exchange/server", "memory server spans staging arrivals against_arrivals servers alone conformance=ssp@loggp"),
    ("sim/exchange/letters", "memory letters spans arrivals against_arrivals servers conformance=ringmaster,dsgd_aau@loggp"),
    ("sim/exchange/partial", "memory partial@loggp traffic against_oracle staleness laws conformance=eager_majority,wagma@loggp"),
    ("sim/exchange/closed", "memory collectives exchange fragments closed conformance=allreduce@loggp"),
    ("sim/exchange/gossip", "memory exchange staleness encoded fragments against_oracle against_younger gossip conformance=sgp,choco@loggp"),
    ("sim/exchange/fusion", "memory exchange accounting staging"),
    ("sim/exchange/collectives", "memory staging exchange collectives accounting encoded fragments communicators@loggp closed@loggp "
                                 "conformance=allreduce@loggp"),
    ("sim/exchange/schedules", "memory traffic encoded collectives accounting exchange partial@loggp communicators@loggp microbenchmark "
                               "conformance=allreduce,power_sgd@loggp"),
    ("sim/exchange/communicators", "memory splits collectives fragments communicators@loggp conformance=hierarchical,noloco@loggp"),
    ("sim/exchange/alarms", "letters cancel servers"),
    ("sim/exchange", "memory staging exchange collectives accounting staleness@loggp encoded fragments partial@loggp communicators@loggp "
                     "conformance=allreduce,wagma@loggp"),
    ("sim/engine", "memory spans accounting staging cancel exchange staleness letters server fragments against_oracle drop_compute servers laws "
                   "hang@loggp partial@loggp closed@loggp conformance=allreduce,ad_psgd@loggp"),
    ("algorithms/drop_compute", "against_oracle drop_compute conformance=*@loggp"),
    ("algorithms", "memory traffic outer staleness@loggp encoded arrivals against_arrivals against_oracle conformance=*@loggp against_younger "
                   "servers laws algorithms@loggp"),
]
STATEMENT = re.compile(r"^(\s+)([a-z_]\w*\((?:[^;{}]*)\));$")
OPERATORS = [  # what, by what
    (r"(?<=\s)<=(?=\s)", ["<", ">="]), (r"(?<=\s)>=(?=\s)", [">", "<="]), (r"(?<=\s)<(?=\s)", ["<=", ">"]),
    (r"(?<=\s)>(?=\s)", [">=", "<"]), (r"(?<=\s)==(?=\s)", ["!="]), (r"(?<=\s)!=(?=\s)", ["=="]),
    (r"(?<=\s)&&(?=\s)", ["||"]), (r"(?<=\s)\|\|(?=\s)", ["&&"]), (r"(?<=\s)\+(?=\s)", ["-"]), (r"(?<=\s)-(?=\s)", ["+"]),
    (r"(?<=\s)\*(?=\s)", ["/"]), (r"(?<=\s)/(?=\s)", ["*"]), (r"(?<=\s)%(?=\s)", ["/"]), (r"(?<=\s)\+=(?=\s)", ["-="]),
    (r"(?<=\s)-=(?=\s)", ["+="]), (r"(?<=\w)\+\+", ["--"]), (r"\btrue\b", ["false"]), (r"\bfalse\b", ["true"]),
    (r"\bdsgd_max\b|\bfmax\b", ["fmin"]), (r"\bfmin\b", ["fmax"]), (r"(?<![\w.\"])\d+(?![\w.\"])", ["+1", "-1"]),
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


def expand(patterns):
    import glob
    paths = [os.path.relpath(p, ROOT) for pattern in patterns for p in sorted(glob.glob(os.path.join(ROOT, pattern)))]
    return [p for p in paths if p not in LEFT_OUT]


class Build:
    def __init__(self, folder):
        self.folder = os.path.join(ROOT, folder)
        with open(os.path.join(self.folder, "compile_commands.json")) as stream:
            self.compile = {os.path.relpath(c["file"], ROOT): shlex.split(c["command"]) for c in json.load(stream)}
        ninja = subprocess.run(["ninja", "-C", self.folder, "-t", "commands", "dsgd_tests"], check=True, capture_output=True, text=True)
        link = ninja.stdout.strip().split("\n")[-1]
        self.link = shlex.split(link.replace(": && ", "").replace(" && :", ""))

        self.originals = {}

    def object(self, path, lines, folder):
        """The object code of a text in place of the file, None where it does not compile. At -O2, which finds more mutants the same."""
        source = os.path.join(folder, os.path.basename(path))
        output = os.path.join(folder, "mutant.o")
        with open(source, "w") as stream:
            stream.write("\n".join(lines))
        words = [w for w in self.compile[path] if w not in ("-O1", "-g", "-Werror")]
        words = words[:words.index("-o")] + ["-w", "-O2", "-fmacro-prefix-map=%s=." % folder, "-o", output, "-c", source]
        if subprocess.run(words, capture_output=True, cwd=self.folder).returncode != 0:
            return None
        with open(output, "rb") as stream:
            return stream.read()

    def original(self, path, lines, folder):
        if path not in self.originals:
            self.originals[path] = self.object(path, lines, folder)
        return self.originals[path]

    def program(self, mutated, output):
        words = list(self.link)
        words[words.index("-o") + 1] = output
        at = next(i for i, w in enumerate(words) if w.endswith(".a"))
        words = words[:at] + [mutated] + words[at:] + ["-Wl,-S"]  # before the libraries, which then keep their own
        subprocess.run(words, check=True, cwd=self.folder)


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


def killed_by(build, program, suite, path, limits):
    """The name of the first test that fails, or how the suite ended; None: it passes."""
    with tempfile.TemporaryFile("w+") as errors:
        suite, _, network = suite.partition("@")
        suite, _, names = suite.partition("=")
        environment = dict(os.environ, CK_TAP_LOG_FILE_NAME="-", CK_VERBOSITY="silent", CK_TIMEOUT_MULTIPLIER="20", OPENBLAS_NUM_THREADS="1")
        environment["DSGD_TEST_NETWORK"] = network or "flows"
        if names:
            names = names_in(path) if names == "*" else names.split(",")
            environment.update(CK_RUN_CASE="declared", DSGD_TEST_ALGORITHMS=" ".join(names))
        process = subprocess.Popen([program, suite], stdout=subprocess.PIPE, stderr=errors, text=True, cwd=build.folder, env=environment,
                                   preexec_fn=limit_cpu(limits.cpu_seconds))
        alarm = None
        try:
            alarm = threading.Timer(limits.wall_seconds, lambda: os.killpg(process.pid, signal.SIGKILL))
            alarm.start()
            for line in process.stdout:
                if line.startswith("not ok"):
                    return line.strip().split(" - ", 1)[-1][:120]
            return None if process.wait() == 0 else "ended by %d" % process.returncode
        finally:
            alarm.cancel()
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.stdout.close()
            process.wait()


def try_one(build, path, lines, mutant, arguments):
    number_of_line, before, after = mutant
    suites = next(s for beginning, s in SUITES if path.startswith(beginning)).split()
    with tempfile.TemporaryDirectory(prefix="dsgd-mutant-") as folder:
        changed = list(lines)
        changed[number_of_line] = after
        original = build.original(path, lines, folder)
        code = build.object(path, changed, folder)
        if code is None:
            return ("not compile", "")
        if code == original and before != after:
            return ("same", "")
        program = os.path.join(folder, "dsgd_tests")
        build.program(os.path.join(folder, "mutant.o"), program)
        for suite in suites:
            why = killed_by(build, program, suite, path, arguments)
            if why is not None:
                return ("killed", "%s: %s" % (suite, why))
    return ("survived", " ".join(suites))


def reasons_of_survivors():
    """By (file, line, changed line)."""
    reasons = {}
    for line in open(os.path.join(os.path.dirname(__file__), "survivors.txt")):
        if line.strip() and not line.startswith("#"):
            reason, path, before, after = (word.strip() for word in re.split(r"\t|  ->  ", line.strip()))
            reasons[(path, before, after)] = reason
    return reasons


def report(verdicts):
    """Counts; the equivalent ones that survivors.txt names could not be noticed."""
    reasons = reasons_of_survivors()
    counts = {}
    for (path, _, before, after), verdict in verdicts.items():
        if verdict == "survived":
            verdict = reasons.get((path, before.strip(), after.strip()), "survived without a reason")
        counts[verdict] = counts.get(verdict, 0) + 1
    told = sum(n for verdict, n in counts.items() if verdict not in ("same", "not compile", "equivalent"))
    print("%d mutants: %s; of %d that could be told from the original %.1f %% killed" %
          (len(verdicts), ", ".join("%d %s" % (n, verdict) for verdict, n in sorted(counts.items())), told,
           100 * counts.get("killed", 0) / max(told, 1)))
    return 0 if "survived without a reason" not in counts else 1


def order(seed, path, _, mutant):
    """A mutant's place in the draw, which other lines and files that change do not move."""
    return hashlib.sha256("\t".join([str(seed), path, mutant[1].strip(), mutant[2].strip()]).encode()).digest()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="*", help="paths from the root; all that are concerned, if absent")
    parser.add_argument("--build", default="build/dev", help="folder of a build of dsgd_tests")
    parser.add_argument("--n", type=int, default=200, help="mutants, drawn")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="passes over so many of those drawn")
    parser.add_argument("--only", action="append", metavar="FILE:LINE", help="all mutants of a line, none drawn")
    parser.add_argument("--again", action="store_true", help="tries those that have survived in the log without a reason")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--list", action="store_true", help="prints all mutants and runs nothing")
    parser.add_argument("--log", help="a file of one JSON object per mutant, appended to; what is in it is not tried again")
    parser.add_argument("--unchanged", action="append", metavar="FILE", help="first passes the suites of this file with no mutant")
    parser.add_argument("--cpu-seconds", type=int, default=20, help="of each process of a suite")
    parser.add_argument("--wall-seconds", type=int, default=200, help="of a suite")
    arguments = parser.parse_args()
    everything = []
    for path in expand(arguments.files or FILES):
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
                if verdict == "survived" and (key[0], key[2].strip(), key[3].strip()) not in known}
        drawn = [(path, lines, m) for path, lines, m in everything if (path, m[0] + 1, m[1], m[2]) in left]
    else:
        drawn = [(path, lines, m) for path, lines, m in drawn if (path, m[0] + 1, m[1], m[2]) not in verdicts]
    for path in arguments.unchanged or []:  # the suites of a file have to pass without a change
        lines, _ = mutants_of(path)
        verdict, why = try_one(build, path, lines, (0, lines[0], lines[0]), arguments)
        print("%s, unchanged, is %s by %s" % (path, verdict, why), flush=True)
        if verdict != "survived":
            return 2
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        tasks = {pool.submit(try_one, build, path, lines, m, arguments): (path, m) for path, lines, m in drawn}
        for task in concurrent.futures.as_completed(tasks):
            path, (number, before, after) = tasks[task]
            verdict, why = task.result()
            verdicts[(path, number + 1, before, after)] = verdict
            print("%-11s %s:%d: %s  ->  %s   [%s]" % (verdict, path, number + 1, before.strip(), after.strip(), why), flush=True)
            if arguments.log:
                with open(arguments.log, "a") as log:
                    log.write(json.dumps({"verdict": verdict, "file": path, "line": number + 1, "from": before, "to": after,
                                          "why": why}) + "\n")
    return report(verdicts)


if __name__ == "__main__":
    sys.exit(main())
