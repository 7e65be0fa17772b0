"""Serves the status of a farm as EPICS process variables: epics_ioc.py RUN_CONTROL [PREFIX]

    pip install 'weir-daq[epics]'
    python epics_ioc.py 127.0.0.1:7390 WEIR: &
    camonitor WEIR:STATE WEIR:HEALTH WEIR:TRIGGERED

STATE, HEALTH and RUN are those of `weir ctl status`; the counts are of the run that is on. While run control does not
answer, STATE is "no answer" and has an alarm.
"""

from __future__ import annotations

import asyncio
import sys

from caproto import AlarmSeverity, AlarmStatus, ChannelType
from caproto.server import PVGroup, pvproperty, run

import weir_daq
from weir_daq.farm import FarmStatus

_PERIOD_S = 1.0
_TEXT = {"dtype": ChannelType.STRING, "max_length": 39, "read_only": True}
_LONG_TEXT = {"dtype": ChannelType.CHAR, "string_encoding": "utf-8", "max_length": 400, "read_only": True}
_COUNT = {"dtype": ChannelType.DOUBLE, "read_only": True}  # Channel Access has no integers of 64 bits


class FarmVariables(PVGroup):
    state = pvproperty(value="no answer", name="STATE", doc="State of the farm", **_TEXT)
    health = pvproperty(value="", name="HEALTH", doc="Worst finding", **_LONG_TEXT)
    run_number = pvproperty(value=0.0, name="RUN", doc="Number of the run", **_COUNT)
    triggered = pvproperty(value=0.0, name="TRIGGERED", doc="Slices triggered in this run", **_COUNT)
    stored = pvproperty(value=0.0, name="STORED", doc="Slices stored in this run", **_COUNT)
    processes = pvproperty(value=0.0, name="PROCESSES", doc="Processes of the farm", **_COUNT)
    lost = pvproperty(value=0.0, name="LOST", doc="Processes that are gone", **_COUNT)

    def __init__(self, address: str, prefix: str) -> None:
        super().__init__(prefix=prefix)
        self._address = address
        self._farm: weir_daq.Farm | None = None

    @state.startup
    async def state(self, instance, async_lib) -> None:
        while True:
            status = await asyncio.to_thread(self._ask)
            if status is None:
                await self.state.write("no answer", severity=AlarmSeverity.INVALID_ALARM, status=AlarmStatus.COMM)
            else:
                await self._show(status)
            await async_lib.library.sleep(_PERIOD_S)

    def _ask(self) -> FarmStatus | None:
        try:
            if self._farm is None:
                self._farm = weir_daq.Farm(connect=self._address)
            return self._farm.status()
        except weir_daq.ControlError as error:
            print(f"epics_ioc: {error}", file=sys.stderr, flush=True)
            return None

    async def _show(self, status: FarmStatus) -> None:
        failed = status.state == "error"
        none = (AlarmSeverity.NO_ALARM, AlarmStatus.NO_ALARM)
        alarm = (AlarmSeverity.MAJOR_ALARM, AlarmStatus.STATE) if failed else none
        await self.state.write(status.state, severity=alarm[0], status=alarm[1])
        await self.health.write(status.health)
        await self.run_number.write(status.run)
        await self.triggered.write(status.counts.get("triggered", 0))
        await self.stored.write(status.counts.get("stored", 0))
        await self.processes.write(len(status.nodes))
        await self.lost.write(sum(node.state == "gone" for node in status.nodes))


def main() -> None:
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__.splitlines()[0])
    variables = FarmVariables(sys.argv[1], sys.argv[2] if len(sys.argv) == 3 else "WEIR:")
    run(variables.pvdb, interfaces=["127.0.0.1"] if sys.argv[1].startswith("127.") else ["0.0.0.0"])


if __name__ == "__main__":
    main()
