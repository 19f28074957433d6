"""Runs dsgd and reads its results: Python 3.9 or later, the standard library.

    import dsgd
    results = dsgd.run("quick-start.yaml", set={"workers": 64})  # or dsgd.read("results/quick-start")
    for run in results.runs:
        print(run.algorithm, run.workers, run.throughput_samples_per_s)
    for run, curve in results.by_run("curves"):
        print(run.algorithm, curve.column("virtual_s"), curve.column("loss"))
    for this, other in results.pairs("wagma", "allreduce"):
        print(this.seed, this.throughput_samples_per_s / other.throughput_samples_per_s)
    frame = results.runs.frame()  # where pandas is installed

A table is a sequence of records. The cells of a column are int, float or str, and None where they are
empty: not known, or not measured. `dsgd describe results` has the columns. Their units, such as
seconds, and what counts of runs that diverged are in dsgd.json, which lies beside this file.
"""

import csv
import html
import json
import os
import re
import subprocess
import sys
import tempfile

__all__ = ["Error", "Figure", "Record", "Results", "Table", "counts", "read", "read_table", "run", "unit"]

# The columns that runs write: `dsgd describe results --json` of the program.
try:
    with open(os.path.splitext(__file__)[0] + ".json", encoding="utf-8") as _file:
        _COLUMNS = {c: how for f in json.load(_file).values() for c, how in f["columns"].items()}
except FileNotFoundError:  # copied without it
    _COLUMNS = {}

# Of others, such as swept ones, the end of the name says the unit; the first that fits.
_UNITS = (
    ("_samples_per_s", "samples/s"),
    ("_bytes_per_s", "B/s"),
    ("_per_s", "1/s"),
    ("_bytes", "B"),
    ("_share", "1"),
    ("_s", "s"),
    ("_j", "J"),
)
_WHOLE = {"bytes": "B", "share": "1", "seconds": "s"}  # names of columns and of swept keys

# Texts even where they look like numbers: an algorithm may have the label "8".
_TEXTS = {"algorithm", "parameter", "winner", "second"}
_TEXTS.update(c for c, how in _COLUMNS.items() if how["type"] == "text")


def unit(column):
    """The unit of a column, such as "s", "B" or "samples/s"; None where it has none."""
    if column in _COLUMNS:
        return _COLUMNS[column]["unit"]
    name = column.rpartition(".")[2]
    if name in _WHOLE:
        return _WHOLE[name]
    for end, symbol in _UNITS:
        if name.endswith(end):
            return symbol
    return None


def counts(column, status):
    """Whether a column's value counts in a run of that status. Times and traffic of a run that
    diverged do, what it learned does not; of one that failed nothing does."""
    return status in _COLUMNS.get(column, {}).get("counts", ("ok", "diverged"))


def _number(text, kind):
    # Only what a program writes: int() and float() also take " 1" and "1_0".
    if text.strip() != text or "_" in text:
        raise ValueError(text)
    return kind(text)


def _converted(column, cells):
    """The cells of a column, all of one type: int, else float, else str. None: an empty cell."""
    if column not in _TEXTS:
        for kind in (int, float):
            try:
                return [None if cell == "" else _number(cell, kind) for cell in cells]
            except ValueError:
                pass
    return [None if cell == "" else cell for cell in cells]


class Record:
    """A row of a table: run.status, run["exchange.pieces"], dict(run)."""

    __slots__ = ("_columns", "_cells")

    def __init__(self, columns, cells):
        self._columns = columns  # {name: place}, shared by all rows of a table
        self._cells = cells

    def __getitem__(self, column):
        return self._cells[self._columns[column]]

    def __getattr__(self, column):
        try:
            return self._cells[self._columns[column]]
        except KeyError:
            raise AttributeError(
                "there is no column %r; there are %s" % (column, ", ".join(self._columns))
            ) from None

    def get(self, column, default=None):
        place = self._columns.get(column)
        return default if place is None else self._cells[place]

    def keys(self):
        return self._columns.keys()

    def __iter__(self):
        return iter(self._columns)

    def __len__(self):
        return len(self._cells)

    def __contains__(self, column):
        return column in self._columns

    def __eq__(self, other):
        return isinstance(other, Record) and dict(self) == dict(other)

    def __hash__(self):
        return hash(tuple(self._cells))

    def __repr__(self):
        return "Record(%s)" % ", ".join("%s=%r" % (c, self[c]) for c in self)


def _shown(cell):
    return "" if cell is None else html.escape("%.4g" % cell if isinstance(cell, float) else str(cell))


