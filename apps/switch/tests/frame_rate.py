#!/usr/bin/env python3
"""Frames per second that a forwarder between two veth pairs carries with at most 0.1 % loss.

    sudo apps/switch/tests/frame_rate.py build/release
    sudo apps/switch/tests/frame_rate.py build/release --rounds 5 --seconds 0.4
    sudo apps/switch/tests/frame_rate.py build/release --testpmd /usr/bin/dpdk-testpmd --plugins /usr/lib/x86_64-linux-gnu/dpdk/pmds-23.0

The generator (AF_PACKET, transmit ring) is on core 0, the forwarder on core 1. The search halves the interval of rates.
testpmd forwards between the same interfaces, with AF_PACKET and with AF_XDP (no huge pages). weir-switch uses AF_XDP, too,
if it was built with WEIR_SWITCH_XDP. Prints a row of a table for each length. With --rounds the forwarders take turns at the generator's
full rate, all with real-time priority: for a machine with other programs.
"""
import argparse
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ADDRESS = "10.0.0.2"
LOSS_MAX = 0.001
STEPS = 7
LENGTHS = (60, 1514)  # without the checksum: 64 bytes, and a packet of 1,500
SWITCH = "ports: [{{interface: h0, receive_packets: {slots}}}, {{interface: h1, transmit_packets: {slots}}}]\n" \
         "rings: [{{name: dcm, address: {address}, via: h1, packets: 4096}}]\n"


def make_cables():
    for host, end in (("h0", "d0"), ("h1", "d1")):
        subprocess.run(["ip", "link", "add", host, "type", "veth", "peer", "name", end], check=True)
        for device in (host, end):
            pathlib.Path(f"/proc/sys/net/ipv6/conf/{device}/disable_ipv6").write_text("1")
            subprocess.run(["ip", "link", "set", device, "arp", "off", "up"], check=True)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


def count(device):
    """Returns the frames that an interface has received."""
    for line in pathlib.Path("/proc/net/dev").read_text().splitlines():
        name, _, counts = line.partition(":")
        if name.strip() == device:
            return int(counts.split()[1])
    raise KeyError(device)


def core_s(core=1):
    """Returns the time in which a core did anything: a veth receives in softirqs, which no process is charged for."""
    for line in pathlib.Path("/proc/stat").read_text().splitlines():
        name, *ticks = line.split()
        if name == f"cpu{core}":
            user, nice, system, idle, iowait, irq, softirq = map(int, ticks[:7])
            return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")
    raise KeyError(core)


REAL_TIME = ["chrt", "-r", "1"]


class Forwarder:
    def __init__(self, command, ready, priority=(), core=1):
        self.log = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([*priority, "taskset", "-c", str(core), *command], stdin=subprocess.PIPE, stdout=self.log,
                                        stderr=subprocess.STDOUT)
        for _ in range(100):
            time.sleep(0.1)
            self.log.seek(0)
            said = self.log.read()
            if ready in said:
                return
            if self.process.poll() is not None:
                break
        sys.exit(f"{command[0]} did not start:\n{said}")

    def cpu_s(self):
        """Returns the CPU time of its threads so far."""
        tasks = pathlib.Path(f"/proc/{self.process.pid}/task").glob("*/schedstat")
        return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()


def trial(generator, forwarder, length, rate, seconds, priority=()):
    before, reached, core, began, cpu = count("d1"), count("h0"), core_s(), time.monotonic(), forwarder.cpu_s()
    out = subprocess.run([*priority, "taskset", "-c", "0", generator, "d0", ADDRESS, str(length), str(rate), str(seconds)],
                         check=True, capture_output=True, text=True).stdout.split()
    passed = float(out[1])
    time.sleep(0.3)
    sent, arrived = count("h0") - reached, count("d1") - before  # a frame that did not reach the forwarder is none
    used = (core_s() - core) / (time.monotonic() - began)
    return sent / passed, arrived / passed, 1 - arrived / max(1, sent), used, (forwarder.cpu_s() - cpu) / max(1, arrived)


def search(generator, forwarder, length, seconds):
    """Returns (offered, carried, loss, use of the forwarder's core, its CPU time per frame) of the highest rate within the loss, and whether the generator is the limit."""
    best = trial(generator, forwarder, length, 1e9, seconds)
    if best[2] <= LOSS_MAX:
        return best, True
    low, high, best = 0.0, best[0], None
    for _ in range(STEPS):
        rate = (low + high) / 2
        result = trial(generator, forwarder, length, rate, seconds)
        if result[2] <= LOSS_MAX:
            low, best = rate, result
        else:
            high = rate
    return best, False


