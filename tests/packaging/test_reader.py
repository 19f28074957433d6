"""dsgd.py and the course's notebook against the CSV files of the program. python3 test_reader.py DSGD FOLDER_OF_DSGD_PY"""

import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

DSGD = sys.argv.pop(1)
sys.path.insert(0, sys.argv.pop(1))
sys.dont_write_bytecode = True

import dsgd  # noqa: E402

EXPERIMENT = """
platform: piz-daint
workload: resnet50-p100
imbalance: {kind: delay, workers: 1, seconds: {sweep: [200ms, 320ms]}}
workers: [2, 4]
algorithms: [allreduce, {name: local_sgd, period: 4, label: "8"}]
until: {steps: 8}
seed: [1, 2]
learn: {model: hyperplane, data: hyperplane, batch: 4, optimizer: {lr: 0.01}, evaluate: {every: 4}}
"""


class Reader(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        path = os.path.join(cls.temporary.name, "e.yaml")
        with open(path, "w") as file:
            file.write(EXPERIMENT)
        cls.folder = os.path.join(cls.temporary.name, "results")
        subprocess.run([DSGD, "run", path, "-o", cls.folder, "--progress", "off"], check=True, stdout=subprocess.DEVNULL)
        cls.results = dsgd.read(cls.folder)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def rows(self, name):
        with open(os.path.join(self.folder, name + ".csv"), newline="") as file:
            return list(csv.DictReader(file))

    def table(self, text):
        path = os.path.join(self.temporary.name, "table.csv")
        with open(path, "w") as file:
            file.write(text)
        return dsgd.read_table(path)

    def test_every_cell_of_every_file(self):
        self.assertEqual(self.results.names, ["curves", "failures", "runs", "staleness", "steps", "workers"])
        for name in self.results.names:
            rows, table = self.rows(name), self.results.table(name)
            self.assertEqual(len(rows), len(table))
            if rows: # of a run without failures there are none
                self.assertEqual(tuple(rows[0]), table.columns)
            for row, record in zip(rows, table):
                for column, cell in row.items():
                    value = record[column]
                    if cell == "":
                        self.assertIsNone(value)
                    elif isinstance(value, str):
                        self.assertEqual(value, cell)
                    else:
                        self.assertEqual(value, float(cell))

    def test_numbers_are_numbers_and_labels_are_texts(self):
        run = self.results.runs[-1]
        self.assertIsInstance(run.steps, int)
        self.assertIsInstance(run.virtual_s, float)
        self.assertEqual(run.algorithm, "8")
        self.assertIsNone(run.final_accuracy)
        self.assertEqual(run["imbalance.seconds"], 0.32)
        for name in self.results.names:
            table = self.results.table(name)
            for column in table.columns:
                self.assertLessEqual(len({type(v) for v in table.column(column) if v is not None}), 1, column)

    def test_a_column_has_one_type(self):
        table = self.table("run,x,y,z\n1,0,1,1_0\n2,0.5,auto,2\n3,nan,,3\n")
        self.assertEqual(table.column("y"), ["1", "auto", None])
        self.assertEqual(table.column("x")[:2], [0.0, 0.5])
        self.assertNotEqual(table[2].x, table[2].x)
        self.assertEqual(table.column("z"), ["1_0", "2", "3"])

    def test_units_follow_from_names(self):
        units = self.results.runs.units
        self.assertEqual(units["virtual_s"], "s")
        self.assertEqual(units["throughput_samples_per_s"], "samples/s")
        self.assertEqual(units["sent_mean_bytes"], "B")
        self.assertEqual(units["bytes"], "B")
        self.assertEqual(units["wait_share"], "1")
        self.assertEqual(units["energy_j"], "J")
        self.assertEqual(units["imbalance.seconds"], "s")
        self.assertIsNone(units["steps"])
        self.assertEqual(dsgd.unit("gradient_bytes_per_s"), "B/s")

    def test_the_table_of_columns_is_the_programs(self):
        printed = subprocess.run([DSGD, "describe", "results", "--json"], check=True, capture_output=True, text=True).stdout
        with open(os.path.splitext(dsgd.__file__)[0] + ".json") as file:
            self.assertEqual(file.read(), printed)
        files = json.loads(printed)
        for name in self.results.names:
            columns = self.results.table(name).columns
            self.assertEqual(columns, tuple(files[name]["columns"]) + ("imbalance.seconds",))
        self.assertEqual(self.results.runs.units["wall_s"], "s")

    def test_times_of_what_diverged_count_and_what_it_learned_does_not(self):
        for status, times, learning in (("ok", True, True), ("diverged", True, False), ("failed", False, False), ("timeout", False, False)):
            self.assertEqual(dsgd.counts("virtual_s", status), times)
            self.assertEqual(dsgd.counts("imbalance.seconds", status), times)
            self.assertEqual(dsgd.counts("final_loss", status), learning)

    def test_pairs_are_of_runs_that_are_done(self):
        folder = os.path.join(self.temporary.name, "changed")
        shutil.copytree(self.folder, folder)
        rows = self.rows("runs")
        rows[0]["status"], rows[1]["status"] = "failed", "diverged"
        with open(os.path.join(folder, "runs.csv"), "w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        self.assertEqual(len(dsgd.read(folder).pairs("8", "allreduce")), 7)
        self.assertEqual(dsgd.read(folder).swept, ["imbalance.seconds"])
        os.remove(os.path.join(folder, "manifest.json"))
        self.assertEqual(dsgd.read(folder).swept, ["imbalance.seconds"])

    def test_a_curve_per_run(self):
        curves = self.results.by_run("curves")
        self.assertEqual([run.run for run, _ in curves], self.results.runs.column("run"))
        for run, curve in curves:
            self.assertEqual(set(curve.column("run")), {run.run})
            self.assertEqual(curve[len(curve) - 1].loss, run.final_loss)
        self.assertEqual(sum(len(c) for _, c in curves), len(self.results.curves))
        self.assertEqual([len(w) for _, w in self.results.by_run("workers")], self.results.runs.column("workers"))

    def test_pairs_differ_in_the_algorithm_alone(self):
        pairs = self.results.pairs("8", "allreduce")
        self.assertEqual(len(pairs), 8)
        for this, other in pairs:
            self.assertEqual((this.algorithm, other.algorithm), ("8", "allreduce"))
            for column in ("seed", "workers", "imbalance.seconds"):
                self.assertEqual(this[column], other[column])
        self.assertEqual(self.results.swept, ["imbalance.seconds"])

    def test_iterating_and_choosing(self):
        self.assertEqual([r.run for r in self.results], list(range(1, 17)))
        some = self.results.runs.where(algorithm="8", workers=2)
        self.assertEqual(len(some), 4)
        self.assertEqual(len(some[:2]), 2)
        self.assertEqual(dict(some[0])["workers"], 2)
        self.assertEqual(some[0], self.results.runs.where(algorithm="8")[0])
        self.assertIn("steps", some[0])

    def test_the_manifest(self):
        self.assertEqual(len(self.results.manifest["runs"]), 16)

    def test_what_is_not_there_is_said(self):
        with self.assertRaisesRegex(AttributeError, "no column 'loss'; there are run, algorithm"):
            self.results.runs[0].loss
        with self.assertRaisesRegex(AttributeError, "no compare.csv; there are curves"):
            self.results.compare
        with self.assertRaisesRegex(KeyError, "no run of 'wagma'; there are 8, allreduce"):
            self.results.pairs("wagma", "allreduce")
        with self.assertRaisesRegex(KeyError, "no column 'worker'"):
            self.results.runs.where(worker=1)
        with self.assertRaisesRegex(FileNotFoundError, "no CSV files"):
            dsgd.read(tempfile.mkdtemp(dir=self.temporary.name))
        with self.assertRaisesRegex(ValueError, r"table.csv:3: 1 cells, where the first line has 2"):
            self.table("run,x\n1,2\n1\n")
        with self.assertRaisesRegex(ValueError, "line of column names"):
            self.table("")

    def test_run_gives_what_the_program_writes(self):
        events = []
        folder = os.path.join(self.temporary.name, "again")
        results = dsgd.run(os.path.join(self.temporary.name, "e.yaml"), program=DSGD, progress=events.append, output=folder,
                           set={"seed": [2], "workers": 2}, numerics="off")
        self.assertEqual([r.seed for r in results], [2] * 4)
        self.assertEqual((events[-1]["event"], events[-1]["ended"]), ("end", 4))
        ours = self.results.runs.where(seed=2, workers=2)
        self.assertEqual(results.runs.column("virtual_s"), ours.column("virtual_s"))
        keys = {"name": "of a dict", "platform": "idle-switch", "workload": {"bytes": 4, "step": "1s", "samples": 1},
                "workers": 2, "algorithms": "allreduce", "until": {"steps": 3}}
        self.assertEqual(len(dsgd.run(keys, program=DSGD, progress=None, output=os.path.join(self.temporary.name, "of"))), 1)

    def test_what_the_program_refuses_is_an_exception_with_its_sentence(self):
        path = os.path.join(self.temporary.name, "e.yaml")
        with self.assertRaisesRegex(dsgd.Error, "^dsgd: --set workers=x: workers must be a number, got `x`$") as caught:
            dsgd.run(path, program=DSGD, set={"workers": "x"})
        self.assertEqual(caught.exception.status, 2)

    def test_a_notebook_shows_tables_and_figures(self):
        text = self.results._repr_html_()
        self.assertIn("<th>throughput_samples_per_s<br>samples/s</th>", text)
        self.assertIn("<th>imbalance.seconds<br>s</th>", text)
        self.assertNotIn("final_accuracy", text)
        self.assertEqual(text.count("<tr>"), 17)
        self.assertIn("&lt;b&gt;", self.table("run,x\n1,<b>\n")._repr_html_())
        self.assertIn("<p>and %d more</p>" % (len(self.results.curves) - 30), self.results.curves._repr_html_())
        if shutil.which("gnuplot"):
            folder = os.path.join(self.temporary.name, "drawn")  # compare.csv is written beside the others
            shutil.copytree(self.folder, folder)
            self.assertTrue(dsgd.read(folder).figure("throughput", program=DSGD)._repr_svg_().startswith("<svg"))

    def test_the_notebook_of_the_course_runs(self):
        with open(os.path.join(os.path.dirname(dsgd.__file__), "..", "docs", "course", "notebook.ipynb")) as file:
            cells = json.load(file)["cells"]
        names, here, path = {}, os.getcwd(), os.environ["PATH"]
        os.environ["PATH"] = os.path.dirname(DSGD) + os.pathsep + path
        os.chdir(tempfile.mkdtemp(dir=self.temporary.name))
        try:
            for cell in cells:
                if cell["cell_type"] == "code":
                    self.assertEqual(cell["outputs"], [])
                    exec("".join(cell["source"]), names)
        finally:
            os.chdir(here)
            os.environ["PATH"] = path
        self.assertEqual((len(names["barrier"]), len(names["local"])), (4, 6))

    def test_frames(self):
        try:
            import pandas  # noqa: F401
        except ImportError:
            self.skipTest("pandas is not installed")
        frame = self.results.runs.frame()
        self.assertEqual(frame["steps"].dtype.kind, "i")
        self.assertEqual(frame["virtual_s"].sum(), sum(self.results.runs.column("virtual_s")))
        self.assertEqual(frame.attrs["units"]["virtual_s"], "s")


if __name__ == "__main__":
    unittest.main(verbosity=2)
