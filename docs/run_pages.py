#!/usr/bin/env python3
"""Runs the commands on the pages of the documentation, and compares or refreshes what the pages show.

    run_pages.py check [PAGE...]     compares; exit status 1 if a page shows something else than the program prints
    run_pages.py update [PAGE...]    writes into the pages what the program prints now
    run_pages.py list [PAGE...]      prints the number of commands and generated blocks of each page

PAGE is a Markdown file; without one, all pages below docs/ are taken. --dsgd=PROGRAM names the program (build/release/dsgd).

A page has three kinds of blocks that this script reads:

- `<!-- file: NAME -->`, followed by a fenced block: the block is written to the file NAME before the commands below it run.
- A fenced block of language `console`: each line `$ dsgd ...` is a command, and the lines below it are its output. A line `...` stands
  for any lines. All commands of a page run one after the other in one folder, which is empty except for the files of the page; for a
  lesson of the course, it is a copy of the lesson's folder. The output is that on stdout, followed by the lines on stderr that begin with
  `dsgd:`. Wall times are not compared.
- `<!-- dsgd WORDS -->` to `<!-- end -->`: what `dsgd WORDS` prints, as Markdown.
"""

import argparse
import concurrent.futures
import difflib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

TREE = pathlib.Path(__file__).resolve().parent.parent
FENCE = re.compile(r"^```(\S*)\s*$")
FILE = re.compile(r"^<!-- file: (\S+) -->$")
GENERATED = re.compile(r"^<!-- dsgd (.*) -->$")
WALL_COLUMN = 9  # characters of a number below the heading `wall (s)`


def run(program, words, folder, columns=80):
    """Returns the output of a command as a page shows it, and its exit status."""
    environment = dict(os.environ, DSGD_DATA=str(TREE), COLUMNS=str(columns))
    done = subprocess.run(f"'{program}' {words}", shell=True, cwd=folder, env=environment, text=True, capture_output=True)
    errors = [line for line in done.stderr.splitlines() if line.startswith("dsgd:")]
    return done.stdout.splitlines() + errors, done.returncode


def without_wall_times(lines):
    """Blanks the numbers below a heading `wall (s)`, also if the heading takes two lines, down to the end of the table."""
    result, end = [], None
    for line in lines:
        at = line.find(" wall") if line.startswith("run ") else -1
        if at >= 0:
            end = at + (9 if line[at:].startswith(" wall (s)") else 5)
        elif line in ("", "..."):
            end = None
        elif end is not None:
            line = line[:max(0, end - WALL_COLUMN)] + " " * WALL_COLUMN + line[end:]
        result.append(line.rstrip())
    return result


def agrees(expected, output):
    """Whether an output is the expected one, in which a line `...` stands for any lines."""
    pattern = "".join(".*" if line == "..." else re.escape(line + "\n") for line in without_wall_times(expected))
    return re.fullmatch(pattern, "".join(line + "\n" for line in without_wall_times(output)), re.DOTALL) is not None


def refreshed(expected, output):
    """Returns the output, shortened by `...` where the expected one is: each stretch becomes the lines of the output most like it."""
    if "..." not in expected:
        return output
    stretches = [[]]
    for line in expected:
        if line == "...":
            stretches.append([])
        else:
            stretches[-1].append(line)
    result, start = [], 0
    for i, stretch in enumerate(stretches):
        n = len(stretch)
        last = len(output) - n
        places = range(start, last + 1)
        if i == 0:
            places = range(0, 1)
        elif i == len(stretches) - 1 and n > 0:
            places = range(last, last + 1)

        def likeness(place, stretch=stretch, n=n):
            return sum(difflib.SequenceMatcher(None, a, b).ratio() for a, b in zip(stretch, output[place:place + n]))

        if n > 0 and len(places) > 0:
            start = max(places, key=likeness)
            result += output[start:start + n]
            start += n
        if i < len(stretches) - 1:
            result.append("...")
    return result


