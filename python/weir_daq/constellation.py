"""Weir as a satellite of Constellation: `python -m weir_daq.constellation -g GROUP -n NAME` (docs/constellation.md).

The satellite leads a farm of Weir through Constellation's states. It receives the records of transmitters, sends them
to the farm's sources, and offers their sequence numbers as triggers. Needs the package ConstellationDAQ.
"""

from __future__ import annotations

import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterable
from typing import Any, Union

import msgpack
from constellation.core.configuration import Configuration
from constellation.core.logging import setup_cli_logging
from constellation.core.message.cdtp2 import DataRecord
from constellation.core.monitoring import schedule_metric
from constellation.core.receiver_satellite import ReceiverSatellite
from constellation.core.satellite import SatelliteArgumentParser

from . import __version__
from .bus import host_and_port
from .errors import ControlError
from .farm import Farm
from .frontend import TriggerClient
from .streams import Stream

__all__ = ["Records", "Slices", "Triggers", "Weir", "unpack"]

_POLL_S = 0.5
_PATIENCE_S = 10.0  # with a farm that takes no trigger
_RETRY_S = 0.1
_BUSY = {"busy_pending", "in_flight", "throttled", "paused", "stalled"}  # a later offer may be taken
_AGAIN_S = 0.002
_OVER_MAX = 1 << 16
_WINDOW = 64
_HELD_MAX = 64 << 20


def unpack(fragment: bytes) -> tuple[dict[str, Any], list[bytes]]:
    """Returns tags and blocks of a record that was stored with `format = "record"`."""
    tags, blocks = msgpack.unpackb(fragment)
    return tags, blocks


class Slices:
    """Joins the records of one sequence number. Pure; holds at most `bytes_max`, then gives up the lowest number.

    Each result is a number and the data of each transmitter; None: none.
    """

    Ready = list[tuple[int, dict[str, Union[bytes, None]]]]

    def __init__(self, senders: Iterable[str], bytes_max: int) -> None:
        self._senders = list(senders)
        self._sending = set(self._senders)
        self._bytes_max = bytes_max
        self._parts: dict[int, dict[str, bytes]] = {}
        self._bytes = 0
        self._over: OrderedDict[int, None] = OrderedDict()  # the last numbers that were passed on
        self.late = 0

    def add(self, sender: str, number: int, data: bytes) -> Ready:
        if number in self._over or (number not in self._parts and self._is_far_behind(number)):
            self.late += 1
            return []
        self._parts.setdefault(number, {})[sender] = data
        self._bytes += len(data)
        ready = self._take([number]) if self._sending <= self._parts[number].keys() else []
        while self._bytes > self._bytes_max:
            ready += self._take([min(self._parts)])
        return ready

    def end(self, sender: str) -> Ready:
        """The transmitter sends nothing more: no number waits for it."""
        self._sending.discard(sender)
        return self._take([one for one in sorted(self._parts) if self._sending <= self._parts[one].keys()])

    def _is_far_behind(self, number: int) -> bool:
        return len(self._over) == _OVER_MAX and number < next(iter(self._over))

    def _take(self, numbers: Iterable[int]) -> Ready:
        ready = []
        for number in numbers:
            parts = self._parts.pop(number)
            self._bytes -= sum(map(len, parts.values()))
            self._over[number] = None
            if len(self._over) > _OVER_MAX:
                self._over.popitem(last=False)
            ready.append((number, {one: parts.get(one) for one in self._senders}))
        return ready


