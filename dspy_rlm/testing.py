"""Doubles for tests of programs that use an RLM: an LM and a sandbox that follow a script and fail when it runs out."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import dspy
from dspy.lm15 import Message, Request, Response, TextPart, Usage, response_to_events

from dspy_rlm.sandbox.outcomes import Outcome, Output, Ran

Messages = list[dict[str, str]]
Reply = str | BaseException | Callable[[Messages], str]


class ScriptExhaustedError(BaseException):
    """A scripted double was asked once more than its script has entries.

    Not an `Exception`, so that nothing which forgives failing LM calls can hide a wrong script.
    """


class ScriptedLM(dspy.LM):
    """An LM that answers with a script, one reply a call, in order.

    Args:
        replies: Raw reply texts, exceptions to raise, or functions of the messages that make a reply.
        model: The name it goes by.
        **kwargs: Further arguments of `dspy.LM`.

    Attributes:
        calls: The messages of every call so far.

    Example:
        >>> from dspy_rlm import RLM
        >>> lm = ScriptedLM(["```python\\nSUBMIT(words=len(text.split()))\\n```"])
        >>> with dspy.context(lm=lm):
        ...     RLM("text -> words: int")(text="to be or not to be").words
        6
    """

    def __init__(self, replies: Sequence[Reply], *, model: str = "scripted/lm", **kwargs: Any) -> None:
        script = _Script(replies)
        super().__init__(model, engine=_Engine(script), async_engine=_AsyncEngine(script), cache=False, **kwargs)
        self.script = script

    @property
    def calls(self) -> list[Messages]:
        """The messages of every call so far."""
        return self.script.calls

    @property
    def left(self) -> int:
        """How many replies have not been used."""
        return self.script.left


class _Script:
    def __init__(self, replies: Sequence[Reply]) -> None:
        self._replies = list(replies)
        self._lock = threading.Lock()
        self.calls: list[Messages] = []

    @property
    def left(self) -> int:
        return len(self._replies) - len(self.calls)

    def next(self, messages: Messages) -> str:
        with self._lock:
            number = len(self.calls)
            if number >= len(self._replies):
                raise ScriptExhaustedError(
                    f"the scripted LM has {len(self._replies)} replies and was called once more, with: "
                    f"{messages[-1]['content'][-2000:]}"
                )
            self.calls.append(messages)
        reply = self._replies[number]
        if isinstance(reply, BaseException):
            raise reply
        return reply if isinstance(reply, str) else reply(messages)

    def __deepcopy__(self, memo: dict[int, Any]) -> _Script:
        return self  # a copied program goes on with the same script


class _Engine:
    def __init__(self, script: _Script) -> None:
        self._script = script

    def complete(self, request: Request) -> Response:
        """Answer with the next reply."""
        messages = _messages(request)
        text = self._script.next(messages)
        # A token a word is exact enough for what counts tokens in tests.
        usage = Usage(input_tokens=sum(len(m["content"].split()) for m in messages), output_tokens=len(text.split()))
        return Response(
            id=None, model=request.model, message=Message.assistant([TextPart(text)]), finish_reason="stop", usage=usage
        )

    def stream(self, request: Request) -> Any:
        """The events of the next reply."""
        return response_to_events(self.complete(request))

    def close(self) -> None:
        """Nothing to let go of."""


class _AsyncEngine:
    def __init__(self, script: _Script) -> None:
        self._engine = _Engine(script)

    async def complete(self, request: Request) -> Response:
        """Answer with the next reply."""
        return self._engine.complete(request)

    async def aclose(self) -> None:
        """Nothing to let go of."""


def _messages(request: Request) -> Messages:
    system = request.system if isinstance(request.system, str) else "".join(p.text for p in request.system or ())
    opening = [{"role": "system", "content": system}] if system else []
    return opening + [{"role": message.role, "content": message.text or ""} for message in request.messages]


class ScriptedInterpreter:
    """A sandbox that runs nothing and answers each cell with the next outcome of a script.

    Args:
        outcomes: Typed outcomes, or functions that get the interpreter and the cell and make one.

    Attributes:
        cells: Every cell it was given.
        bound: Every variable and function it was given, by name.
        on_submit: Set by the RLM: what a scripted outcome calls in order to submit.

    Example:
        >>> interpreter = ScriptedInterpreter([Ran(Output("hello", length=5))])
        >>> interpreter.run_cell("print('hello')").output.head
        'hello'
    """

    execution_instructions = ""

    def __init__(self, outcomes: Sequence[Outcome | Callable[[ScriptedInterpreter, str], Outcome]]) -> None:
        self._outcomes = list(outcomes)
        self.tools: dict[str, Callable[..., Any]] = {}
        self.cells: list[str] = []
        self.bound: dict[str, Any] = {}
        self.on_submit: Callable[[tuple[Any, ...], Mapping[str, Any]], Any] | None = None
        self.is_open = False

    def start(self) -> None:
        """Open the session."""
        self.is_open = True

    def bind(self, values: Mapping[str, Any]) -> None:
        """Remember variables and functions."""
        self.bound.update(values)

    def run_cell(self, code: str) -> Outcome:
        """Answer with the next outcome.

        Raises:
            ScriptExhaustedError: the script has no more.
        """
        if len(self.cells) >= len(self._outcomes):
            raise ScriptExhaustedError(f"the scripted interpreter has {len(self._outcomes)} outcomes, and got: {code}")
        outcome = self._outcomes[len(self.cells)]
        self.cells.append(code)
        return outcome(self, code) if callable(outcome) else outcome

    def execute(self, code: str, variables: dict[str, Any] | None = None) -> Any:
        """The next outcome's printed text, as DSPy's protocol has it."""
        self.bind(variables or {})
        outcome = self.run_cell(code)
        return outcome.output.head if isinstance(outcome, Ran) else outcome

    def shutdown(self) -> None:
        """Close the session."""
        self.is_open = False


__all__ = ["Output", "Ran", "ScriptExhaustedError", "ScriptedInterpreter", "ScriptedLM"]
