"""Offers triggers to a farm as lines of text, over TCP or UDP: docs/triggers.md. Standard library only.

trigger.py HOST PORT COUNT [--udp] [--key FILE] prints each answer.
"""

from __future__ import annotations

import argparse
import hashlib
import hmac
import socket
import time


class Trigger:
    """Repeats a request until it has its answer; a repeat makes no second slice."""

    def __init__(self, host: str, port: int, client: str, *, udp: bool = False, key: bytes = b"") -> None:
        self.kind = socket.SOCK_DGRAM if udp else socket.SOCK_STREAM
        self.to, self.client, self.key = (host, port), client, key
        self.session, self.n, self.challenge = time.time_ns(), 0, ""
        self.socket: socket.socket | None = None
        self.lines: list[str] = []
        self.got = b""

    def offer(self, words: str = "") -> tuple[str, str]:
        """Returns ("taken", slice) or ("busy", reason). `words`: as "slice=5 type=2 data=00ff"."""
        self.n += 1
        mark = f"n={self.n} session={self.session}"
        line = f"trigger client={self.client} {mark} {words}".strip()
        while True:
            if self.key and not self.challenge:
                self.challenge = self.ask("hello", "challenge=").rpartition("challenge=")[2]
            proof = hmac.new(self.key, f"{self.challenge} {line}".encode(), hashlib.sha256).hexdigest()
            answer = self.ask(f"{line} mac={proof}" if self.key else line, mark)
            if answer.startswith("error mac") and self.challenge:  # another run, which has another challenge
                self.challenge = ""
                time.sleep(0.1)
                continue
            word, value = answer.split()[:2]
            if word == "error":
                raise RuntimeError(answer)
            return word, value

    def ask(self, line: str, mark: str) -> str:
        """Sends a line until an answer with this mark, or an error without one, arrives."""
        while True:
            try:
                if self.socket is None:
                    self.socket, self.got, self.lines = socket.socket(socket.AF_INET, self.kind), b"", []
                    self.socket.settimeout(1)
                    self.socket.connect(self.to)
                self.socket.sendall(line.encode() + b"\n")
                while True:
                    answer = self.next_line()
                    if mark in answer or (answer.startswith("error") and " n=" not in answer):
                        return answer
            except OSError:  # no answer in time, or a broken connection
                if self.socket is not None:
                    self.socket.close()
                self.socket = None
                time.sleep(0.05)

    def next_line(self) -> str:
        assert self.socket is not None
        while not self.lines:
            piece = self.socket.recv(65536)
            if not piece:
                raise ConnectionError("the supervisor closed the connection")
            *whole, self.got = (self.got + piece).split(b"\n")
            self.lines = [one.decode() for one in whole]
        return self.lines.pop(0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("host")
    parser.add_argument("port", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("--udp", action="store_true")
    parser.add_argument("--key", help="trigger.key, outside loopback")
    given = parser.parse_args()
    key = b""
    if given.key:
        with open(given.key, encoding="ascii") as file:
            key = next(bytes.fromhex(line.split()[2]) for line in file if line.startswith("key "))
    trigger = Trigger(given.host, given.port, "python", udp=given.udp, key=key)
    for _ in range(given.count):
        print(*trigger.offer(), flush=True)


if __name__ == "__main__":
    main()
