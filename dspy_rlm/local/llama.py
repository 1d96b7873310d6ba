"""A llama.cpp model loaded into this process: callers queue, a waiting caller can be interrupted, nothing listens.

llama.cpp's server does the work (chat templates, sampling, reuse of prompt prefixes) and is called in process. It
insists on listening somewhere, so it gets a Unix socket in a private folder, which is removed once it is bound.
"""

from __future__ import annotations

import tempfile
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from dspy_rlm.errors import LocalModelError
from dspy_rlm.interrupts import wait_for
from dspy_rlm.local.weights import INSTALL_COMMAND

Chunk = dict[str, Any]  # one piece of a streamed chat completion, in OpenAI's shape

# Root LM and sub-LM prompts alternate in an RLM; llama.cpp keeps the state of both in memory up to this many MiB, so
# that going back to the longer one costs nothing.
_PROMPT_CACHE_MIB = 2048

# Tokens of a prompt read at a time: a stopped call lets go of the processor after so many (about 7 s on 2 cores).
# Reading is as fast as with llama.cpp's 2048; with 128 it was a fifth slower.
_BATCH = 256


class ChatServer(Protocol):
    """What is used of `xllamacpp.Server`."""

    def handle_chat_completions(self, prompt: dict[str, Any], callback: Callable[[Chunk], bool]) -> None:
        """Answer one request, handing each piece to `callback`, until the end or until it returns true."""


@dataclass(frozen=True)
class ModelSettings:
    """What is loaded and how.

    Args:
        path: A GGUF file.
        context_length: Tokens of prompt and answer together.
        threads: CPU threads that compute.
    """

    path: Path
    context_length: int
    threads: int


Loader = Callable[[ModelSettings], ChatServer]


class LlamaModel:
    """A loaded model.

    Args:
        server: The in-process llama.cpp server.
    """

    def __init__(self, server: ChatServer) -> None:
        self._server = server
        self._turn = threading.Lock()

    def chat(self, payload: dict[str, Any]) -> list[Chunk]:
        """Answer one streamed request, after those that came before it.

        Args:
            payload: A chat completion request in OpenAI's shape, with `stream` true.

        Returns:
            Every piece of the answer.

        Raises:
            ValueError: llama.cpp refuses the request.
        """
        # The generation runs in a thread of its own because llama.cpp cannot be interrupted while it computes; this
        # thread can (Ctrl-C), and then the generation is told to stop at its next token or batch of the prompt.
        answer: Future[list[Chunk]] = Future()
        stopped = threading.Event()
        thread = threading.Thread(target=self._generate, args=(payload, stopped, answer), name="local-lm")
        try:
            thread.start()
            wait_for([answer])
            return answer.result()
        except BaseException:
            stopped.set()
            raise

    def _generate(self, payload: dict[str, Any], stopped: threading.Event, answer: Future[list[Chunk]]) -> None:
        chunks: list[Chunk] = []

        def collect(chunk: Chunk) -> bool:
            chunks.append(chunk)
            return stopped.is_set()

        with self._turn:
            try:
                if not stopped.is_set():
                    self._server.handle_chat_completions(payload, collect)
            except BaseException as error:  # whatever it is, it belongs to the thread that waits for the answer
                answer.set_exception(error)
            else:
                answer.set_result(chunks)


_loaded: weakref.WeakValueDictionary[tuple[ModelSettings, Loader], LlamaModel] = weakref.WeakValueDictionary()
_loading = threading.Lock()


def load_server(settings: ModelSettings) -> ChatServer:
    """Load a GGUF file with llama.cpp.

    Raises:
        LocalModelError: llama.cpp is not installed, the file is missing or not GGUF, or llama.cpp cannot load it.
    """
    try:
        import xllamacpp
    except ImportError as error:
        raise LocalModelError(f"the local model needs llama.cpp, which is not installed: {INSTALL_COMMAND}") from error
    check_file(settings.path)
    params = xllamacpp.CommonParams()
    params.model.path = str(settings.path)
    params.n_ctx, params.n_parallel, params.n_batch = settings.context_length, 1, _BATCH
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = settings.threads
    params.cache_ram_mib, params.ui, params.warmup = _PROMPT_CACHE_MIB, False, False
    params.verbosity = -1  # llama.cpp logs to the terminal otherwise
    with tempfile.TemporaryDirectory(prefix="dspy-rlm-") as folder:
        params.hostnames = [f"{folder}/llama.sock"]  # the ending makes llama.cpp take it for a Unix socket
        try:
            server: ChatServer = xllamacpp.Server(params)
        except RuntimeError as error:
            raise LocalModelError(
                f"llama.cpp cannot load {settings.path} with a context of {settings.context_length} tokens: the file "
                "is damaged, of a kind this llama.cpp does not know, or needs more memory than there is"
            ) from error
    return server


def open_model(settings: ModelSettings, loader: Loader = load_server) -> LlamaModel:
    """The model of these settings, loaded unless it already is: engines with equal settings share one copy.

    Args:
        settings: What to load and how.
        loader: Loads it. Default: llama.cpp.

    Raises:
        LocalModelError: as `loader` does.
    """
    with _loading:
        model = _loaded.get((settings, loader))
        if model is None:
            model = _loaded[settings, loader] = LlamaModel(loader(settings))
        return model


def check_file(path: Path) -> None:
    """Refuse what is no GGUF file.

    Raises:
        LocalModelError: the file is missing, cannot be read, or does not begin as GGUF files do.
    """
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        raise LocalModelError(f"the model file {path} cannot be read: {error.strerror}") from error
    if magic != b"GGUF":
        raise LocalModelError(f"{path} is not a GGUF model file: it begins with {magic!r}, not b'GGUF'")
