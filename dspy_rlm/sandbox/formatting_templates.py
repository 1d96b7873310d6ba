"""Format templates: `str.format` reads attributes that its template names, so templates are checked first."""

from __future__ import annotations

from _string import (  # type: ignore[import-not-found]  # what string.Formatter itself is made of
    formatter_field_name_split,
    formatter_parser,
)
from collections.abc import Callable, Iterator
from typing import Any

from .policy_names import is_plain

_MAX_NESTING = 2  # str.format itself goes no deeper


def _attributes(template: str, depth: int = 0) -> Iterator[str]:
    for _, field, spec, _ in formatter_parser(template):
        if field:
            _, steps = formatter_field_name_split(field)
            yield from (name for is_attribute, name in steps if is_attribute)
        if spec and depth < _MAX_NESTING:
            yield from _attributes(spec, depth + 1)


def template_refusal(template: str) -> str | None:
    """Say which attribute a format template may not read.

    Args:
        template: Text for `str.format` or `format_map`.

    Returns:
        The reason, or None when the template is harmless (also when it is malformed: formatting will say so).
    """
    closed = None
    try:
        for name in _attributes(template):
            if not is_plain(name):
                closed = name
                break
    except ValueError:
        return None  # fields after a malformed one are never reached by str.format either
    return closed and f"a format template cannot read the attribute {closed!r}: pass the value itself"


class Formatter:
    """Stand-in for `string.Formatter`, with the same hooks and checked templates.

    It does not derive from the original, whose `get_field` reads any attribute.
    """

    def format(self, format_string: str, /, *args: Any, **kwargs: Any) -> str:
        """Format a template with positional and keyword values."""
        return self.vformat(format_string, args, kwargs)

    def vformat(self, format_string: str, args: Any, kwargs: Any) -> str:
        """Format a template with values given as a sequence and a mapping."""
        return self._expand(str.__str__(format_string), args, kwargs, 0, 0)[0]

    def _expand(self, template: str, args: Any, kwargs: Any, counter: int, depth: int) -> tuple[str, int]:
        if depth > _MAX_NESTING:
            raise ValueError("Max string recursion exceeded")
        parts: list[str] = []
        for literal, field, spec, conversion in self.parse(template):
            parts.append(literal)
            if field is None:
                continue
            if field == "" or field[0] in ".[":
                field, counter = f"{counter}{field}", counter + 1
            value, _ = self.get_field(field, args, kwargs)
            expanded, counter = self._expand(spec or "", args, kwargs, counter, depth + 1)
            parts.append(self.format_field(self.convert_field(value, conversion), expanded))
        return "".join(parts), counter

    def get_field(self, field_name: str, args: Any, kwargs: Any) -> tuple[Any, int | str]:
        """Find the value a field names, and the key of its first step."""
        first, steps = formatter_field_name_split(str.__str__(field_name))
        value = self.get_value(first, args, kwargs)
        for is_attribute, step in steps:
            if is_attribute and not is_plain(step):
                raise AttributeError(f"a format template cannot read the attribute {step!r}: pass the value itself")
            value = getattr(value, step) if is_attribute else value[step]
        return value, first

    def get_value(self, key: int | str, args: Any, kwargs: Any) -> Any:
        """Find the value of a position or a keyword."""
        return args[key] if isinstance(key, int) else kwargs[key]

    def convert_field(self, value: Any, conversion: str | None) -> Any:
        """Apply `!s`, `!r` or `!a`."""
        if conversion is None:
            return value
        converters: dict[str, Callable[[Any], str]] = {"s": str, "r": repr, "a": ascii}
        if conversion not in converters:
            raise ValueError(f"Unknown conversion specifier {conversion}")
        return converters[conversion](value)

    def format_field(self, value: Any, format_spec: str) -> str:
        """Format one value."""
        return format(value, format_spec)

    def parse(self, format_string: str) -> Iterator[tuple[str, str | None, str | None, str | None]]:
        """Split a template into (literal, field, spec, conversion) tuples."""
        parsed: Iterator[tuple[str, str | None, str | None, str | None]] = formatter_parser(str.__str__(format_string))
        return parsed