class Table:
    """Records in the order of the file. A notebook shows its first MOST_SHOWN."""

    MOST_SHOWN = 30

    def __init__(self, columns, records):
        self.columns = tuple(columns)
        self._records = list(records)

    @property
    def units(self):
        """{column: unit or None}"""
        return {column: unit(column) for column in self.columns}

    def __iter__(self):
        return iter(self._records)

    def __len__(self):
        return len(self._records)

    def __getitem__(self, place):
        if isinstance(place, slice):
            return Table(self.columns, self._records[place])
        return self._records[place]

    def __repr__(self):
        return "Table(%d records of %s)" % (len(self), ", ".join(self.columns))

    def _repr_html_(self, columns=None):
        columns = columns or self.columns
        heads = ["%s<br>%s" % (html.escape(c), {None: "", "1": "share"}.get(unit(c), unit(c))) for c in columns]
        rows = [heads] + [[_shown(r[c]) for c in columns] for r in self._records[: self.MOST_SHOWN]]
        cells = ("".join("<%s>%s</%s>" % (tag, c, tag) for c in row) for row, tag in zip(rows, ["th"] + ["td"] * len(rows)))
        left = len(self) - len(rows) + 1
        return "<table>%s</table>%s" % (
            "".join("<tr>%s</tr>" % row for row in cells), "<p>and %d more</p>" % left if left else "")

    def column(self, name):
        """The cells of a column, as a list."""
        if name not in self.columns:
            raise KeyError("there is no column %r; there are %s" % (name, ", ".join(self.columns)))
        return [record[name] for record in self._records]

    def where(self, **values):
        """The records that have these values: runs.where(status="ok", workers=16)."""
        for name in values:
            if name not in self.columns:
                raise KeyError(
                    "there is no column %r; there are %s" % (name, ", ".join(self.columns))
                )
        return Table(
            self.columns,
            (r for r in self._records if all(r[name] == v for name, v in values.items())),
        )

    def frame(self):
        """As a pandas.DataFrame, with units in frame.attrs["units"]."""
        import pandas

        frame = pandas.DataFrame(
            [[record[c] for c in self.columns] for record in self._records], columns=self.columns
        )
        frame.attrs["units"] = {c: u for c, u in self.units.items() if u is not None}
        return frame


def read_table(path):
    """Reads one CSV file of dsgd, such as "results/x/compare.csv"."""
    with open(path, newline="", encoding="utf-8") as file:
        rows = csv.reader(file)
        columns = next(rows, None)
        if not columns:
            raise ValueError("%s: the line of column names is missing" % path)
        places = {name: i for i, name in enumerate(columns)}
        if len(places) != len(columns):
            raise ValueError("%s: two columns have one name" % path)
        lines = []
        for cells in rows:
            if len(cells) != len(columns):
                raise ValueError(
                    "%s:%d: %d cells, where the first line has %d columns"
                    % (path, rows.line_num, len(cells), len(columns))
                )
            lines.append(cells)
    by_column = [_converted(c, [line[i] for line in lines]) for c, i in places.items()]
    return Table(columns, [Record(places, cells) for cells in zip(*by_column)])


