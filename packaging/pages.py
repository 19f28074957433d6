"""Writes dsgd.1 and the completions dsgd.bash, _dsgd and dsgd.fish, by what `dsgd --help=json` and
`dsgd COMMAND --help=json` tell: none of them knows an option that the program does not have.

python3 pages.py DSGD DATE TEMPLATES FOLDER: of the program DSGD, into FOLDER. TEMPLATES has the completions with a line `@table@`.
"""

import json
import os
import re
import subprocess
import sys


def tell(*words):
    return json.loads(subprocess.run([DSGD, *words, "--help=json"], stdout=subprocess.PIPE, check=True).stdout)


DSGD, DATE, TEMPLATES, FOLDER = sys.argv[1:]
ALL = tell()
COMMANDS = [dict(command, **tell(command["name"])) for command in ALL["commands"]]
PLURALS = {singular: plural for plural, singular in ALL["kinds"] if singular}


def common(*rows):
    """Options of every command."""
    return [dict(name=name, letter=letter, value=None, implied=None, repeats=False, words=[], help=text) for name, letter, text in rows]


IN_MAN = common(("help", "?", "Prints this list of options"), ("usage", "", "Prints them in a few lines"), ("version", "V", "Prints the version"))
IN_SHELL = common(("help", "", "Prints the options of the command"), ("usage", "", "Prints them in a few lines"), ("version", "", "Prints the version"))

# --- what may stand where, as words for the functions in completions/: `files`, `folders`, `word:WORD`, `list:KIND` (names that
# `dsgd list KIND` has), `named` (those of the kind in the word before), `sets` (KEY=VALUE of an experiment) --------------------------


def words(names):
    return ["word:" + name for name in names]


def takes_word(option):
    return option["value"] is not None and option["implied"] is None


def of_option(option):
    of_value = {"FILE": ["files"], "DIR": ["folders"], "FOLDER": ["folders"], "A.B=C": ["sets"]}
    return " ".join(words(option["words"]) + of_value.get(option["value"], []))


def of_key(key):
    return " ".join(words(key["words"]) + (["list:" + key["shipped"]] if key["shipped"] else []))


def of_alternative(command, before, word):
    """Of one of the words in capitals at a place; in small letters, a word as it is."""
    if word[0].islower():
        return words([word])
    if word == "KIND":
        return words(PLURALS if command == "describe" else [plural for plural, _ in ALL["kinds"]])
    if word == "NAME" and before == "KIND":
        return ["named"]
    if word == "NAME":
        kind = PLURALS.get(before, PLURALS.get(command))
        return ["list:" + kind] if kind else []
    if word == "DIR":
        return ["folders"]
    return ["list:" + PLURALS[word.lower()]] if word.lower() in PLURALS else ["files"]


def of_operands(command):
    """The sources of each place, and whether the last one repeats."""
    places = [word.split(".")[0] for word in re.split(r"[ \[\]]+", command["operands"])]
    places = [place for place in places if place]
    # `KIND NAME|KEYS`: KEYS stand in place of both.
    has_keys = len(places) > 1 and places[-1].endswith("|KEYS")
    places = [place.replace("|KEYS", "") for place in places]
    sources = []
    for before, place in zip([""] + places, places):
        sources.append([s for word in place.split("|") for s in of_alternative(command["name"], before, word)])
    if has_keys:
        sources[0] += words(["experiment", "results", "task"])
        sources[0] += words(key["name"] for key in ALL["keys"] if key["described"] and key["name"] not in PLURALS)
    return [" ".join(place) for place in sources], "..." in command["operands"]


KEYS = []  # that --set is completed with: name, sources
for top in ALL["keys"]:
    KEYS += [(top["name"] + "." + key["name"], of_key(key)) for key in top["keys"]] or [(top["name"], of_key(top))]
KEY_NAMES = "".join(" " + name for name, _ in KEYS)


def options(command):
    return command["options"] + IN_SHELL


def escaped(text, letters, quote):
    """Within single quotes of a shell."""
    return re.sub("[%s]" % re.escape(letters), r"\\\g<0>", text).replace("'", quote)


# --- bash, whose patterns of a case need no quotes where they have no blanks ----------------------------------------------------------


def keys():
    """Of bash and zsh: the keys that --set may change, and what their values may be."""
    yield "_dsgd_keys='%s'\n\n_dsgd_value_of_key()\n{\n    case $1 in" % KEY_NAMES
    for name, sources in KEYS:
        yield "    %s) sources='%s' ;;" % (name, sources)
    yield "    *) sources='' ;;\n    esac\n}"


