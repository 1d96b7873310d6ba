"""Waits that Ctrl-C ends, whichever thread the system hands the signal to."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Future, wait
from typing import Any

# Python acts on a signal only when its main thread runs again, so that one may not sleep without an end.
CHECK_SECONDS = 0.2


def wait_for(futures: Iterable[Future[Any]]) -> None:
    """Wait until all are done.

    Args:
        futures: What to wait for.

    Raises:
        KeyboardInterrupt: Ctrl-C, when called in the main thread.
    """
    missing = set(futures)
    while missing:
        missing = wait(missing, timeout=CHECK_SECONDS).not_done