class Page:
    def __init__(self, path, program):
        self.path, self.program = path, program
        self.lines = path.read_text().splitlines()
        self.wrong = []  # sentences
        self.n_commands = self.n_generated = 0

    def complain(self, line, sentence, expected=(), output=()):
        difference = difflib.unified_diff(list(expected), list(output), "the page", "the program", lineterm="", n=1)
        self.wrong.append(f"{self.path}:{line + 1}: {sentence}\n" + "".join(f"    {d}\n" for d in list(difference)[:60]))

    def block_end(self, i):
        """The line of the closing fence of the block that begins at line i."""
        for k in range(i + 1, len(self.lines)):
            if self.lines[k].startswith("```"):
                return k
        raise SystemExit(f"{self.path}:{i + 1}: the block has no end")

    def generate(self, i, words):
        """Compares or writes what is between a `<!-- dsgd WORDS -->` in line i and its end. Returns the line of the end."""
        end = next((k for k in range(i, len(self.lines)) if self.lines[k] == "<!-- end -->"), None)
        if end is None:
            raise SystemExit(f"{self.path}:{i + 1}: no `<!-- end -->` follows")
        output, status = run(self.program, words, TREE)
        if status != 0:
            self.complain(i, f"`dsgd {words}` fails with exit status {status}", [], output)
        while output and output[-1] == "":
            output.pop()
        block = [""] + output + [""]
        if self.lines[i + 1:end] != block:
            self.complain(i, f"`dsgd {words}` prints something else", self.lines[i + 1:end], block)
        self.lines[i + 1:end] = block
        self.n_generated += 1
        return i + 1 + len(block)

    def execute(self, i, folder):
        """Runs the commands of the console block that begins at line i. Returns the line of its end."""
        end = self.block_end(i)
        block, new = self.lines[i + 1:end], []
        k = 0
        while k < len(block):
            command = block[k]
            n = next((m for m in range(k + 1, len(block)) if block[m].startswith("$ ")), len(block))
            expected = block[k + 1:n]
            if not command.startswith("$ dsgd "):
                self.complain(i + 1 + k, f"a console block must consist of `$ dsgd ...` and outputs, got `{command}`")
                return end
            output, _ = run(self.program, command[7:], folder)
            self.n_commands += 1
            if not agrees(expected, output):
                self.complain(i + 1 + k, f"`{command[2:]}` prints something else", expected, output)
                expected = refreshed(expected, output)
            new += [command] + expected
            k = n
        self.lines[i + 1:end] = new
        return i + 1 + len(new)

    def go(self, folder):
        """Goes through the page once, with its commands in the folder."""
        i, name = 0, None
        while i < len(self.lines):
            line = self.lines[i]
            fence, generated, file = FENCE.match(line), GENERATED.match(line), FILE.match(line)
            if file:
                name = file.group(1)
            elif generated:
                i = self.generate(i, generated.group(1))
            elif fence and name is not None:
                end = self.block_end(i)
                (pathlib.Path(folder) / name).write_text("\n".join(self.lines[i + 1:end]) + "\n")
                i, name = end, None
            elif fence and fence.group(1) == "console":
                i = self.execute(i, folder)
            elif fence:
                i = self.block_end(i)
            elif line.strip() and name is not None:
                self.complain(i, f"no block follows `<!-- file: {name} -->`")
                name = None
            i += 1
        return self

    def handle(self):
        with tempfile.TemporaryDirectory(prefix="dsgd-page-") as folder:
            if (self.path.parent / "start.yaml").exists():  # a lesson
                shutil.copytree(self.path.parent, folder, dirs_exist_ok=True)
            return self.go(folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("action", choices=("check", "update", "list"))
    parser.add_argument("pages", nargs="*", type=pathlib.Path, metavar="PAGE")
    parser.add_argument("--dsgd", default=TREE / "build/release/dsgd", help="the program [default: build/release/dsgd]")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="pages at the same time [default: number of cores]")
    given = parser.parse_args()
    program = pathlib.Path(given.dsgd).resolve()
    paths = given.pages or sorted((TREE / "docs").rglob("*.md"))
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        pages = list(pool.map(lambda path: Page(path, program).handle(), paths))
    for page in pages:
        if given.action == "list":
            print(f"{page.path}: {page.n_commands} commands, {page.n_generated} generated blocks")
        else:
            print(*page.wrong, sep="", end="")
        if given.action == "update" and page.wrong:
            page.path.write_text("\n".join(page.lines) + "\n")
    n_wrong = sum(len(page.wrong) for page in pages)
    print(f"{sum(page.n_commands for page in pages)} commands and {sum(page.n_generated for page in pages)} generated blocks on "
          f"{len(pages)} pages, {n_wrong} {'refreshed' if given.action == 'update' else 'wrong'}")
    return 1 if n_wrong > 0 and given.action == "check" else 0


if __name__ == "__main__":
    sys.exit(main())
