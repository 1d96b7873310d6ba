"""Coroutines waited for by code that is not asynchronous: tools, and modules that are only asynchronous."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from dspy_rlm.interrupts import wait_for


def result_of(
    coroutine: Coroutine[Any, Any, Any],
    loop: asyncio.AbstractEventLoop | None = None,
    ended: Callable[[], bool] | None = None,
) -> Any:
    """What a coroutine returns.

    Args:
        coroutine: The coroutine.
        loop: The event loop, of another thread, that it runs on. None: a loop of its own.
        ended: Says that nobody waits for the result any more; the coroutine is then cancelled.

    Raises:
        concurrent.futures.CancelledError: `ended` said so.
        Exception: what the coroutine raises.

    Example:
        >>> async def double(n): return 2 * n
        >>> result_of(double(21))
        42
    """
    if loop is not None:
        return _waited(asyncio.run_coroutine_threadsafe(coroutine, loop), ended)
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    # Called synchronously inside someone's event loop (a notebook): a loop of its own needs a thread of its own.
    pool = ThreadPoolExecutor(1)
    try:
        return _waited(pool.submit(contextvars.copy_context().run, asyncio.run, coroutine), ended)
    finally:  # after Ctrl-C, nobody waits for the answer
        pool.shutdown(wait=False)


def _waited(future: Future[Any], ended: Callable[[], bool] | None) -> Any:
    wait_for([future], ended)
    return future.result()