def bash():
    yield "_dsgd_commands='%s'\n\n_dsgd_options()\n{\n    case $1 in" % "".join(" " + c["name"] for c in COMMANDS)
    for c in COMMANDS:
        names = [("" if o["letter"] == "" else " -" + o["letter"]) + " --" + o["name"] + ("=" if o["implied"] else "") for o in options(c)]
        yield "    %s) sources='%s' ;;" % (c["name"], "".join(names))
    yield "    *) sources='' ;;\n    esac\n}\n\n_dsgd_value()\n{\n    case \"$1 $2\" in"
    for c in COMMANDS:
        for o in filter(takes_word, options(c)):
            letter = "'%s -%s' | " % (c["name"], o["letter"]) if o["letter"] else ""
            yield "    %s'%s --%s') sources='%s' ;;" % (letter, c["name"], o["name"], of_option(o))
    yield "    *) return 1 ;;\n    esac\n}\n\n_dsgd_operand()\n{\n    case \"$1 $2\" in"
    for c in COMMANDS:
        places, repeats = of_operands(c)
        for i, sources in enumerate(places):
            place = "'%s '*" % c["name"] if repeats and i + 1 == len(places) else "'%s %d'" % (c["name"], i)
            yield "    %s) sources='%s' ;;" % (place, sources)
    yield "    *) sources='' ;;\n    esac\n}\n"
    yield from keys()


# --- zsh: a function of _arguments per command ----------------------------------------------------------------------------------------


def in_zsh(text):
    return escaped(text, "[]:\\", "'\\''")  # out of the quotes, a quote, and into them again


def zsh_option(option):
    many, value = "*" if option["repeats"] else "", ""
    if option["value"]:
        value = "=-" if option["implied"] else "="
    spec = "'%s--%s%s[" % (many, option["name"], value)
    if option["letter"] and not many:
        spec = "'(-%s --%s)'{-%s%s,--%s%s}'[" % (
            option["letter"], option["name"], option["letter"], "+" if option["value"] else "", option["name"], value)
    spec += in_zsh(option["help"]) + "]"
    if option["value"]:  # a colon of the sources would begin a second value of the option
        spec += (":" if takes_word(option) else "::") + in_zsh(option["value"]) + ": _dsgd_any " + in_zsh(of_option(option))
    return spec + "'"


def zsh():
    yield "_dsgd_commands=("
    for c in COMMANDS:
        yield "    '%s:%s'" % (c["name"], in_zsh(c["summary"]))
    yield ")\n"
    for c in COMMANDS:
        specs = ["_arguments -s -S"] + [zsh_option(o) for o in options(c)]
        places, repeats = of_operands(c)
        for i, sources in enumerate(places):
            place = "*" if repeats and i + 1 == len(places) else i + 1
            specs.append("'%s:operand: _dsgd_any %s'" % (place, sources))
        yield "_dsgd_%s()\n{\n    %s\n}\n" % (c["name"], " \\\n        ".join(specs))
    yield from keys()


# --- fish: a line per command, option and operand -------------------------------------------------------------------------------------


def in_fish(text):
    return escaped(text, "\\", "\\'")


def fish():
    yield "function __dsgd_valued\n    switch $argv[1]"
    for c in COMMANDS:
        names = [(" -" + o["letter"] if o["letter"] else "") + " --" + o["name"] for o in filter(takes_word, options(c))]
        yield "        case %s\n            string split ' ' -- '%s'" % (c["name"], "".join(names))
    yield "    end\nend\n\nfunction __dsgd_keys\n    string split ' ' -- '%s'\nend\n" % KEY_NAMES
    yield "function __dsgd_value_of_key\n    switch $argv[1]"
    for name, sources in KEYS:
        yield "        case %s\n            echo '%s'" % (name, sources)
    yield "    end\nend\n\ncomplete -c dsgd -f"
    for c in COMMANDS:
        yield "complete -c dsgd -n '__dsgd_in \"\"' -a %s -d '%s'" % (c["name"], in_fish(c["summary"]))
    for c in COMMANDS:
        for o in options(c):
            letter = " -s " + o["letter"] if o["letter"] else ""
            value = " -x -a '(__dsgd_any %s)'" % of_option(o) if takes_word(o) else ""
            yield "complete -c dsgd -n '__dsgd_in %s' -l %s%s%s -d '%s'" % (c["name"], o["name"], letter, value, in_fish(o["help"]))
        places, repeats = of_operands(c)
        for i, sources in enumerate(places):
            many = "many" if repeats and i + 1 == len(places) else "one"
            yield "complete -c dsgd -n '__dsgd_operand %s %d %s' -a '(__dsgd_any %s)'" % (c["name"], i, many, sources)


# --- man pages, in the macros of man(7), which every man reads ------------------------------------------------------------------------


