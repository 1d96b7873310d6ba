"""Peak memory and time for "which IP occurs most often" in a large log: an RLM beside the same job in plain Python.

    python benchmarks/large_input.py [MEGABYTES]

The log (800 MB unless said otherwise) is made in a temporary folder. Each way of doing the job runs in a process of its
own, the RLM with a scripted LM, so that what is measured is the module and its sandbox. Peak memory is that of the whole
process tree together (proportional set size, sampled), as a multiple of the log's size and of plain Python's.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

CELL = """\
from collections import Counter
counts = Counter()
start = 0
while start < len(log):
    end = log.find("\\n", start + 50_000_000)
    end = len(log) if end < 0 else end + 1
    counts.update(line.partition(" ")[0] for line in log[start:end].splitlines())
    start = end
ip, requests = counts.most_common(1)[0]
SUBMIT(ip=ip, requests=requests)
"""
INTERVAL = 0.02  # seconds between two looks at the memory
WAYS = ("plain Python", "RLM, one string", "RLM, file path")


def make_log(path: Path, megabytes: int) -> str:
    """Write a log of that size whose most frequent IP is known, and return that IP."""
    rng = random.Random(7)
    addresses = [f"10.{rng.randrange(256)}.{rng.randrange(256)}.{rng.randrange(256)}" for _ in range(1000)]
    winner = "10.20.30.40"
    lines = [
        f'{ip} - - [30/Nov/2026:12:00:00] "GET /item/{rng.randrange(10**6)} HTTP/1.1" 200 {rng.randrange(10**5)}'
        for ip in addresses
    ]
    lines += [f'{winner} - - [30/Nov/2026:12:00:00] "GET /start HTTP/1.1" 200 512'] * 3
    rng.shuffle(lines)
    block = ("\n".join(lines) + "\n").encode()
    with path.open("wb") as file:
        for _ in range(megabytes * 10**6 // len(block) + 1):
            file.write(block)
    return winner


def plain(path: Path) -> str:
    """Do the job as one would without an RLM: read the file, count in pieces."""
    log = path.read_text()
    names: dict[str, object] = {"log": log, "SUBMIT": lambda ip, requests: ip}
    exec(CELL.replace("SUBMIT(ip=ip, requests=requests)", ""), names)
    return str(names["ip"])


def with_rlm(path: Path, *, as_path: bool) -> str:
    """Do the job with an RLM whose LM answers with the cell."""
    import dspy

    from dspy_rlm import RLM
    from dspy_rlm.testing import ScriptedLM

    log: str | Path = path if as_path else path.read_text()
    with dspy.context(lm=ScriptedLM([f"```python\n{CELL}```"])):
        result = RLM("log -> ip: str, requests: int")(log=log)
    return str(result.ip)


def run_one(way: str, path: Path) -> None:
    """Do the job one way in this process, and print the answer and the seconds."""
    if way != WAYS[0]:
        import dspy  # noqa: F401  # loading DSPy is no part of the job

        import dspy_rlm.rlm  # noqa: F401
    started = time.monotonic()
    ip = plain(path) if way == WAYS[0] else with_rlm(path, as_path=way == WAYS[2])
    print(json.dumps({"ip": ip, "seconds": time.monotonic() - started}))


def measure(way: str, path: Path) -> tuple[str, float, int]:
    """Run one way in a process of its own; return its answer, its seconds, and its peak memory in bytes."""
    process = subprocess.Popen(
        [sys.executable, __file__, "--way", way, "--log", str(path)], stdout=subprocess.PIPE, text=True
    )
    peak = 0

    def watch() -> None:
        nonlocal peak
        while process.poll() is None:
            peak = max(peak, sum(proportional_memory(pid) for pid in family(process.pid)))
            time.sleep(INTERVAL)

    watcher = threading.Thread(target=watch)
    watcher.start()
    out, _ = process.communicate()
    watcher.join()
    if process.returncode:
        raise SystemExit(f"{way} failed with exit code {process.returncode}")
    told = json.loads(out)
    return told["ip"], told["seconds"], peak


def family(root: int) -> list[int]:
    """The process and all its descendants."""
    parents: dict[int, int] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                stat = Path(f"/proc/{entry}/stat").read_text()
            except OSError:
                continue  # it has just ended
            parents[int(entry)] = int(stat.rpartition(")")[2].split()[1])
    found, size = {root}, 0
    while len(found) > size:
        size = len(found)
        found |= {pid for pid, parent in parents.items() if parent in found}
    return list(found)


def proportional_memory(pid: int) -> int:
    """Bytes of memory that a process has, its part of what it shares with others."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0  # it has just ended
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def main() -> None:
    """Measure every way and print them side by side."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("megabytes", type=int, nargs="?", default=800)
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--log", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.way:
        run_one(arguments.way, arguments.log)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "access.log"
        winner = make_log(path, arguments.megabytes)
        size = path.stat().st_size
        print(f"{size / 1e6:,.0f} MB of log; the most frequent IP is {winner}\n")
        print(f"{'':18}{'answer':>14}{'seconds':>10}{'× plain':>9}{'peak MB':>10}{'× log':>8}{'× plain':>9}")
        base: tuple[float, int] | None = None
        for way in WAYS:
            ip, seconds, peak = measure(way, path)
            base = base or (seconds, peak)
            print(
                f"{way:18}{ip if ip == winner else f'WRONG {ip}':>14}{seconds:>10.2f}{seconds / base[0]:>9.2f}"
                f"{peak / 1e6:>10,.0f}{peak / size:>8.2f}{peak / base[1]:>9.2f}"
            )


if __name__ == "__main__":
    main()
