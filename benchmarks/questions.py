"""How many of the questions of `examples/questions.json` the command line answers right, with a transcript of each.

    python benchmarks/questions.py [ID ...]

Each question is asked as a user would ask it, `dspy-rlm ask QUESTION FILE --output ...`, of the model that
`dspy-rlm` chooses: the one named in DSPY_RLM_MODEL, else the local one. What it printed goes to `examples/transcripts/`.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from dspy_rlm.cli.outputs import as_text

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
FILE = "data/airports.csv.gz"
LIMIT = 180  # seconds a question


def ask(question: dict[str, Any]) -> bool:
    """Ask one question, keep the transcript, and tell whether the answer is the right one."""
    arguments = ["ask", question["question"], FILE, "--output", question["output"]]
    command = [str(Path(sys.executable).with_name("dspy-rlm")), *arguments]
    with tempfile.TemporaryDirectory() as cache:  # replies of an earlier run would take no time
        environment = {**os.environ, "DSPY_CACHEDIR": cache}
        run = subprocess.Popen(
            command, cwd=EXAMPLES, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        limit = threading.Timer(LIMIT, run.send_signal, [signal.SIGINT])
        limit.start()
        answer, progress = run.communicate()
        limit.cancel()
    transcript = f"$ {shlex.join(['dspy-rlm', *arguments])}\n{progress}{answer}"
    (EXAMPLES / "transcripts" / f"{question['id']}.txt").write_text(transcript)
    return run.returncode == 0 and answer.strip() == as_text(question["answer"]).strip()


def main() -> None:
    """Ask the questions that are named, or all, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ids", nargs="*", metavar="ID")
    wanted = parser.parse_args().ids
    # A shell's background jobs, and what they start, ignore SIGINT.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    questions = json.loads((EXAMPLES / "questions.json").read_text())
    chosen = [question for question in questions if not wanted or question["id"] in wanted]
    (EXAMPLES / "transcripts").mkdir(exist_ok=True)
    right = 0
    for question in chosen:
        started = time.monotonic()
        answered = ask(question)
        right += answered
        print(f"{'right' if answered else 'WRONG'}  {time.monotonic() - started:5.0f} s  {question['id']}", flush=True)
    print(f"{right} of {len(chosen)} right")


if __name__ == "__main__":
    main()
