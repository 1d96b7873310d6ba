"""A session's own thread, so that an event loop waits for no cell."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

from dspy_rlm.sessions import Session


class SessionThread:
    """A session on a thread of its own, where it is opened, used and shut down, for an event loop that must not wait.

    Args:
        open: Opens the session.
    """

    def __init__(self, open: Callable[[], Session]) -> None:
        self._open = open
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="rlm-session")
        self._context = contextvars.copy_context()
        self.session: Session

    async def run(self, function: Callable[..., Any], *args: Any) -> Any:
        """What `function(*args)` returns, called on the session's thread in the context of the run."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pool, self._context.run, function, *args)

    async def __aenter__(self) -> Self:
        opening = asyncio.ensure_future(self.run(self._open))
        try:
            self.session = await asyncio.shield(opening)
        except asyncio.CancelledError:
            opening.add_done_callback(lambda done: done.exception() is None and done.result().shutdown())
            raise
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if kind is asyncio.CancelledError:
            # A cell may be running on the session's thread; shutting down from here ends it.
            await asyncio.to_thread(self.session.shutdown)
        else:
            await self.run(self.session.shutdown)
        self._pool.shutdown(wait=False)