def take_turns(generator, rows, options):
    """Prints the medians of the rounds."""
    results = {}
    for _ in range(options.rounds):
        for name, command, ready in rows:
            forwarder = Forwarder(command, ready, REAL_TIME)
            for length in LENGTHS:
                results.setdefault((name, length), []).append(
                    trial(generator, forwarder, length, 1e9, options.seconds, REAL_TIME))
            forwarder.stop()
    print("| forwarder | frame, bytes | offered, frames/s | carried | best | loss, % | CPU time, ns a frame |\n"
          "| --- | --- | --- | --- | --- | --- | --- |")
    for (name, length), trials in results.items():
        offered, carried, loss, _, cpu = (statistics.median(column) for column in zip(*trials))
        print(f"| {name} | {length} | {offered:,.0f} | {carried:,.0f} | {max(result[1] for result in trials):,.0f} | "
              f"{100 * loss:.2f} | {1e9 * cpu:.0f} |")


def forwarders(options, folder):
    table = folder / "switch.yaml"
    table.write_text(SWITCH.format(address=ADDRESS, slots=4096))
    build = pathlib.Path(options.build)
    command = [str(build / "bin/weir-switch"), str(table)]
    yield "weir-switch", command, "switching queues="
    yield "weir-switch, busy_poll_us=200", [*command, "--set", "busy_poll_us=200"], "switching queues="
    for sockets in ("xdp", "xdp-generic"):
        chosen = [*command, "--set", f"sockets={sockets}"]
        if subprocess.run([*chosen, "--check"], capture_output=True).returncode != 0:
            print(f"weir-switch was built without AF_XDP (WEIR_SWITCH_XDP): no row of {sockets}", file=sys.stderr)
            continue
        yield f"weir-switch, {sockets}", chosen, "switching queues="
        yield f"weir-switch, {sockets}, busy_poll_us=200", [*chosen, "--set", "busy_poll_us=200"], "switching queues="
    if options.testpmd:
        for name, settings in (("net_af_packet", ",blocksz=65536,framesz=2048,framecnt=4096"), ("net_af_xdp", "")):
            plugins = []
            for plugin in ("mempool_ring", "bus_vdev", name):
                plugins += ["-d", str(next(pathlib.Path(options.plugins).glob(f"librte_{plugin}.so*")))]
            devices = [f"--vdev={name}{i},iface=h{i}{settings}" for i in (0, 1)]
            yield f"testpmd, {name}", [options.testpmd, "-l", "0,1", "--no-huge", "--no-pci", "-m", "256", *plugins, *devices,
                                       "--", "--total-num-mbufs=32768", "--forward-mode=io", "--auto-start",
                                       "--stats-period", "100", "--no-mlockall"], "packet forwarding"


def print_search(generator, rows, options):
    print("| forwarder | frame, bytes | frames per second at 0.1 % loss | loss, % | core in use, s/s | CPU time, ns a frame |\n"
          "| --- | --- | --- | --- | --- | --- |")
    for name, command, ready in rows:
        for length in LENGTHS:
            forwarder = Forwarder(command, ready)
            best, limited = search(generator, forwarder, length, options.seconds)
            forwarder.stop()
            text = "none" if best is None else f"{best[1]:,.0f}{' or more (the generator is the limit)' if limited else ''}"
            print(f"| {name} | {length} | {text} | {100 * best[2] if best else 0:.3f} | {best[3] if best else 0:.2f} | "
                  f"{1e9 * best[4] if best else 0:.0f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", help="build folder, with bin/weir-switch")
    parser.add_argument("--testpmd", help="dpdk-testpmd, to compare with")
    parser.add_argument("--plugins", default="/usr/lib/x86_64-linux-gnu/dpdk/pmds-23.0", help="folder of DPDK's plugins")
    parser.add_argument("--only", default="", help="texts divided by ;, for the rows that have one of them in their name")
    parser.add_argument("--rounds", type=int, help="take turns so often, instead of a search")
    parser.add_argument("--seconds", type=float, default=2, help="of each trial")
    options = parser.parse_args()
    if os.environ.get("WEIR_FRAME_RATE_SPACE") != "1":
        os.execvpe("unshare", ["unshare", "-n", sys.executable, *sys.argv], {**os.environ, "WEIR_FRAME_RATE_SPACE": "1"})
    make_cables()
    generator = str(pathlib.Path(options.build) / "tests/weir-frame-generator")
    print(f"load before: {os.getloadavg()[0]:.1f}\n")
    with tempfile.TemporaryDirectory() as folder:
        rows = [row for row in forwarders(options, pathlib.Path(folder)) if any(word in row[0] for word in options.only.split(";"))]
        if options.rounds:
            return take_turns(generator, rows, options)
        print_search(generator, rows, options)


if __name__ == "__main__":
    main()
