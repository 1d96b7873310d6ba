import asyncio
import copy
import importlib.util
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.lm15 import Config, Message, Request

from dspy_rlm.errors import LocalModelError, UsageError
from dspy_rlm.local import AsyncLocalEngine, LocalEngine, engine, local_lm, weights
from dspy_rlm.local.llama import Chunk, ModelSettings

USAGE = {"prompt_tokens": 7, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 5}}


class Server:
    """Answers every request with two words, or with the chunks it is given."""

    def __init__(self, *chunks: Chunk) -> None:
        self.prompts: list[dict[str, Any]] = []
        self.chunks = chunks or (
            {"id": "x", "choices": [{"delta": {"role": "assistant", "content": None}}]},
            {"id": "x", "choices": [{"delta": {"content": "Hello "}}]},
            {"id": "x", "choices": [{"delta": {"content": "there"}, "finish_reason": "stop"}]},
            {"id": "x", "choices": [], "usage": USAGE},
        )

    def handle_chat_completions(self, prompt: dict[str, Any], callback: Callable[[Chunk], bool]) -> None:
        self.prompts.append(prompt)
        for chunk in self.chunks:
            callback(chunk)


def lm_of(server: Server, loaded: list[ModelSettings] | None = None, **kwargs: Any) -> dspy.LM:
    def load(settings: ModelSettings) -> Server:
        if loaded is not None:
            loaded.append(settings)
        return server

    local = LocalEngine("m.gguf", threads=2, context_length=4096, loader=load)
    return dspy.LM("local/m", engine=local, async_engine=local.asynchronous, cache=False, **kwargs)


def test_an_lm_answers_with_text_and_usage() -> None:
    server = Server()
    lm = lm_of(server)
    config = Config(temperature=0.0, max_tokens=9)
    answer = lm(Request(model=lm.model, system="S", messages=(Message.user("U"),), config=config))
    assert answer.message.text == "Hello there"
    assert lm.history[-1]["usage"]["prompt_tokens"] == 7
    assert lm.history[-1]["usage"]["prompt_tokens_details"]["cached_tokens"] == 5
    (prompt,) = server.prompts
    assert prompt["messages"] == [{"role": "system", "content": "S"}, {"role": "user", "content": "U"}]
    assert (prompt["temperature"], prompt["max_tokens"], prompt["cache_prompt"]) == (0.0, 9, True)


def test_the_model_is_loaded_at_the_first_call_and_once() -> None:
    loaded: list[ModelSettings] = []
    lm = lm_of(Server(), loaded)
    assert loaded == []
    lm("one")
    lm("two")
    assert loaded == [ModelSettings(Path("m.gguf").resolve(), 4096, 2)]


def test_awaiting_callers_are_answered_too() -> None:
    async def both() -> list[Any]:
        return await asyncio.gather(lm.acall("one"), lm.acall("two"))

    lm = lm_of(Server())
    assert asyncio.run(both()) == [["Hello there"], ["Hello there"]]


def test_a_prompt_that_exceeds_the_context_is_dspys_error_for_it() -> None:
    error = {"type": "exceed_context_size_error", "n_prompt_tokens": 9000, "n_ctx": 4096, "message": "too long"}
    with pytest.raises(dspy.ContextWindowExceededError, match="9000 tokens, the local model's context 4096"):
        lm_of(Server({"error": error}))("long")


def test_a_refusal_of_llama_cpp_is_told() -> None:
    with pytest.raises(dspy.LMInvalidRequestError, match="refused the request: bad grammar"):
        lm_of(Server({"error": {"message": "bad grammar"}}))("x")


def test_a_request_that_llama_cpp_cannot_read_is_told() -> None:
    class Raising(Server):
        def handle_chat_completions(self, prompt: dict[str, Any], callback: Callable[[Chunk], bool]) -> None:
            raise ValueError("no such role")

    with pytest.raises(dspy.LMInvalidRequestError, match="no such role"):
        lm_of(Raising())("x")


def test_copies_share_the_model() -> None:
    loaded: list[ModelSettings] = []
    program = dspy.Predict("question -> answer")
    program.lm = lm_of(Server(), loaded)
    program.lm("one")
    copy.deepcopy(program).lm("two")
    assert len(loaded) == 1


def test_an_engine_is_pickled_and_saved_by_its_arguments() -> None:
    local = LocalEngine("m.gguf", context_length=4096, threads=3)
    for again in (pickle.loads(pickle.dumps(local)), LocalEngine.load_state(local.dump_state())):
        assert again.dump_state() == local.dump_state()
    assert AsyncLocalEngine.load_state(local.asynchronous.dump_state()).engine.dump_state() == local.dump_state()


def test_a_saved_program_gets_its_local_lm_back_when_it_is_trusted(installed: None, tmp_path: Path) -> None:
    program = dspy.Predict("question -> answer")
    program.lm = local_lm(context_length=4096)
    program.save(tmp_path / "program.json")
    again = dspy.Predict("question -> answer")
    again.load(tmp_path / "program.json", allow_unsafe_lm_state=True)
    assert again.lm.model == engine.DEFAULT_MODEL
    assert again.lm.dump_state() == program.lm.dump_state()


def test_a_closed_engine_loads_again() -> None:
    loaded: list[ModelSettings] = []
    lm = lm_of(Server(), loaded)
    lm("one")
    lm.engine.close()
    lm("two")
    assert len(loaded) == 2


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name == "xllamacpp" or find(name))
    monkeypatch.setattr(weights, "is_installed", lambda: True)


def test_another_file_has_another_name_in_dspys_cache(installed: None, tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(b"GGUF")
    assert local_lm().model == "local/qwen2.5-coder-1.5b"
    assert local_lm(path).model == f"local{path}"


def test_a_reply_ends_with_the_marker_of_the_chat_format_unless_told_otherwise(installed: None) -> None:
    assert local_lm().kwargs["stop"] == ["[[ ## completed ## ]]"]
    assert local_lm(stop=["END"]).kwargs["stop"] == ["END"]


def test_a_missing_file_is_told_at_once(installed: None) -> None:
    with pytest.raises(LocalModelError, match=r"the model file .*nowhere\.gguf cannot be read: No such file"):
        local_lm("nowhere.gguf")


def test_a_missing_llama_cpp_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert not engine.is_installed()
    with pytest.raises(LocalModelError, match=r'pip install "dspy-rlm\[local\]"'):
        local_lm()


@pytest.mark.parametrize("name", ["context_length", "threads"])
def test_settings_that_cannot_work_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match=f"{name} must be at least 1, got 0"):
        LocalEngine("m.gguf", **{name: 0})


def test_litellm_is_never_imported() -> None:
    code = (
        "import sys; from tests_engine import Server, lm_of; lm_of(Server())('x'); assert 'litellm' not in sys.modules"
    )
    source = Path(__file__)
    program = f"import importlib.util as u, sys; s = u.spec_from_file_location('tests_engine', {str(source)!r}); "
    program += f"m = u.module_from_spec(s); sys.modules['tests_engine'] = m; s.loader.exec_module(m); {code}"
    subprocess.run([sys.executable, "-c", program], check=True)
