"""Threads and asyncio for cells: the usual names over the real ones, and no thread outlives its cell.

Our classes keep what is real outside of the object (`_real`), so that no attribute of theirs leads to it.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import sys
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator
from typing import Any, Self
from weakref import WeakKeyDictionary

from . import guards
from .formatting_trace import format_trace
from .policy_names import words

_MAX_THREADS = 64
_real: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
_started: list[threading.Thread | concurrent.futures.ThreadPoolExecutor] = []


@guards.may_derive_from
class ThreadPoolExecutor:
    """Stand-in for `concurrent.futures.ThreadPoolExecutor`; calls of host functions in it are concurrent."""

    def __init__(
        self,
        max_workers: int | None = None,
        thread_name_prefix: str = "",
        initializer: Callable[..., Any] | None = None,
        initargs: tuple[Any, ...] = (),
    ) -> None:
        workers = min(max_workers or 16, _MAX_THREADS)
        pool = concurrent.futures.ThreadPoolExecutor(workers, thread_name_prefix, initializer, initargs)
        _real[self] = pool
        _started.append(pool)

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> concurrent.futures.Future[Any]:
        """Run one call in a thread and return its future."""
        return _real[self].submit(function, *args, **kwargs)  # type: ignore[no-any-return]

    def map(
        self,
        function: Callable[..., Any],
        *iterables: Iterable[Any],
        timeout: float | None = None,
        chunksize: int = 1,
    ) -> Iterator[Any]:
        """Run a call for every item, and give the results in order."""
        return _real[self].map(function, *iterables, timeout=timeout)  # type: ignore[no-any-return]

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Let the threads end."""
        _real[self].shutdown(wait, cancel_futures=cancel_futures)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.shutdown()


@guards.may_derive_from
class Thread:
    """Stand-in for `threading.Thread`."""

    def __init__(
        self,
        group: None = None,
        target: Callable[..., Any] | None = None,
        name: str | None = None,
        args: Iterable[Any] = (),
        kwargs: dict[str, Any] | None = None,
        *,
        daemon: bool | None = None,
    ) -> None:
        self._call = (lambda: target(*args, **(kwargs or {}))) if target else (lambda: None)
        _real[self] = threading.Thread(target=self._run_reporting, name=name, daemon=True)
        self.name, self.daemon = _real[self].name, bool(daemon)

    def _run_reporting(self) -> None:
        try:
            self.run()
        except Exception as error:  # as threading does: a thread's exception is printed
            print(f"Exception in thread {self.name}:\n{format_trace(error)}", file=sys.stderr)

    def run(self) -> None:
        """Call the target; a derived class may override this."""
        self._call()

    def start(self) -> None:
        """Start the thread."""
        _started.append(_real[self])
        _real[self].start()

    def join(self, timeout: float | None = None) -> None:
        """Wait for the thread's end."""
        _real[self].join(timeout)

    def is_alive(self) -> bool:
        """Say whether the thread runs."""
        return bool(_real[self].is_alive())


def join_threads() -> None:
    """Wait for all threads that the cell started; what is queued and not yet begun is cancelled."""
    while _started:
        started = _started.pop()
        if isinstance(started, threading.Thread):
            started.join()
        else:
            started.shutdown(wait=True, cancel_futures=True)


class Loop:
    """What `asyncio.get_event_loop()` gives: enough of a loop to run coroutines, none of its transports."""

    def run_until_complete(self, awaitable: Any) -> Any:
        """Run an awaitable to its end."""

        async def wait() -> Any:
            return await awaitable

        return asyncio.run(wait())

    def create_task(self, coroutine: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Start a coroutine in the running loop."""
        return asyncio.create_task(coroutine)

    def run_in_executor(self, _executor: object, function: Callable[..., Any], *args: Any) -> Any:
        """Run a plain function in a thread, and await it."""
        return asyncio.to_thread(function, *args)

    def time(self) -> float:
        """Give the running loop's clock, in seconds."""
        return asyncio.get_running_loop().time()

    def is_running(self) -> bool:
        """Say whether a loop runs in this thread."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return False
        return True

    def close(self) -> None:
        """Do nothing: a loop lives as long as its run."""


def _get_running_loop() -> Loop:
    """Give the running loop.

    Raises:
        RuntimeError: When none runs.
    """
    asyncio.get_running_loop()
    return Loop()


ASYNCIO: dict[str, Any] = {
    **{
        name: getattr(asyncio, name)
        for name in words(
            "run gather sleep wait wait_for create_task as_completed shield timeout to_thread TaskGroup "
            "Semaphore BoundedSemaphore Lock Event Condition Queue PriorityQueue LifoQueue QueueEmpty QueueFull "
            "TimeoutError CancelledError InvalidStateError iscoroutine iscoroutinefunction current_task all_tasks "
            "isfuture FIRST_COMPLETED FIRST_EXCEPTION ALL_COMPLETED"
        )
    },
    "get_event_loop": Loop,
    "new_event_loop": Loop,
    "get_running_loop": _get_running_loop,
    "set_event_loop": lambda loop: None,
}
FUTURES: dict[str, Any] = {
    "ThreadPoolExecutor": ThreadPoolExecutor,
    **{
        name: getattr(concurrent.futures, name)
        for name in words(
            "Future as_completed wait TimeoutError CancelledError FIRST_COMPLETED FIRST_EXCEPTION ALL_COMPLETED"
        )
    },
}
THREADING: dict[str, Any] = {
    "Thread": Thread,
    **{
        name: getattr(threading, name)
        for name in words("Lock RLock Event Condition Semaphore BoundedSemaphore Barrier local get_ident active_count")
    },
}
