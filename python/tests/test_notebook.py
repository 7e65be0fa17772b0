"""Executes the notebooks of examples/ as a user's kernel would."""

import os
import subprocess
import tempfile
import unittest

from support import ROOT, main, require

require("numpy", "crc32c", "zmq", "google.protobuf", "awkward", "matplotlib", "nbformat", "nbclient", "ipykernel",
        "h5py", "uproot", "pyarrow", "pandas", "polars", "dask")

import nbclient
import nbformat

BIN = os.environ.get("WEIR_BIN_DIR", os.path.join(ROOT, "build/release/bin"))
if not os.path.exists(os.path.join(BIN, "weir-run-control")):
    print(f"SKIPPED: no executables in {BIN}")
    raise SystemExit(77)


class NotebookTest(unittest.TestCase):
    def execute(self, name, folder):
        """Executes the notebook in the folder; returns the outputs of its cells."""
        os.environ["PATH"] = BIN + os.pathsep + os.environ["PATH"]
        os.environ["PYTHONPATH"] = os.path.join(ROOT, "python")
        notebook = nbformat.read(os.path.join(ROOT, "python/examples", name + ".ipynb"), as_version=4)
        nbformat.validate(notebook)
        client = nbclient.NotebookClient(notebook, timeout=200, resources={"metadata": {"path": folder}})
        client.execute()
        return [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]

    def pictures(self, outputs):
        return [one for one in outputs if one.output_type == "display_data" and "image/png" in one.data]

    def test_the_farms_notebook_runs_and_draws_its_plots(self):
        outputs = self.execute("farm", ROOT)
        texts = [output.data["text/plain"] for output in outputs if output.output_type == "execute_result"]
        self.assertEqual(texts[0], "'idle'")
        self.assertIn("balanced=True", texts[1])
        self.assertEqual(len(self.pictures(outputs)), 2)

    def test_the_notebook_of_each_tool_reads_a_run(self):
        # Each compares what its tool has read with the run.
        with tempfile.TemporaryDirectory() as folder:
            words = ["run", os.path.join(ROOT, "configs/demo.yaml"), "--duration", "4", "--out", "run/demo"]
            settings = ["--set", "filter.parameters.keep=raw", "--set", "hits.track_rate_hz=50"]
            subprocess.run([os.path.join(BIN, "weir"), *words, *settings], cwd=folder, check=True, capture_output=True)
            for name, pictures in (("h5py", 2), ("uproot", 2), ("pandas-polars", 2), ("dask", 1)):
                with self.subTest(notebook=name):
                    self.assertEqual(len(self.pictures(self.execute(name, folder))), pictures)


if __name__ == "__main__":
    main()
