import json
import os

from support import Folder, main, make_record, require, write_run

require("numpy", "crc32c", "h5py", "pyarrow", "uproot", "awkward")

import h5py
import numpy as np
import pyarrow.dataset
import pyarrow.parquet as pq
import uproot

import weir_daq as weir
from weir_daq import convert
from weir_daq.formats import Options


class FormatTest(Folder):
    """Converted runs, read with each format's own package alone."""

    def converted(self, to, **values):
        run = self.run_of(20)
        convert.convert(run, to, self.out(), jobs=1, part_bytes=20_000, **values)
        return run

    def test_hdf5_by_slice_and_by_source(self):
        run = self.converted("hdf5")
        with h5py.File(os.path.join(self.out(), "run.h5")) as file:
            self.assertEqual(file.attrs["record"], self.farm().decode())
            self.assertEqual(json.loads(file.attrs["summary"])["stored"], 20)
            slices, fragments, data = file["slices"][:], file["fragments"], file["data"]
            self.assertEqual(slices["id"].tolist(), list(range(20)))
            for row in slices:
                one = run.slice(int(row["id"]))
                first = int(row["first_fragment"])
                table = fragments[first : first + int(row["fragments"])]
                self.assertEqual(table["source"].tolist(), one.sources.tolist())
                for line, fragment in zip(table, one.fragments):
                    at = int(row["data"] + line["offset"])
                    self.assertEqual(data[at : at + int(line["stored"])].tobytes(), bytes(fragment.data))
                self.assertEqual(file["events"][int(row["first_event"]) :][: int(row["events"])]["id"].tolist(),
                                 [event for event, _ in one.events])
                extra = file["extra"][int(row["extra"]) :][: int(row["trigger_payload_bytes"])]
                self.assertEqual(extra.tobytes(), bytes(one.trigger_payload))
            lines = fragments[:]
            lines = lines[lines["source"] == 31]
            starts = slices["data"][np.searchsorted(slices["id"], lines["slice"])] + lines["offset"]
            for line, at in zip(lines, starts):
                self.assertEqual(data[int(at) : int(at) + int(line["stored"])].tobytes(),
                                 bytes(run.slice(int(line["slice"])).fragment(31).data))

    def test_parquet_by_slice(self):
        run = self.converted("parquet")
        rows = pyarrow.dataset.dataset(self.out(), format="parquet", exclude_invalid_files=True).to_table().to_pylist()
        self.assertEqual(sorted(row["id"] for row in rows), list(range(20)))
        for row in rows:
            one = run.slice(row["id"])
            self.assertEqual([line["data"] for line in row["fragments"]], [bytes(f.data) for f in one.fragments])
            self.assertEqual([line["source"] for line in row["fragments"]], one.sources.tolist())
            self.assertEqual([(e["id"], e["data"]) for e in row["events"]], [(i, bytes(d)) for i, d in one.events])
            self.assertEqual(row["trigger_payload"], bytes(one.trigger_payload))

    def test_parquet_with_hits_as_columns(self):
        hits = np.zeros(50, weir.HIT)
        hits["time_ns"], hits["tot_ns"], hits["channel"] = np.arange(50) * 1000, 7, np.arange(50) % 31
        write_run(self.folder, [("w", 0, [make_record(n, [(4, hits[:n].tobytes()), (5, 12)]) for n in range(50)], [])])
        convert.convert(weir.Run(self.folder), "parquet", self.out(), jobs=1, options=Options(hits=True))
        table = pq.read_table(os.path.join(self.out(), "part-00000.parquet")).to_pylist()
        self.assertEqual([h["time_ns"] for h in table[49]["fragments"][0]["hits"]], hits["time_ns"][:49].tolist())

    def test_root_by_slice(self):
        run = self.converted("root")
        seen = 0
        for entry in uproot.iterate(self.out() + "/*.root:slices", step_size=7):
            for row in entry:
                one = run.slice(int(row.id))
                self.assertEqual(bytes(row.data.to_numpy()), one.payload.tobytes())
                self.assertEqual(row.fragment_source.tolist(), one.sources.tolist())
                self.assertEqual(row.fragment_stored_crc32c.tolist(), one.table["stored_crc32c"].tolist())
                self.assertEqual(bytes(row.event_data.to_numpy()), b"".join(bytes(d) for _, d in one.events))
                seen += 1
        self.assertEqual(seen, 20)


if __name__ == "__main__":
    main()
