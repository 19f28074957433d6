"""The man pages and completions that the build makes: every option that --help has, in real shells.

python3 test_pages.py DSGD FOLDER, where FOLDER has dsgd.1, dsgd.bash, _dsgd and dsgd.fish.
"""

import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

DSGD, PAGES = sys.argv.pop(1), sys.argv.pop(1)


def output(*words):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.stdout


def commands():
    return re.findall(r"^  ([a-z]+) ", output(DSGD, "--help"), re.MULTILINE)


def options(command):
    """The long options that `dsgd COMMAND --help` shows."""
    return set(re.findall(r"(?<![\w`-])--[a-z-]+", output_of_help(command)))


def output_of_help(command):
    # Of each option the part before its text: texts name options of other commands.
    lines = output(DSGD, command, "--help").splitlines()
    return "\n".join(line[:28] for line in lines if re.match(r" {2,6}-", line))


def names(kind):
    return set(re.findall(r"^(\S+)(?:  .*)?$", output(DSGD, "list", kind), re.MULTILINE))


class Shell:
    """What all three shells have to complete. `complete` gives the words for the end of a line."""

    def test_commands(self):
        self.assertLessEqual(set(commands()), self.complete("dsgd "))
        self.assertEqual(self.complete("dsgd descr"), {"describe"})

    def test_every_option_of_every_command(self):
        for command in commands():
            with self.subTest(command=command):
                found = {w.rstrip("=-") for w in self.complete("dsgd %s --" % command)}
                self.assertEqual(found, options(command))

    def test_names(self):
        self.assertEqual(self.complete("dsgd test algorithm wagma d"), {n for n in names("algorithms") if n.startswith("d")})
        self.assertEqual(self.complete("dsgd plot results slo"), {"slowdown"})
        self.assertEqual(self.complete("dsgd describe workload resnet50-"), {n for n in names("workloads") if n.startswith("resnet50-")})
        self.assertEqual(self.complete("dsgd describe imbalance gpu-"), {"gpu-variability"})
        self.assertIn("piz-daint", self.complete("dsgd platform check pi"))
        self.assertIn("devices", self.complete("dsgd list "))
        self.assertNotIn("and", self.complete("dsgd describe imbalance "))

    def test_words_of_an_option(self):
        self.assertEqual(self.complete("dsgd run e.yaml --numerics c"), {"cpu", "cuda"})
        self.assertEqual(self.complete("dsgd run --numerics off --progress j"), {"json"})

    def test_an_option_with_a_value_is_no_operand(self):
        self.assertEqual(self.complete("dsgd describe --plugin x.so workload mlp"), set())
        self.assertEqual(self.complete("dsgd test --plugin x.so alg"), {"algorithm"})

    def test_keys_and_values_of_set(self):
        self.assertEqual({w.rstrip("=") for w in self.complete("dsgd run --set plat")}, {"platform"})
        self.assertIn("exchange.pieces", {w.rstrip("=") for w in self.complete("dsgd run --set exchange.")})
        self.assertEqual({w.split("=")[-1] for w in self.complete("dsgd run --set platform=pi")}, {"piz-daint"})

    def test_files(self):
        for name in ("an experiment.yaml", "another.yaml"):
            open(os.path.join(self.folder, name), "w").close()
        os.mkdir(os.path.join(self.folder, "an"))
        found = {w.replace("\\", "") for w in self.complete("dsgd run an")}
        self.assertLessEqual({"an experiment.yaml", "another.yaml"}, found)
        self.assertEqual({w.rstrip("/") for w in self.complete("dsgd compare a")}, {"an"})
        self.assertEqual({w.rstrip("/") for w in self.complete("dsgd run -o a")}, {"an"})

    def setUp(self):
        if shutil.which(self.shell) is None:
            self.skipTest("%s is not installed" % self.shell)
        self.folder = tempfile.mkdtemp()
        self.environment = {
            "HOME": self.folder, "LANG": "C.UTF-8", "TERM": "dumb",
            "PATH": os.path.dirname(DSGD) + ":" + os.environ["PATH"],
        }

    def tearDown(self):
        shutil.rmtree(self.folder)

    def run_in(self, *words):
        done = subprocess.run(words, cwd=self.folder, env=self.environment, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(done.stderr, "")
        return set(done.stdout.splitlines()) - {""}


class Bash(Shell, unittest.TestCase):
    shell = "bash"

    def complete(self, line):
        # The words as readline cuts them: at blanks and around `=`.
        words = re.findall(r"=|[^\s=]+", line) + ([""] if line.endswith(" ") else [])
        script = """source "$1"; shift; compopt() { :; }
            COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _dsgd dsgd "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
            printf '%s\\n' "${COMPREPLY[@]}" """
        return self.run_in("bash", "--norc", "-u", "-c", script, "bash", os.path.join(PAGES, "dsgd.bash"), *words)

    def test_is_registered(self):
        line = self.run_in("bash", "--norc", "-c", 'source "$1"; complete -p dsgd', "bash", os.path.join(PAGES, "dsgd.bash"))
        self.assertEqual(line, {"complete -F _dsgd dsgd"})

    def test_values_behind_an_equals_sign(self):
        self.assertEqual(self.complete("dsgd run --numerics=c"), {"cpu", "cuda"})
        self.assertEqual(self.complete("dsgd run --numerics="), {"auto", "cpu", "cuda", "off"})


class Fish(Shell, unittest.TestCase):
    shell = "fish"

    def complete(self, line):
        script = "source %s; complete -C '%s'" % (os.path.join(PAGES, "dsgd.fish"), line)
        return {w.split("\t")[0] for w in self.run_in("fish", "--no-config", "-c", script)}


class Zsh(Shell, unittest.TestCase):
    """A zsh behind a terminal, whose editor completes a line before anything is typed, and ends."""

    shell = "zsh"
    START = """
        LISTMAX=100000; setopt no_auto_list no_auto_menu no_beep
        fpath=(%s $fpath); autoload -Uz compinit; compinit -C -d %s
        compadd() {
            if (( ${*[(I)-[OADa-zA-Z]#[OAD]*]} )); then builtin compadd "$@"; return; fi
            local -a offered; builtin compadd -O offered "$@"
            print -rl -- $offered >>offered; builtin compadd "$@"
        }
        zle-line-init() { BUFFER=$LINE; CURSOR=$#BUFFER; zle complete-word; kill -KILL $$; }; zle -N zle-line-init
        """

    @classmethod
    def setUpClass(cls):
        cls.dumps = tempfile.mkdtemp()  # what compinit finds, which takes seconds

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.dumps)

    def complete(self, line):
        with open(os.path.join(self.folder, ".zshrc"), "w") as file:
            file.write(self.START % (PAGES, os.path.join(self.dumps, "dump")))
        path = os.path.join(self.folder, "offered")
        open(path, "w").close()
        main, side = pty.openpty()
        child = subprocess.Popen(["zsh", "-d", "-i"], cwd=self.folder, stdin=side, stdout=side, stderr=side, start_new_session=True,
                                 env=dict(self.environment, ZDOTDIR=self.folder, LINE=line))
        os.close(side)
        try:
            while os.read(main, 4096):
                pass
        except OSError:
            pass  # the other end is closed: zsh has ended
        finally:
            child.kill()
            child.wait()
            os.close(main)
        with open(path) as file:
            offered = set(file.read().splitlines()) - {""}
        os.unlink(path)
        last = line.rpartition(" ")[2].rpartition("=")[2]  # of files it is offered more than begins so
        return {word for word in offered if word.startswith(last)}


