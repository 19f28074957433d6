"""The lists of Debian packages in this tree agree, but for differences that are written here with their reasons.

python3 test_lists.py FOLDER, the top folder of the tree.
"""

import os
import re
import sys
import unittest

FOLDER = sys.argv.pop(1)

# What one list has and setup.sh's has not, or the other way.
TOOLS_OF_DEBIAN = {
    "debhelper-compat": "the level of debhelper, by which debian/rules is read",
    "dh-sequence-python3": "python3-dsgd is a package of Debian alone",
}
NOT_FOR_THE_PROGRAM = {
    "check": "of the tests, which neither package nor image builds",
    "dataset-fashion-mnist": "data that experiments name; the package suggests it",
    "fonts-dejavu-core": "of figures, which are drawn at run time",
    "gnuplot-nox": "of figures, which are drawn at run time",
}
ESSENTIAL_IN_A_PACKAGE = {
    "gcc": "build-essential has it",
    "g++": "build-essential has it",
}
HEADERS_ALONE = {"librandom123-dev": "has no library"}
SAME = {"pkgconf": "pkg-config"}  # which is empty, and depends on it, in Debian 12 and 13


def text(path):
    with open(os.path.join(FOLDER, path)) as file:
        return file.read()


def names(words):
    """Without versions, architectures and the second of two alternatives."""
    found = [re.match(r"[a-z0-9.+-]+", word).group() for word in words]
    return {SAME.get(name, name) for name in found}


def setup():
    return names(re.search(r"^packages=\(([^)]*)\)", text("setup.sh"), re.MULTILINE).group(1).split())


def control(path, field):
    """The packages of a field, of all paragraphs together."""
    found = re.findall(r"^%s:((?:.*\n)(?:[ \t].*\n)*)" % field, text(path), re.MULTILINE)
    words = [word.split("|")[0].strip() for entry in found for word in entry.replace("\n", " ").split(",")]
    return names(word for word in words if word and not word.startswith("$"))


def installed(path):
    """The packages of each `apt-get install` that names some."""
    lines = text(path).replace("\\\n", " ")
    calls = re.findall(r"apt-get install ([^&|;>\n]*)", lines)
    lists = [names(w for w in call.split() if re.match(r"[a-z]", w)) for call in calls]
    return [found for found in lists if found]


class Lists(unittest.TestCase):
    def test_the_package_is_built_with_what_setup_installs(self):
        expected = setup() - set(NOT_FOR_THE_PROGRAM) - set(ESSENTIAL_IN_A_PACKAGE) | set(TOOLS_OF_DEBIAN)
        self.assertEqual(control("packaging/debian/control", "Build-Depends"), expected)

    def test_the_image_is_built_with_what_setup_installs(self):
        self.assertEqual(installed("packaging/Containerfile")[0], setup() - set(NOT_FOR_THE_PROGRAM))

    def test_the_image_has_the_libraries_that_it_was_built_with(self):
        build, run = installed("packaging/Containerfile")
        libraries = {name for name in build if name.endswith("-dev") and name not in HEADERS_ALONE}
        # libgsl-dev needs libgsl28: the name, then a version.
        stems = {re.sub(r"-dev$", "", name): name for name in libraries}
        for name in run - control("packaging/debian/control", "Recommends"):
            stem = name if name in stems else re.sub(r"[0-9.]+$", "", name)
            self.assertIn(stem, stems, "%s is in the image, but nothing is built with it" % name)
            del stems[stem]
        self.assertEqual(stems, {}, "the image lacks the libraries of these")

    def test_figures_are_drawn_by_what_is_recommended(self):
        figures = control("packaging/debian/control", "Recommends")
        self.assertLessEqual(figures, setup())
        self.assertLessEqual(figures, installed("packaging/Containerfile")[1])
        self.assertLessEqual(figures, set(NOT_FOR_THE_PROGRAM))

    def test_the_packages_are_tried_with_what_their_tests_ask_for(self):
        asked = control("packaging/debian/tests/control", "Depends")
        ours = control("packaging/debian/control", "Package")
        self.assertEqual(installed("packaging/build-deb")[-1], asked - ours)

    def test_lint_installs_what_only_it_needs(self):
        lint = names(re.search(r"^for package in ([^;]*);", text(".ci/lint"), re.MULTILINE).group(1).split())
        self.assertEqual(lint & setup(), set())
        for tool in lint:
            self.assertRegex(text(".ci/lint") + text("docs/build_site"), r"(?m)^[^#\n]*\b%s (--?|build )|--preset %s\b" % (tool, tool))

    def test_every_difference_is_one(self):
        """A reason whose package is gone is gone too."""
        self.assertLessEqual(set(NOT_FOR_THE_PROGRAM) | set(ESSENTIAL_IN_A_PACKAGE) | set(HEADERS_ALONE), setup())
        self.assertEqual(set(TOOLS_OF_DEBIAN) & setup(), set())

    def test_an_image_is_made_of_what_git_has(self):
        ignored = {line.strip("/") for line in text(".gitignore").split()}
        self.assertLessEqual(ignored, {line.strip("/") for line in text(".dockerignore").split("\n")})


if __name__ == "__main__":
    unittest.main(verbosity=2)