def roff(text):
    """`code` is bold, a minus is one that can be copied, no word is a macro."""
    text = re.sub(r"(^| )(?=[.'])", r"\1\\&", text.replace("\\", "\\e").replace("-", "\\-"))
    return re.sub("`([^`]*)`", r"\\fB\1\\fR", text)


def paragraph(text):
    """In lines of 80 columns, which those expect who read the source."""
    lines = [""]
    for word in roff(text).split():
        line = (lines[-1] + " " + word).lstrip()
        lines[-1:] = [line] if len(line) <= 80 or lines == [""] else [lines[-1], word]
    return "\n".join(lines)


def syntax(command):
    """What the command does, its options, and what its help says behind them."""
    before, _, behind = command["help"].partition("\v")
    yield paragraph(before)
    for o in command["options"] + IN_MAN:
        letter = "\\fB%s\\fR, " % roff("-" + o["letter"]) if o["letter"] else ""
        value = ("=\\fI%s\\fR" if takes_word(o) else "[=\\fI%s\\fR]") % o["value"] if o["value"] else ""
        yield ".TP\n%s\\fB%s\\fR%s\n%s" % (letter, roff("--" + o["name"]), value, paragraph(o["help"]))
        if o["words"]:
            yield paragraph("(%s)" % ", ".join(o["words"]))
    if behind:
        yield ".PP\n" + paragraph(behind)


def head(program, purpose):
    yield '.TH %s 1 %s "dsgd %s" "User Commands"\n.SH NAME' % (program.upper(), DATE, ALL["version"])
    yield "%s \\- %s\n.SH SYNOPSIS" % (roff(program), purpose)


def exit_status():
    yield ".SH EXIT STATUS"
    for code, text in ALL["statuses"]:
        yield ".TP\n%d\n%s" % (code, paragraph(text))


EXAMPLES = (  # test `pages` runs them, one after another
    ("An experiment: 16 GPUs on 10 Gb/s Ethernet, of which one is 320 ms late in each step; how fast are two algorithms?",
     """cat >late.yaml <<END
platform: ethernet-10g
workload: resnet50-p100
imbalance: {kind: delay, seconds: 320ms}
workers: 16
algorithms: [allreduce, ad_psgd]
until: {steps: 100}
seed: [1, 2, 3]
END
dsgd check late.yaml
dsgd run late.yaml"""),
    ("Who is how much faster, with intervals over the seeds; and as a page of HTML with figures:",
     "dsgd compare results/late --ratio\ndsgd report results/late"),
    ("Where does the time of a step go, and what would be gained?", "dsgd explain late.yaml"),
    ("The same with ten times the bandwidth, in a folder of its own:",
     "dsgd run late.yaml --set platform.host_bandwidth=12.5GB/s -o results/fast"),
    ("What happens when, as text; and for a browser (Perfetto):",
     "dsgd timeline late.yaml --run 1 --format text --steps 0:3\ndsgd timeline late.yaml --run 1 -o late.json"),
    ("Which platforms are there, and what is one?", "dsgd list platforms\ndsgd describe platform dgx-h100"),
)


def examples():
    yield ".SH EXAMPLES"
    for text, lines in EXAMPLES:
        yield ".PP\n%s\n.PP\n.RS 4\n.nf\n%s\n.fi\n.RE" % (paragraph(text), "\n".join(roff(line) for line in lines.split("\n")))


def man():
    yield from head("dsgd", "simulate distributed SGD")
    yield ".B dsgd\n.I COMMAND\n\\&...\n.SH DESCRIPTION"
    yield paragraph("A discrete-event simulator of distributed stochastic gradient descent: "
                    "how long training takes on a cluster, and how well it learns.")
    for c in COMMANDS:
        yield ".TP\n\\fB%s\\fR \\fI%s\\fR\n%s" % (roff(c["name"]), c["usage"], paragraph(c["summary"]))
    yield ".SH COMMANDS"
    for c in COMMANDS:
        yield ".SS " + paragraph("dsgd %s [OPTION...] %s" % (c["name"], c["operands"]))
        yield from syntax(c)
    yield from examples()
    yield from exit_status()
    yield ".SH ENVIRONMENT\n.TP\n.B DSGD_DATA"
    yield paragraph("Folder of the shipped platforms, workloads, imbalance and figures, in place of that of the installation")


for page, lines in (("dsgd.1", man()), ("dsgd.bash", bash()), ("_dsgd", zsh()), ("dsgd.fish", fish())):
    text = "\n".join(lines) + "\n"
    if not page.endswith(".1"):
        with open(os.path.join(TEMPLATES, page)) as template:
            text = template.read().replace("@table@\n", text, 1)
    with open(os.path.join(FOLDER, page), "w") as file:
        file.write(text)
