"""What `SUBMIT` is given, checked against the signature's outputs while the cell runs."""

from __future__ import annotations

import contextlib
import enum
import functools
import inspect
import types
import typing
from collections.abc import Mapping
from typing import Annotated, Any, get_args, get_origin

import dspy
from pydantic import ConfigDict, PydanticUserError, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from typing_extensions import is_typeddict

from dspy_rlm.errors import SubmissionRefusedError, UsageError
from dspy_rlm.previews import bounded_repr
from dspy_rlm.shapes import Shapes

_LAX = ConfigDict(coerce_numbers_to_str=True, arbitrary_types_allowed=True)
_SHOWN_VALUE = 80  # characters of a refused value that the root LM sees again
_SHOWN_ERRORS = 5  # of one field: enough to see the kind of mistake


class Outputs:
    """The output fields of a signature, as what may be submitted.

    Args:
        signature: The task's signature.

    Raises:
        UsageError: an output's annotation cannot be validated.

    Example:
        >>> outputs = Outputs(dspy.Signature("log -> ip: str, requests: int"))
        >>> outputs.accept(("10.0.0.1", "12"), {})
        {'ip': '10.0.0.1', 'requests': 12}
    """

    def __init__(self, signature: type[dspy.Signature]) -> None:
        self.fields: dict[str, FieldInfo] = dict(signature.output_fields)
        self._adapters = {name: _adapter(name, field) for name, field in self.fields.items()}

    def accept(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The typed outputs, by field name.

        Args:
            args: Positional arguments of `SUBMIT`: the outputs in order, or one dict of all of them.
            kwargs: Keyword arguments of `SUBMIT`: the outputs by name.

        Raises:
            SubmissionRefusedError: fields are missing or unknown, or a value does not fit; it tells each field, what
                was expected and what came.
        """
        try:
            return self._accepted(self._by_name(args, kwargs))
        except SubmissionRefusedError:
            if len(self.fields) == 1 and self._is_dict_of_all(args, kwargs):
                # A dict that is itself the one output may have a key of the output's name.
                with contextlib.suppress(SubmissionRefusedError):
                    return self._accepted(dict.fromkeys(self.fields, args[0]))
            raise

    def _accepted(self, values: Mapping[str, Any]) -> dict[str, Any]:
        accepted: dict[str, Any] = {}
        complaints: list[str] = []
        for name, adapter in self._adapters.items():
            try:
                accepted[name] = _validate(adapter, self.fields[name].annotation, values[name])
            except ValidationError as error:
                complaints.append(self._complaint(name, values[name], error))
        if complaints:
            raise _refused(complaints)
        return accepted

    def call_text(self) -> str:
        """How to submit, as the root LM is told: `SUBMIT(ip=..., requests=...)`."""
        return f"SUBMIT({', '.join(f'{name}=...' for name in self.fields)})"

    def _is_dict_of_all(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
        return len(args) == 1 and not kwargs and isinstance(args[0], Mapping) and set(args[0]) == set(self.fields)

    def _by_name(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        if self._is_dict_of_all(args, kwargs):
            return dict(args[0])
        names = list(self.fields)
        if len(args) > len(names):
            raise _refused([f"{len(args)} values were given for {len(names)} outputs: {', '.join(names)}"])
        values = dict(zip(names, args, strict=False))
        complaints = [f"{name}: given twice, by position and by name" for name in kwargs if name in values]
        values.update(kwargs)
        complaints += [f"{name}: there is no such output" for name in values if name not in self.fields]
        complaints += [f"{name}: missing, expected {self._expected(name)}" for name in names if name not in values]
        if complaints:
            raise _refused([*complaints, f"The call is {self.call_text()}"])
        return values

    def _complaint(self, name: str, value: Any, error: ValidationError) -> str:
        details = [_detail(item) for item in error.errors(include_url=False)[:_SHOWN_ERRORS]]
        return f"{name}: expected {self._expected(name)}, got {_shown(value)}: {'; '.join(dict.fromkeys(details))}"

    def _expected(self, name: str) -> str:
        field = self.fields[name]
        return Shapes().text(field.annotation, field.metadata)


def _adapter(name: str, field: FieldInfo) -> TypeAdapter[Any]:
    annotation: Any = field.annotation
    if field.metadata:
        annotation = Annotated[(annotation, *field.metadata)]
    try:
        # A model or dataclass has its own configuration, which pydantic does not let a caller override.
        return TypeAdapter(annotation, config=None if _has_own_config(field.annotation) else _LAX)
    except (PydanticUserError, TypeError) as error:
        raise UsageError(
            f"the output {name!r} has the type {annotation!r}, which cannot be validated: {error}"
        ) from error


def _has_own_config(annotation: Any) -> bool:
    return inspect.isclass(annotation) and (
        hasattr(annotation, "__pydantic_config__")
        or hasattr(annotation, "model_config")
        or hasattr(annotation, "__dataclass_fields__")
        or is_typeddict(annotation)
    )


def _validate(adapter: TypeAdapter[Any], annotation: Any, value: Any) -> Any:
    try:
        return adapter.validate_python(value)
    except ValidationError:
        if not isinstance(value, str):
            raise
        named = _enum_member(annotation, value)
        if named is not None:
            return named
        # A sub-LM's label comes with a line break or quotes now and then.
        if (bare := value.strip().strip("'\"`")) != value:
            with contextlib.suppress(ValidationError):
                return adapter.validate_python(bare)
        # Models often hand in a list or a record as the JSON text of it. Where that is no JSON either, the complaint
        # about the value as it came says more than one about broken JSON.
        with contextlib.suppress(ValidationError):
            return adapter.validate_json(value)
        raise


def _enum_member(annotation: Any, name: str) -> enum.Enum | None:
    """The member that `name` names, of an enum or of an optional one; DSPy's own parsing accepts names too."""
    is_union = get_origin(annotation) in (typing.Union, types.UnionType)
    for candidate in get_args(annotation) if is_union else (annotation,):
        if inspect.isclass(candidate) and issubclass(candidate, enum.Enum) and name in candidate.__members__:
            return candidate[name]
    return None


def _detail(item: Any) -> str:
    place = functools.reduce(
        lambda path, key: f"{path}[{key}]" if isinstance(key, int) else f"{path}.{key}" if path else str(key),
        item["loc"],
        "",
    )
    if not place:
        return str(item["msg"])
    return (
        f"at {place}: {item['msg']}, got {_shown(item['input'])}"
        if item["type"] != "missing"
        else f"at {place}: missing"
    )


def _shown(value: Any) -> str:
    return f"{type(value).__name__} {bounded_repr(value, _SHOWN_VALUE)}"


def _refused(complaints: list[str]) -> SubmissionRefusedError:
    return SubmissionRefusedError(
        "\n".join(["SUBMIT was refused, nothing is submitted yet:", *(f"- {c}" for c in complaints)])
    )
