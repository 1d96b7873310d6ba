import _thread
import gc
import sys
import threading
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dspy_rlm.errors import LocalModelError
from dspy_rlm.local.llama import Chunk, LlamaModel, ModelSettings, load_server, open_model

SETTINGS = ModelSettings(Path("m.gguf"), 4096, 2)


class Server:
    """A chat server that answers with the prompt's words and watches how many are served at once."""

    def __init__(self) -> None:
        self.serving = 0
        self.most = 0

    def handle_chat_completions(self, prompt: dict[str, Any], callback: Callable[[Chunk], bool]) -> None:
        self.serving += 1
        self.most = max(self.most, self.serving)
        for word in prompt["words"]:
            if callback({"word": word}):
                break
        self.serving -= 1


def test_an_answer_is_every_chunk_in_order() -> None:
    assert LlamaModel(Server()).chat({"words": "abc"}) == [{"word": "a"}, {"word": "b"}, {"word": "c"}]


def test_callers_queue() -> None:
    server = Server()
    model = LlamaModel(server)
    answers: list[list[Chunk]] = []
    threads = [threading.Thread(target=lambda: answers.append(model.chat({"words": "ab" * 50}))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [len(answer) for answer in answers] == [100] * 8
    assert server.most == 1


def test_an_error_reaches_its_caller_and_the_next_is_served() -> None:
    class Refusing(Server):
        def handle_chat_completions(self, prompt: dict[str, Any], callback: Callable[[Chunk], bool]) -> None:
            if not prompt["words"]:
                raise ValueError("nothing to say")
            super().handle_chat_completions(prompt, callback)

    model = LlamaModel(Refusing())
    with pytest.raises(ValueError, match="nothing to say"):
        model.chat({"words": ""})
    assert model.chat({"words": "a"}) == [{"word": "a"}]


def test_ctrl_c_ends_the_wait_at_once_and_the_generation_at_its_next_chunk() -> None:
    stopped = threading.Event()

    class Endless(Server):
        def handle_chat_completions(self, prompt: dict[str, Any], callback: Callable[[Chunk], bool]) -> None:
            _thread.interrupt_main()
            while not callback({}):
                pass
            stopped.set()

    with pytest.raises(KeyboardInterrupt):
        LlamaModel(Endless()).chat({"words": "a"})
    assert stopped.wait(timeout=10)


def test_equal_settings_share_one_loaded_model() -> None:
    loaded: list[ModelSettings] = []

    def loader(settings: ModelSettings) -> Server:
        loaded.append(settings)
        return Server()

    first, again = open_model(SETTINGS, loader), open_model(SETTINGS, loader)
    other = open_model(ModelSettings(SETTINGS.path, 8192, 2), loader)
    assert first is again is not other
    assert len(loaded) == 2
    del first, again
    gc.collect()
    open_model(SETTINGS, loader)
    assert len(loaded) == 3  # the first was let go when nobody used it any more


def test_without_llama_cpp_the_command_to_install_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(LocalModelError, match=r'pip install "dspy-rlm\[local\]"'):
        load_server(SETTINGS)


@pytest.fixture
def llama_cpp(monkeypatch: pytest.MonkeyPatch) -> types.SimpleNamespace:
    """Stands in for the package `xllamacpp`; `made` are the parameters that servers were made with."""
    module = types.SimpleNamespace(made=[], Server=lambda params: module.made.append(params) or Server())
    module.CommonParams = lambda: types.SimpleNamespace(
        model=types.SimpleNamespace(),
        cpuparams=types.SimpleNamespace(),
        cpuparams_batch=types.SimpleNamespace(),
    )
    monkeypatch.setitem(sys.modules, "xllamacpp", module)
    return module


def test_a_model_is_loaded_with_its_settings(llama_cpp: types.SimpleNamespace, tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(b"GGUF...")
    assert isinstance(load_server(ModelSettings(path, 4096, 3)), Server)
    params = llama_cpp.made[0]
    assert (params.model.path, params.n_ctx, params.n_parallel) == (str(path), 4096, 1)
    assert params.cpuparams.n_threads == params.cpuparams_batch.n_threads == 3
    socket = Path(params.hostnames[0])
    assert socket.suffix == ".sock" and not socket.parent.exists()


@pytest.mark.parametrize(("content", "why"), [(None, "cannot be read"), (b"PK\3\4", "is not a GGUF model file")])
def test_a_file_that_is_no_model_is_refused(
    llama_cpp: types.SimpleNamespace, tmp_path: Path, content: bytes | None, why: str
) -> None:
    path = tmp_path / "m.gguf"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(LocalModelError, match=why):
        load_server(ModelSettings(path, 4096, 2))


def test_what_llama_cpp_cannot_load_is_told_with_its_settings(llama_cpp: types.SimpleNamespace, tmp_path: Path) -> None:
    def fail(params: Any) -> Server:
        raise RuntimeError("failed to init server")

    llama_cpp.Server = fail
    path = tmp_path / "m.gguf"
    path.write_bytes(b"GGUF...")
    with pytest.raises(LocalModelError, match="cannot load .* with a context of 4096 tokens"):
        load_server(ModelSettings(path, 4096, 2))