class Man(unittest.TestCase):
    def text(self, page):
        with open(os.path.join(PAGES, page)) as file:
            return file.read().replace("\\-", "-")

    def test_has_every_option_of_every_command(self):
        text = self.text("dsgd.1")
        for command in commands():
            section = text[text.index("\n.SS dsgd %s " % command):]
            section = section[: section.index("\n.S", 1)]
            self.assertEqual(set(re.findall(r"^(?:\\fB-.\\fR, )?\\fB(--[a-z-]+)", section, re.MULTILINE)), options(command))

    def test_examples_run_as_man_shows_them(self):
        text = self.text("dsgd.1")
        lines = [line for block in re.findall(r"\n\.nf\n(.*?)\n\.fi\n", text, re.DOTALL) for line in block.split("\n")]
        self.assertGreater(len(lines), 10)
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(DSGD, os.path.join(folder, "dsgd"))
            done = subprocess.run(["sh", "-ec", "PATH=$PWD:$PATH\n" + "\n".join(lines)], cwd=folder, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            made = set(os.listdir(folder)) | set(os.listdir(os.path.join(folder, "results")))
        self.assertLessEqual({"late.json", "late", "fast"}, made)

    def test_mandoc_finds_nothing(self):
        if shutil.which("mandoc") is None:
            self.skipTest("mandoc is not installed")
        self.assertEqual(output("mandoc", "-Tlint", os.path.join(PAGES, "dsgd.1")), "")

    def test_groff_finds_nothing(self):
        if shutil.which("groff") is None:
            self.skipTest("groff is not installed")
        self.assertEqual(output("groff", "-man", "-Tutf8", "-ww", "-z", os.path.join(PAGES, "dsgd.1")), "")


if __name__ == "__main__":
    unittest.main(verbosity=2)
