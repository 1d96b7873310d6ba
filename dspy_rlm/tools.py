"""Tools: plain host functions that cells may call, sync or async, by position or by name."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import dspy

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


def tool_function(tool: dspy.Tool, loop: asyncio.AbstractEventLoop | None) -> Callable[..., Any]:
    """The function that a cell calls.

    Args:
        tool: The tool.
        loop: The event loop of an async run, on which an async tool then runs, beside the resources that its author
            made there. None: async tools get a loop of their own.
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        signature = inspect.signature(tool.func)
        bound = signature.bind(*args, **kwargs)
        if any(signature.parameters[name].kind in _DIRECT for name in bound.arguments):
            # dspy.Tool calls by name only, which these parameters cannot be.
            result = tool.func(*bound.args, **bound.kwargs)
            return _wait(result, loop) if inspect.iscoroutine(result) else result
        arguments = _by_name(signature, bound)
        if _is_async(tool.func):
            return _wait(tool.acall(**arguments), loop)
        result = tool(**arguments)
        return _wait(result, loop) if inspect.iscoroutine(result) else result

    return call


def _by_name(signature: inspect.Signature, bound: inspect.BoundArguments) -> dict[str, Any]:
    arguments = dict(bound.arguments)
    for name, parameter in signature.parameters.items():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            arguments.update(arguments.pop(name, {}))
    return arguments


def _is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))


def _wait(coroutine: Coroutine[Any, Any, Any], loop: asyncio.AbstractEventLoop | None) -> Any:
    if loop is not None:
        return asyncio.run_coroutine_threadsafe(coroutine, loop).result()
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    # Called synchronously inside someone's event loop (a notebook): a loop of its own needs a thread of its own.
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(contextvars.copy_context().run, asyncio.run, coroutine).result()
