#!/usr/bin/env python3
"""Sabotage: which law of random experiments notices a wrong line of the product?

Each line of planted.txt is a change of one line. Builds that file alone, as mutants.py does, links it into a copy of dsgd, and lets
dsgd_random try experiments with it, of those that have certain words in them, until a law is broken.

    tests/random/planted.py --first 70000 --count 30       # build/dev has to be built
"""
import argparse
import collections
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "tests", "mutants"))
import mutants  # noqa: E402


def planted():
    """(what, file, words, line, changed line) of each."""
    for line in open(os.path.join(os.path.dirname(__file__), "planted.txt")):
        if line.strip() and not line.startswith("#"):
            yield [word.strip() for word in re.split(r"\t|  ->  ", line)]


def noticed_by(build, change, arguments, folder):
    """The first law that is broken, by which experiment; None: they hold."""
    _, path, words, before, after = change
    lines = open(os.path.join(ROOT, path)).read().split("\n")
    places = [i for i, line in enumerate(lines) if line.strip() == before]
    if len(places) != 1:
        sys.exit("%s has %d lines %s" % (path, len(places), before))
    lines[places[0]] = after
    if build.objects(path, lines, folder) is None:
        sys.exit("%s does not compile with %s" % (path, after))
    environment = dict(os.environ, DSGD_PROGRAM=build.program("dsgd", folder))
    program = os.path.join(build.folder, "dsgd_random")
    subprocess.run([program, str(arguments.first), str(100 * arguments.count), folder], check=True)
    texts = {name: open(os.path.join(folder, name)).read() for name in os.listdir(folder) if name.endswith(".yaml")}
    seeds = sorted(int(name[:-5]) for name, text in texts.items() if re.search(words, text))
    for seed in seeds[:arguments.count]:
        said = subprocess.run([program, str(seed), "1"], stdout=subprocess.PIPE, text=True, env=environment).stdout
        broken = re.search(r"^(\d+) broken: (.{,100})", said, re.M)
        if broken:
            return broken
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build/dev")
    parser.add_argument("--first", type=int, default=70000)
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--only", default="", help="those whose description has this in it")
    arguments = parser.parse_args()
    build = mutants.Build(arguments.build)
    laws = collections.Counter()
    for change in planted():
        if arguments.only in change[0]:
            with tempfile.TemporaryDirectory(prefix="dsgd-planted-") as folder:
                broken = noticed_by(build, change, arguments, folder)
            laws[broken.group(2).split(":")[0] if broken else "none"] += 1
            print("%s: %s" % (change[0], "%s: %s" % broken.groups() if broken else "not noticed"), flush=True)
    print("%d noticed of %d: %s" % (laws.total() - laws["none"], laws.total(), ", ".join("%s %d" % row for row in laws.most_common())))


if __name__ == "__main__":
    main()
