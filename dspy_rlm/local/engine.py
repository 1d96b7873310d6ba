"""The local model as an engine for `dspy.LM`: in process, loaded at its first call, saved with a program by its path."""

from __future__ import annotations

import asyncio
import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dspy
from dspy.clients.engines.base import validate_request
from dspy.lm15 import InvalidRequestError, Request, Response, response_to_events

from dspy_rlm.errors import LocalModelError, UsageError
from dspy_rlm.local import weights, wire
from dspy_rlm.local.llama import LlamaModel, Loader, ModelSettings, check_file, load_server, open_model

DEFAULT_MODEL = "local/qwen2.5-coder-1.5b"
_END_OF_REPLY = "[[ ## completed ## ]]"  # as dspy.ChatAdapter asks for it
DEFAULT_CONTEXT_LENGTH = 16_384  # tokens; the default model was trained for 32,768, at 28 KB of memory each


class LocalEngine:
    """Answers `dspy.LM` calls with a GGUF model run in this process by llama.cpp.

    Calls from several threads queue. Engines with the same arguments share one loaded model.

    Args:
        path: A GGUF file. Default: the packaged Qwen2.5-Coder-1.5B-Instruct.
        context_length: Tokens of prompt and answer together. Default: 16,384.
        threads: CPU threads that compute. Default: as many as this process may run on.
        loader: Loads the model. Default: llama.cpp.

    Raises:
        UsageError: `context_length` or `threads` is not positive.
    """

    supports_response_schema = True
    supported_params = frozenset({*wire.SAMPLING, "stop", "response_format"})

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        context_length: int | None = None,
        threads: int | None = None,
        loader: Loader = load_server,
    ) -> None:
        for name, value in (("context_length", context_length), ("threads", threads)):
            if value is not None and value < 1:
                raise UsageError(f"{name} must be at least 1, got {value}")
        self.path = None if path is None else Path(path).expanduser().resolve()
        self.context_length = context_length or DEFAULT_CONTEXT_LENGTH
        self.threads = threads
        self._loader = loader
        self._model: LlamaModel | None = None

    @property
    def asynchronous(self) -> AsyncLocalEngine:
        """The same engine for `dspy.LM(..., async_engine=...)`."""
        return AsyncLocalEngine(self)

    def complete(self, request: Request) -> Response:
        """Answer one request, loading the model at the first one.

        Raises:
            dspy.lm15.ContextLengthError: the prompt does not fit the context.
            dspy.lm15.UnsupportedFeatureError: the request asks for what llama.cpp cannot do.
            LocalModelError: the model cannot be loaded.
        """
        validate_request(request)
        payload = wire.payload(request)
        try:
            chunks = self._loaded().chat(payload)
        except ValueError as error:
            raise InvalidRequestError(f"llama.cpp refused the request: {error}", provider=wire.PROVIDER) from error
        return wire.response(request, chunks)

    def stream(self, request: Request) -> Iterator[Any]:
        """The events of an answer that is already complete."""
        yield from response_to_events(self.complete(request))

    def close(self) -> None:
        """Let go of the model; its memory is freed when no other engine uses it."""
        self._model = None

    def dump_state(self) -> dict[str, Any]:
        """The arguments that make this engine again, for a saved program."""
        path = None if self.path is None else str(self.path)
        return {"path": path, "context_length": self.context_length, "threads": self.threads}

    @classmethod
    def load_state(cls, state: dict[str, Any]) -> LocalEngine:
        """The engine of a saved program; nothing is loaded until its first call."""
        return cls(**state)

    def __deepcopy__(self, memo: dict[int, Any]) -> LocalEngine:
        return self  # it has no state that a copy could change, and the loaded model must not be doubled

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).load_state, (self.dump_state(),)

    def _loaded(self) -> LlamaModel:
        if self._model is None:
            path = self.path or weights.joined_weights()
            settings = ModelSettings(path, self.context_length, self.threads or _usable_cpus())
            self._model = open_model(settings, self._loader)
        return self._model


class AsyncLocalEngine:
    """A `LocalEngine` for awaiting callers; the event loop never waits for the model.

    Args:
        engine: The engine that answers.
    """

    def __init__(self, engine: LocalEngine) -> None:
        self.engine = engine

    async def complete(self, request: Request) -> Response:
        """As `LocalEngine.complete`."""
        return await asyncio.to_thread(self.engine.complete, request)

    async def aclose(self) -> None:
        """As `LocalEngine.close`."""
        self.engine.close()

    def dump_state(self) -> dict[str, Any]:
        """As `LocalEngine.dump_state`."""
        return self.engine.dump_state()

    @classmethod
    def load_state(cls, state: dict[str, Any]) -> AsyncLocalEngine:
        """As `LocalEngine.load_state`."""
        return cls(LocalEngine.load_state(state))


def local_lm(
    path: str | os.PathLike[str] | None = None,
    *,
    context_length: int | None = None,
    threads: int | None = None,
    temperature: float = 0.0,
    max_tokens: int = 1024,
    **kwargs: Any,
) -> dspy.LM:
    """A `dspy.LM` that runs in this process.

    Args:
        path: A GGUF file. Default: the packaged Qwen2.5-Coder-1.5B-Instruct.
        context_length: Tokens of prompt and answer together. Default: 16,384.
        threads: CPU threads that compute. Default: as many as this process may run on.
        temperature: Sampling temperature. Default: 0, the likeliest token each time.
        max_tokens: Tokens of an answer at most. Default: 1024.
        **kwargs: Further arguments of `dspy.LM`. `stop` is by default the marker that ends a reply in DSPy's chat format,
            after which small models go on with a reply of their own.

    Raises:
        LocalModelError: llama.cpp or the model is not installed, or `path` is no file.
    """
    engine = LocalEngine(path, context_length=context_length, threads=threads)
    _check_available(engine.path)
    # DSPy's response cache knows a model by its name only, so another file must have another name.
    name = DEFAULT_MODEL if engine.path is None else f"local/{engine.path.as_posix().lstrip('/')}"
    return dspy.LM(
        name,
        engine=engine,
        async_engine=engine.asynchronous,
        temperature=temperature,
        max_tokens=max_tokens,
        **{"stop": [_END_OF_REPLY], **kwargs},
    )


def is_installed() -> bool:
    """Whether `local_lm()` would work: llama.cpp and the packaged model are there."""
    return importlib.util.find_spec("xllamacpp") is not None and weights.is_installed()


def _check_available(path: Path | None) -> None:
    if importlib.util.find_spec("xllamacpp") is None:
        raise LocalModelError(f"the local model needs llama.cpp, which is not installed: {weights.INSTALL_COMMAND}")
    if path is not None:
        check_file(path)
    elif not weights.is_installed():
        weights.installed_parts(weights.QWEN_CODER)  # says which package is missing


def _usable_cpus() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
