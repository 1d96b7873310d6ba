"""The files named on the command line as values for a signature's inputs."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import typer

from dspy_rlm.reading import NotTextError, decoded, is_plain_utf8

# Plain text from this size on is handed to the sandbox as a file, so that it never passes through this process.
LARGE_FILE = 8 * 2**20  # bytes

Notice = Callable[[str], None]
Format = Literal["text", "json", "jsonl"]


@dataclass(frozen=True)
class Document:
    """One file.

    Args:
        name: The path as it was given, or within the folder that was given.
        text: Its text, or its path where it is large and plain UTF-8.
        format: How its text is to be read as data.
    """

    name: str
    text: str | Path
    format: Format = "text"

    def whole_text(self) -> str:
        """The text, read now where it was not before."""
        return self.text if isinstance(self.text, str) else self.text.read_bytes().decode("utf-8")

    def value(self, notice: Notice) -> Any:
        """The data of JSON and JSONL; the text, or the path of a large one, of everything else."""
        if self.format == "text":
            return self.text
        text = self.whole_text()
        try:
            return json.loads(text) if self.format == "json" else _json_lines(text)
        except ValueError as error:
            notice(f"{self.name} is not valid {self.format.upper()} ({error}): it is passed on as text")
            return self.text


@dataclass(frozen=True)
class Documents:
    """Everything that was named on the command line.

    Args:
        items: The files in order.
        from_folder: Whether a folder was named, whose files are text by path even where there is only one.
    """

    items: tuple[Document, ...]
    from_folder: bool = False

    def value(self, notice: Notice) -> Any:
        """A single file's value, or a dict of path to value; files of a folder are text."""
        if len(self.items) == 1 and not self.from_folder:
            return self.items[0].value(notice)
        return {item.name: item.whole_text() if self.from_folder else _held(item.value(notice)) for item in self.items}

    def joined_text(self) -> str | Path:
        """All files as one text, each under its name where there are several."""
        if len(self.items) == 1:
            return self.items[0].text
        return "\n\n".join(f"=== {item.name} ===\n{item.whole_text()}" for item in self.items)

    def note(self) -> str:
        """In a few words, what the value is, for the model."""
        if len(self.items) > 1 or self.from_folder:
            return "file contents by path"
        return f"the {'text' if self.items[0].format == 'text' else 'data'} of {self.items[0].name}"


def read_documents(arguments: Sequence[str], notice: Notice) -> Documents:
    """Read what was named on the command line.

    Args:
        arguments: Paths of files and folders; `-` is standard input.
        notice: Told of what is skipped.

    Raises:
        typer.BadParameter: a path does not exist, cannot be read or is not text, a folder has no text in it, or all of
            it is empty.
    """
    check_named(arguments)
    items: list[Document] = []
    for argument in arguments:
        if argument == "-":
            items.append(Document("-", _text(sys.stdin.buffer.read(), "standard input")))
        elif Path(argument).is_dir():
            prefix = "" if len(arguments) == 1 else f"{argument.rstrip(os.sep)}/"
            items.extend(_folder(Path(argument), prefix, notice))
        else:
            items.append(_file(argument))
    if all(isinstance(item.text, str) and not item.text.strip() for item in items):
        raise _bad(f"there is nothing to answer from: {', '.join(map(repr, arguments))} is empty")
    return Documents(tuple(items), any(argument != "-" and Path(argument).is_dir() for argument in arguments))


def check_named(arguments: Sequence[str]) -> None:
    """Refuse what is not there, before anything is read.

    Args:
        arguments: As for `read_documents`.

    Raises:
        typer.BadParameter: a path does not exist.
    """
    for argument in arguments:
        if argument != "-" and not Path(argument).exists():
            raise _bad(f"{argument!r} does not exist")


def _file(argument: str) -> Document:
    path = Path(argument)
    try:
        if path.is_file() and path.stat().st_size >= LARGE_FILE and is_plain_utf8(path):
            return Document(argument, path.resolve(), _format(path))
        return Document(argument, _text(path.read_bytes(), repr(argument)), _format(path))
    except OSError as error:
        raise _bad(f"{argument!r} cannot be read: {error.strerror}") from error


def _folder(folder: Path, prefix: str, notice: Notice) -> list[Document]:
    documents = []
    for path in _visible_files(folder):
        name = path.relative_to(folder).as_posix()
        try:
            documents.append(Document(prefix + name, decoded(path.read_bytes())))
        except NotTextError:
            continue  # images, archives and compiled files live in every folder
        except OSError as error:
            notice(f"{path} is left out: {error.strerror}")
    if not documents:
        raise _bad(f"the folder {str(folder)!r} has no text files (hidden and binary ones do not count)")
    return documents


def _visible_files(folder: Path) -> Iterator[Path]:
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        paths = (Path(parent, name) for name in sorted(files) if not name.startswith("."))
        yield from (path for path in paths if path.is_file())


def _text(raw: bytes, what: str) -> str:
    try:
        return decoded(raw)
    except NotTextError as error:
        raise _bad(f"{what} is {error}: convert it to text first") from error


def _format(path: Path) -> Format:
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    last = suffixes[-1] if suffixes else ""
    return "json" if last == ".json" else "jsonl" if last in (".jsonl", ".ndjson") else "text"


def _json_lines(text: str) -> list[Any]:
    # Not splitlines(): JSON strings may hold the other line separators of Unicode as they are.
    return [json.loads(line) for line in text.split("\n") if line.strip()]


def _held(value: Any) -> Any:
    return value.read_bytes().decode("utf-8") if isinstance(value, Path) else value


def _bad(message: str) -> typer.BadParameter:
    return typer.BadParameter(message, param_hint="FILE")
