"""DSPy's requests and responses in the shape llama.cpp speaks; what llama.cpp cannot do is refused, never dropped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from dspy.lm15 import (
    Config,
    ContextLengthError,
    InvalidRequestError,
    Message,
    Request,
    Response,
    TextPart,
    ThinkingPart,
    UnsupportedFeatureError,
    Usage,
)

from dspy_rlm.local.llama import Chunk

PROVIDER = "local"
SAMPLING = ("max_tokens", "temperature", "top_p", "top_k", "seed", "frequency_penalty", "presence_penalty")
_UNSUPPORTED = ("tool_choice", "reasoning", "service_tier", "store", "logprobs", "probabilities")
_EXTENSIONS = frozenset({"min_p", "typical_p", "repeat_penalty", "repeat_last_n", "logit_bias", "grammar"})


def payload(request: Request) -> dict[str, Any]:
    """The streamed chat completion that llama.cpp is asked for.

    Raises:
        UnsupportedFeatureError: the request has tools, media, or a setting that llama.cpp does not have.
    """
    if request.tools:
        raise _unsupported("tools", "tools; use an adapter that describes them in the prompt")
    return {
        "messages": _messages(request),
        **_settings(request.config),
        "cache_prompt": True,
        "stream": True,
        "return_progress": True,  # a chunk a batch while the prompt is read, so that it can be stopped meanwhile
        "stream_options": {"include_usage": True},
    }


def response(request: Request, chunks: list[Chunk]) -> Response:
    """The response that a finished stream adds up to.

    Raises:
        ContextLengthError: the prompt does not fit the context.
        InvalidRequestError: llama.cpp refused the request.
    """
    for chunk in chunks:
        if error := chunk.get("error"):
            raise _failure(error)
    choices = [choice for chunk in chunks for choice in chunk.get("choices", ())]
    usage: dict[str, Any] = next((chunk["usage"] for chunk in reversed(chunks) if chunk.get("usage")), {})
    return Response(
        id=next((chunk["id"] for chunk in chunks if "id" in chunk), None),
        model=request.model,
        message=Message.assistant(_answer(choices)),
        finish_reason=_finish_reason(choices),
        usage=Usage(
            input_tokens=usage.get("prompt_tokens"),
            output_tokens=usage.get("completion_tokens"),
            cache_read_tokens=usage.get("prompt_tokens_details", {}).get("cached_tokens"),
        ),
    )


def _messages(request: Request) -> list[dict[str, str]]:
    messages = [{"role": "system", "content": _system(request)}] if request.system is not None else []
    for position, message in enumerate(request.messages):
        role = "system" if message.role == "developer" else message.role
        messages.append({"role": role, "content": _text(message.parts, f"messages[{position}]")})
    return messages


def _system(request: Request) -> str:
    system = request.system or ""
    return system if isinstance(system, str) else _text(system, "system")


def _text(parts: Sequence[Any], where: str) -> str:
    texts: list[str] = []
    for part in parts:
        if isinstance(part, TextPart):
            texts.append(part.text)
        elif not isinstance(part, ThinkingPart):  # chat templates leave earlier thinking out as well
            raise _unsupported(where, f"{part.type} content; it reads text only")
    return "".join(texts)


def _settings(config: Config) -> dict[str, Any]:
    for name in _UNSUPPORTED:
        if getattr(config, name) not in (None, "off", "if_available"):
            raise _unsupported(f"config.{name}", f"the setting {name}")
    extensions = dict(config.extensions or {})
    if unknown := sorted(extensions.keys() - _EXTENSIONS):
        raise _unsupported(
            f"config.extensions.{unknown[0]}", f"{unknown}; beyond DSPy's own it has {sorted(_EXTENSIONS)}"
        )
    settings = {name: value for name in SAMPLING if (value := getattr(config, name)) is not None}
    if config.stop:
        settings["stop"] = list(config.stop)
    if config.response_format is not None:
        settings["response_format"] = _response_format(dict(config.response_format))
    return {**settings, **extensions}


def _response_format(wanted: dict[str, Any]) -> dict[str, Any]:
    if wanted["type"] != "json_schema":
        return wanted
    return {"type": "json_schema", "json_schema": {"name": wanted.get("name", "answer"), "schema": wanted["schema"]}}


def _answer(choices: list[dict[str, Any]]) -> list[TextPart | ThinkingPart]:
    deltas = [choice.get("delta", {}) for choice in choices]
    thinking = "".join(delta.get("reasoning_content") or "" for delta in deltas)
    text = TextPart("".join(delta.get("content") or "" for delta in deltas))
    return [ThinkingPart(thinking), text] if thinking else [text]


def _finish_reason(choices: list[dict[str, Any]]) -> Literal["length", "stop"]:
    return "length" if any(choice.get("finish_reason") == "length" for choice in choices) else "stop"


def _failure(error: dict[str, Any]) -> InvalidRequestError:
    if error.get("type") == "exceed_context_size_error":
        return ContextLengthError(
            f"the prompt has {error['n_prompt_tokens']} tokens, the local model's context {error['n_ctx']}: shorten it, "
            "or make the engine with a larger context_length",
            provider=PROVIDER,
        )
    return InvalidRequestError(f"llama.cpp refused the request: {error.get('message', error)}", provider=PROVIDER)


def _unsupported(feature: str, what: str) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(f"the local model does not support {what}", feature=feature, provider=PROVIDER)
