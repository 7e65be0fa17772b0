"""Executes the notebook of examples/ as a user's kernel would."""

import os
import unittest

from support import ROOT, main, require

require("numpy", "crc32c", "zmq", "google.protobuf", "awkward", "matplotlib", "nbformat", "nbclient", "ipykernel")

import nbclient
import nbformat

BIN = os.environ.get("WEIR_BIN_DIR", os.path.join(ROOT, "build/release/bin"))
if not os.path.exists(os.path.join(BIN, "weir-run-control")):
    print(f"SKIPPED: no executables in {BIN}")
    raise SystemExit(77)


class NotebookTest(unittest.TestCase):
    def test_the_farms_notebook_runs_and_draws_its_plots(self):
        os.environ["PATH"] = BIN + os.pathsep + os.environ["PATH"]
        os.environ["PYTHONPATH"] = os.path.join(ROOT, "python")
        notebook = nbformat.read(os.path.join(ROOT, "python/examples/farm.ipynb"), as_version=4)
        nbformat.validate(notebook)
        client = nbclient.NotebookClient(notebook, timeout=200, resources={"metadata": {"path": ROOT}})
        client.execute()
        outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
        texts = [output.data["text/plain"] for output in outputs if output.output_type == "execute_result"]
        self.assertEqual(texts[0], "'idle'")
        self.assertIn("balanced=True", texts[1])
        pictures = [output for output in outputs if output.output_type == "display_data" and "image/png" in output.data]
        self.assertEqual(len(pictures), 2)


if __name__ == "__main__":
    main()
