"""A satellite that sends a record each millisecond: its number as a tag, and two blocks."""

import time

from constellation.core.logging import setup_cli_logging
from constellation.core.transmitter_satellite import TransmitterSatellite, TransmitterSatelliteArgumentParser


class Board(TransmitterSatellite):
    def do_run(self):
        while not self.stop_requested():
            record = self.new_data_record()
            record.tags["number"] = record.sequence_number
            record.add_block(self.name.encode())
            record.add_block(bytes(100))
            self.send_data_record(record)
            time.sleep(0.001)
        return "stopped"

arguments = vars(TransmitterSatelliteArgumentParser(description=__doc__, version="0").parse_args())
setup_cli_logging(arguments.pop("level"))
Board(**arguments).run_satellite()
