"""Tools: plain host functions that cells may call, sync or async, by position or by name."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import dspy

from dspy_rlm.awaiting import result_of
from dspy_rlm.errors import UsageError

_DIRECT = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.POSITIONAL_ONLY)


def normalize_tools(tools: Iterable[Callable[..., Any] | dspy.Tool] | None) -> dict[str, dspy.Tool]:
    """The tools by name.

    Args:
        tools: Functions, callable objects, or `dspy.Tool`s.

    Raises:
        UsageError: one of them is not callable, or two have the same name.
    """
    if isinstance(tools, dict | str) or callable(tools):
        raise UsageError(f"tools must be a list of functions, got {type(tools).__name__}: write tools=[function]")
    by_name: dict[str, dspy.Tool] = {}
    for tool in tools or ():
        if not isinstance(tool, dspy.Tool):
            if not callable(tool):
                raise UsageError(f"the tool {tool!r} is not callable: pass a function or a dspy.Tool")
            tool = dspy.Tool(tool)
        if tool.name in by_name:
            raise UsageError(f"two tools are named {tool.name!r}: rename one with dspy.Tool(function, name=...)")
        by_name[str(tool.name)] = tool
    return by_name


def describe_tool(tool: dspy.Tool) -> str:
    """The tool's signature and docstring, as the root LM is told."""
    signature = _written_signature(tool.func)
    description = inspect.cleandoc(tool.desc or "")
    return f"{tool.name}{signature}" + (f": {description}" if description else "")


def _written_signature(function: Callable[..., Any]) -> inspect.Signature:
    try:
        return inspect.signature(function, eval_str=True)
    except (NameError, TypeError, AttributeError, SyntaxError):  # annotations that mean nothing at run time
        return inspect.signature(function)


def tool_function(
    tool: dspy.Tool, loop: asyncio.AbstractEventLoop | None, ended: Callable[[], bool] | None = None
) -> Callable[..., Any]:
    """The function that a cell calls.

    Args:
        tool: The tool.
        loop: The event loop of an async run, on which an async tool then runs, beside the resources that its author
            made there. None: async tools get a loop of their own.
        ended: Says that the run is over; an async tool that still runs is then cancelled. Default: never.
    """

    def resolved(result: Any) -> Any:
        return result_of(result, loop, ended) if inspect.iscoroutine(result) else result

    def call(*args: Any, **kwargs: Any) -> Any:
        signature = inspect.signature(tool.func)
        bound = signature.bind(*args, **kwargs)
        if any(signature.parameters[name].kind in _DIRECT for name in bound.arguments):
            # dspy.Tool calls by name only, which these parameters cannot be.
            return resolved(tool.func(*bound.args, **bound.kwargs))
        arguments = _by_name(signature, bound)
        return resolved(tool.acall(**arguments) if _is_async(tool.func) else tool(**arguments))

    return call


def _by_name(signature: inspect.Signature, bound: inspect.BoundArguments) -> dict[str, Any]:
    arguments = dict(bound.arguments)
    for name, parameter in signature.parameters.items():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            arguments.update(arguments.pop(name, {}))
    return arguments


def _is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))