class Results:
    """A folder of results. Every NAME.csv in it is the table results.NAME, read when asked for."""

    def __init__(self, folder):
        self.folder = os.fspath(folder)
        self._tables = {}
        self._manifest = None
        if not self.names:
            raise FileNotFoundError("%s: there are no CSV files in this folder" % self.folder)

    @property
    def names(self):
        """Names of the tables that are there."""
        return sorted(n[:-4] for n in os.listdir(self.folder) if n.endswith(".csv"))

    @property
    def manifest(self):
        """manifest.json: every parameter of every run, and versions."""
        if self._manifest is None:
            with open(os.path.join(self.folder, "manifest.json"), encoding="utf-8") as file:
                self._manifest = json.load(file)
            runs = self._manifest.get("runs", [])
            for before, run in zip(runs, runs[1:]):  # the file has what differs from the run before
                for key, value in before.items():
                    if key not in run:
                        run[key] = value
                    elif key != "algorithm" and isinstance(run[key], dict) and isinstance(value, dict):
                        run[key] = {**value, **run[key]}
        return self._manifest

    def table(self, name):
        if name not in self._tables:
            path = os.path.join(self.folder, name + ".csv")
            if not os.path.isfile(path):
                raise FileNotFoundError(
                    "%s: there is no %s.csv; there are %s"
                    % (self.folder, name, ", ".join(self.names))
                )
            self._tables[name] = read_table(path)
        return self._tables[name]

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self.table(name)
        except FileNotFoundError as error:
            raise AttributeError(str(error)) from None

    def __iter__(self):
        return iter(self.runs)

    def __len__(self):
        return len(self.runs)

    def __repr__(self):
        return "Results(%r: %d runs; %s)" % (self.folder, len(self), ", ".join(self.names))

    def _repr_html_(self):
        wanted = ["run", "algorithm", "workers", "seed", *self.swept, "status", "throughput_samples_per_s", "virtual_s",
                  "final_loss", "final_accuracy"]
        known = [c for c in wanted if c in self.runs.columns and any(cell is not None for cell in self.runs.column(c))]
        return self.runs._repr_html_(known)

    def figure(self, name, program="dsgd", **options):
        """A figure of `dsgd plot`, as a notebook shows it; figure.svg is its text. Options are those of `dsgd plot`."""
        with tempfile.TemporaryDirectory() as folder:
            said = _call([program, "plot", self.folder, name], dict(options, output=folder, format="svg"))
            path = os.path.join(folder, os.path.basename(name).replace(".gp", "") + ".svg")
            if not os.path.exists(path):  # skipped, and told why
                raise Error(said.strip(), 0, said)
            with open(path, encoding="utf-8") as file:
                return Figure(file.read())

    def by_run(self, name):
        """Pairs of a run and its rows of a table: for run, curve in results.by_run("curves")."""
        table = self.table(name)
        rows = {}
        for record in table:
            rows.setdefault(record.run, []).append(record)
        return [(run, Table(table.columns, rows.get(run.run, []))) for run in self.runs]

    def pairs(self, algorithm, baseline):
        """Pairs of runs of two algorithms that have all else in common, the seed too.

        Of runs that are done: their times count; counts("final_loss", run.status) says whether
        what they learned does."""
        runs = self.runs
        labels = set(runs.column("algorithm"))
        for label in (algorithm, baseline):
            if label not in labels:
                raise KeyError(
                    "no run of %r; there are %s" % (label, ", ".join(sorted(map(str, labels))))
                )
        same = ["workers", "seed", "platform", "workload"] + self.swept
        done = [r for r in runs if counts(None, r.status)]
        others = {tuple(r[c] for c in same): r for r in done if r.algorithm == baseline}
        found = []
        for run in done:
            other = others.get(tuple(run[c] for c in same))
            if run.algorithm == algorithm and other is not None:
                found.append((run, other))
        return found

    @property
    def swept(self):
        """Columns of the swept keys, by the manifest; of older versions those behind wall_s."""
        columns = self.runs.columns
        behind = columns[columns.index("wall_s") + 1 :]
        try:
            return list(self.manifest.get("swept", behind))
        except FileNotFoundError:
            return list(behind)


def read(folder):
    """The results in a folder that `dsgd run` has written."""
    return Results(folder)


class Error(RuntimeError):
    """What dsgd said. status: its exit status (5: some runs failed, read() has the others); printed: its output."""

    def __init__(self, text, status, printed=""):
        super().__init__(text)
        self.status = status
        self.printed = printed


def _show(event):
    """A line on stderr, which goes on in place."""
    if "ended" in event:
        end = "\n" if event["event"] == "end" else ""
        print("\r%(ended)d of %(runs)d runs" % event, end=end, file=sys.stderr, flush=True)


class Figure:
    def __init__(self, svg):
        self.svg = svg

    def _repr_svg_(self):
        return self.svg[self.svg.index("<svg") :]  # what is before it, nbconvert refuses


def _call(words, options, progress=None):
    """What a command prints. An option is a value, or True."""
    words = words + ["--" + k if v is True else "--%s=%s" % (k, v) for k, v in options.items() if v not in (None, False)]
    said = []
    with tempfile.TemporaryFile("w+", encoding="utf-8") as out:
        with subprocess.Popen(words, stdout=out, stderr=subprocess.PIPE, text=True, encoding="utf-8") as process:
            try:
                for line in process.stderr:
                    if not line.startswith("{"):
                        said.append(line)
                    elif progress is not None:
                        progress(json.loads(line))
            except BaseException:  # also an interrupt: runs that ended are kept
                process.terminate()
                raise
        out.seek(0)
        printed = out.read()
    if process.returncode != 0:
        raise Error("".join(said).strip() or "%s ended with %d" % (words[0], process.returncode), process.returncode, printed)
    return printed


def run(experiment, set=None, progress=_show, program="dsgd", **options):
    """Runs an experiment, a file or a dict of its keys, and reads its results.

    set: {"algorithms.1.period": 8}. progress: called with each event of `--progress json`; None: nothing is shown.
    Others are options of `dsgd run`: output="results/x", jobs=2, numerics="off", force=True."""
    with tempfile.TemporaryDirectory() as folder:
        if isinstance(experiment, dict):
            keys, experiment = experiment, os.path.join(folder, experiment.get("name", "experiment") + ".yaml")
            with open(experiment, "w", encoding="utf-8") as file:
                json.dump(keys, file)
        sets = ["--set=%s=%s" % (k, v if isinstance(v, str) else json.dumps(v)) for k, v in (set or {}).items()]
        printed = _call([program, "run", os.fspath(experiment), "--progress=json"] + sets, options, progress)
    return read(re.search(r"^results: (.*)/runs\.csv", printed, re.MULTILINE).group(1))