class Triggers:
    """Offers slices to the farm, some of them at once. A farm that is busy gets the slice again."""

    def __init__(self, client: TriggerClient, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._client, self._clock = client, clock
        self._waiting: deque[int] = deque()
        self.taken = 0
        self.refused: Counter[str] = Counter()

    def offer(self, number: int) -> None:
        self._client.post(number)
        self._waiting.append(number)
        while len(self._waiting) >= _WINDOW:
            self._settle()

    def finish(self) -> None:
        """Waits for the answers that are due."""
        while self._waiting:
            self._settle()

    def _settle(self) -> None:
        number = self._waiting.popleft()
        busy = self._client.answer().busy
        until = self._clock() + _PATIENCE_S
        while busy in _BUSY and self._clock() < until:
            time.sleep(_AGAIN_S)
            self._client.post(number)
            self._waiting.append(number)  # its answer comes last
            number = self._waiting.popleft()
            busy = self._client.answer().busy
        if busy:
            self.refused[busy] += 1
        else:
            self.taken += 1


class Records:
    """The way of one transmitter's records to its source. One that cannot be sent is lost, and counted."""

    def __init__(self, address: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.address, self._clock = address, clock
        self._stream: Stream | None = None
        self._again = 0.0
        self.sent = self.lost = 0

    def connect(self, patience_s: float) -> None:
        until = self._clock() + patience_s
        while not self._connected():
            if self._clock() > until:
                raise RuntimeError(f"no source listens at {self.address}: see `sources` and source.parameters.port")
            time.sleep(_RETRY_S)

    def send(self, number: int, data: bytes | None) -> bool:
        if not self._connected():
            self.lost += 1
            return False
        assert self._stream is not None
        try:
            self._stream.send(number, data)
        except OSError:
            self.close()
            self.lost += 1
            return False
        self.sent += 1
        return True

    def close(self) -> None:
        if self._stream is not None:
            self._stream.close()
        self._stream = None

    def _connected(self) -> bool:
        if self._stream is None and self._clock() >= self._again:
            self._again = self._clock() + _RETRY_S
            try:
                self._stream = Stream(*host_and_port(self.address))
            except OSError:
                return False
        return self._stream is not None


class Weir(ReceiverSatellite):  # type: ignore[no-untyped-call]
    """A farm of Weir, and the receiver of its transmitters."""

    _farm: Farm | None = None
    _triggers: Triggers | None = None
    _client: TriggerClient | None = None

    def do_initializing(self, config: Configuration) -> str:
        self._close()
        self._address = config.get_str("run_control")
        self._trigger_address = config.get_str("triggers", "")
        self._keeps_tags = config.get_str("format", "record") == "record"
        self._held_max = config.get_int("held_bytes_max", _HELD_MAX, min_val=0)
        sources = config.get_section("sources", {})
        self._records = {name.lower(): Records(sources.get_str(name)) for name in sources.get_keys()}
        self._settings = self._settings_of(config)
        self._farm = Farm(connect=self._address, keys=config.get_str("keys", "") or None)
        status = self._farm.status()
        if status.state in ("running", "paused"):
            self.log.warning("run %d of Weir was on without its satellite, and is stopped", status.run)
            self._farm.stop("its satellite of Constellation was started again")
        return f"farm {status.farm} at {self._address}"

    def do_launching(self) -> str:
        self._leads().configure(self._settings)
        return f"farm {self._leads().status().farm} is ready"

    def do_reconfigure(self, config: Configuration) -> str:
        self._settings.update(self._settings_of(config))
        return self.do_launching()

    def do_starting(self, run_identifier: str) -> str:
        farm = self._leads()
        run = farm.start()
        if self._trigger_address:
            self._client = TriggerClient(*host_and_port(self._trigger_address), farm.status().farm)
            self._triggers = Triggers(self._client)
        for records in self._records.values():
            records.connect(_PATIENCE_S)
            records.sent = records.lost = 0
        self._slices = Slices(self._records, self._held_max)
        return f"run {run} of Weir is {run_identifier}"

    def do_run(self) -> str:
        told = ""
        while not self.stop_requested():
            assert self._drc is not None
            self._drc.check_exception()
            status = self._leads().status()
            if status.state == "error":
                raise RuntimeError(f"Weir: {status.reason}")
            if status.state in ("ready", "standby", "idle") and not status.under_way:
                ended = status.runs[0].reason if status.runs else "no reason is known"
                raise RuntimeError(f"Weir's run {status.run} has ended by itself: {ended}")
            if status.health not in (told, "running"):
                self.log.warning("Weir: %s", status.health)
                self._mark_degraded(f"Weir: {status.health}")
            told = status.health
            time.sleep(_POLL_S)
        return "Finished run"

    def do_stopping(self) -> str:
        if self._triggers is not None:
            self._triggers.finish()
        result = self._leads().stop("stopped by Constellation")
        text = f"run {result.run}: {result.triggered} slices, {result.stored} stored, {result.discarded} discarded"
        if self._triggers is not None and self._triggers.refused:
            text += ", refused triggers: " + ", ".join(f"{name} {n}" for name, n in self._triggers.refused.items())
        if self._slices.late:
            text += f", {self._slices.late} records too far behind"
        lost = sum(records.lost for records in self._records.values())
        if lost:
            text += f", {lost} records lost without their source"
        if result.faults or not result.balanced or lost or self._slices.late:
            self._mark_degraded(text)
        self._disconnect()
        return text

    def fail_gracefully(self) -> str:
        try:
            if self._farm is not None and self._farm.status().state in ("running", "paused"):
                self._farm.stop("Constellation's satellite failed")
        except ControlError as error:
            return f"Weir's run may go on: {error}"
        finally:
            self._disconnect()
        return "Weir's run is stopped"

    def reentry(self) -> None:
        self._close()
        super().reentry()

    # ---- data

    def receive_bor(self, sender: str, user_tags: dict[str, Any], configuration: dict[str, Any]) -> None:
        if sender.lower() not in self._records:
            raise RuntimeError(f"{sender} has no address in `sources`: add it, or set _data.receive_from")

    def receive_data(self, sender: str, data_record: DataRecord) -> None:
        self._pass_on(self._slices.add(sender.lower(), data_record.sequence_number, self._fragment(data_record)))

    def receive_eor(self, sender: str, user_tags: dict[str, Any], run_metadata: dict[str, Any]) -> None:
        self._pass_on(self._slices.end(sender.lower()))

    def _pass_on(self, ready: Slices.Ready) -> None:
        for number, parts in ready:
            for sender, data in parts.items():
                records = self._records[sender]
                if not records.send(number, data) and records.lost == 1:
                    self.log.warning("%s: its source at %s is gone, records are lost", sender, records.address)
            if self._triggers is not None:
                self._triggers.offer(number)

    def _fragment(self, record: DataRecord) -> bytes:
        if self._keeps_tags:
            packed: bytes = msgpack.packb([record.tags, record.blocks])
            return packed
        return record.blocks[0] if len(record.blocks) == 1 else b"".join(record.blocks)

    @schedule_metric("", 5)
    def records_sent(self) -> int | None:
        """Records sent to Weir's sources"""
        return sum(records.sent for records in self._records.values()) if self._farm is not None else None

    @schedule_metric("", 5)
    def records_lost(self) -> int | None:
        """Records lost because no source of Weir was connected"""
        return sum(records.lost for records in self._records.values()) if self._farm is not None else None

    # ---- parts

    def _leads(self) -> Farm:
        assert self._farm is not None
        return self._farm

    @staticmethod
    def _settings_of(config: Configuration) -> dict[str, Any]:
        settings = config.get_section("settings", {})
        return {key: settings.get(key) for key in settings.get_keys()}

    def _disconnect(self) -> None:
        for records in getattr(self, "_records", {}).values():
            records.close()
        if self._client is not None:
            self._client.close()
        self._client = self._triggers = None

    def _close(self) -> None:
        self._disconnect()
        if self._farm is not None:
            self._farm.close()
        self._farm = None


def main() -> None:
    parser = SatelliteArgumentParser(description="Weir as a satellite of Constellation", version=__version__)
    arguments = vars(parser.parse_args())
    setup_cli_logging(arguments.pop("level"))
    Weir(**arguments).run_satellite()


if __name__ == "__main__":
    main()
