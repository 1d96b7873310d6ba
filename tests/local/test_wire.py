from typing import Any

import pytest
from dspy.lm15 import Config, ContextLengthError, InvalidRequestError, Message, Request, UnsupportedFeatureError

from dspy_rlm.local import wire


def request(*messages: Message, **config: Any) -> Request:
    return Request(model="local/m", messages=messages or (Message.user("hi"),), config=Config(**config))


def test_settings_pass_by_name() -> None:
    config = {"max_tokens": 5, "temperature": 0.5, "top_p": 0.9, "top_k": 3, "seed": 1, "stop": ("END",)}
    payload = wire.payload(request(**config))
    assert {name: payload[name] for name in config} == {**config, "stop": ["END"]}
    assert payload["stream"] and payload["cache_prompt"] and payload["stream_options"] == {"include_usage": True}


def test_settings_that_are_not_given_are_not_sent() -> None:
    assert not {*wire.SAMPLING, "stop", "response_format"} & wire.payload(request()).keys()


def test_llama_cpps_own_settings_pass_as_extensions() -> None:
    assert wire.payload(request(extensions={"min_p": 0.1}))["min_p"] == 0.1


def test_a_json_schema_is_sent_as_llama_cpp_wants_it() -> None:
    schema = {"type": "object"}
    payload = wire.payload(request(response_format={"type": "json_schema", "schema": schema}))
    assert payload["response_format"] == {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}


@pytest.mark.parametrize("config", [{"extensions": {"nonsense": 1}}, {"logprobs": 3}])
def test_settings_it_does_not_have_are_refused(config: dict[str, Any]) -> None:
    with pytest.raises(UnsupportedFeatureError, match="does not support"):
        wire.payload(request(**config))


def test_an_answer_cut_by_max_tokens_says_so() -> None:
    chunks = [{"choices": [{"delta": {"content": "Hel"}, "finish_reason": "length"}]}]
    answer = wire.response(request(), chunks)
    assert (answer.message.text, answer.finish_reason) == ("Hel", "length")


def test_progress_chunks_are_no_part_of_the_answer() -> None:
    chunks = [
        {"choices": [{"delta": {"role": "assistant", "content": None}}], "prompt_progress": {"processed": 256}},
        {"choices": [{"delta": {"content": "Hi"}}]},
    ]
    assert wire.response(request(), chunks).message.text == "Hi"


def test_reasoning_is_kept_apart() -> None:
    chunks = [{"choices": [{"delta": {"reasoning_content": "Hm."}}]}, {"choices": [{"delta": {"content": "Hi"}}]}]
    message = wire.response(request(), chunks).message
    assert (message.parts[0].text, message.parts[1].text) == ("Hm.", "Hi")


def test_a_prompt_beyond_the_context_is_told_with_both_numbers() -> None:
    error = {"type": "exceed_context_size_error", "n_prompt_tokens": 20, "n_ctx": 10}
    with pytest.raises(ContextLengthError, match="20 tokens, the local model's context 10"):
        wire.response(request(), [{"error": error}])


def test_any_other_refusal_is_told() -> None:
    with pytest.raises(InvalidRequestError, match="why"):
        wire.response(request(), [{"error": {"message": "why"}}])
