"""Waits that Ctrl-C ends, whichever thread the system hands the signal to, and the end of the run they are for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import CancelledError, Future, wait
from typing import Any

# Python acts on a signal only when its main thread runs again, so that one may not sleep without an end.
CHECK_SECONDS = 0.2


def wait_for(futures: Iterable[Future[Any]], ended: Callable[[], bool] | None = None) -> None:
    """Wait until all are done.

    Args:
        futures: What to wait for.
        ended: Says that nobody waits for the results any more; what is not done is then cancelled. Default: never.

    Raises:
        KeyboardInterrupt: Ctrl-C, when called in the main thread.
        CancelledError: `ended` said so.
    """
    missing = set(futures)
    while missing:
        missing = wait(missing, timeout=CHECK_SECONDS).not_done
        if missing and ended is not None and ended():
            for future in missing:
                future.cancel()
            raise CancelledError
