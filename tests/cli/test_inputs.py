import gzip
import io
import json
import sys
from pathlib import Path

import pytest
import typer

from dspy_rlm.cli import inputs
from dspy_rlm.cli.inputs import Documents, read_documents


class Notices(list[str]):
    def __call__(self, text: str) -> None:
        self.append(text)


@pytest.fixture
def notices() -> Notices:
    return Notices()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path: Path, content: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def read(*arguments: str) -> Documents:
    return read_documents(arguments, fail)


def fail(text: str) -> None:
    raise AssertionError(f"unexpected notice: {text}")


def test_a_text_file_is_its_text(folder: Path) -> None:
    write(folder / "a.csv", "x,y\n1,2\n")
    assert read("a.csv").value(fail) == "x,y\n1,2\n"
    assert read("a.csv").note() == "the text of a.csv"


@pytest.mark.parametrize("name", ["a.json", "A.JSON", "a.v2.json", "a.json.gz"])
def test_json_is_data(folder: Path, name: str) -> None:
    content = json.dumps({"a": [1]}).encode()
    write(folder / name, gzip.compress(content) if name.endswith("gz") else content)
    assert read(name).value(fail) == {"a": [1]}
    assert read(name).note() == f"the data of {name}"


@pytest.mark.parametrize("name", ["a.jsonl", "a.ndjson", "a.jsonl.gz"])
def test_json_lines_are_a_list(folder: Path, name: str) -> None:
    content = '{"a": 1}\n\n{"a": "line\u2028separator"}\r\n'.encode()
    write(folder / name, gzip.compress(content) if name.endswith("gz") else content)
    assert read(name).value(fail) == [{"a": 1}, {"a": "line\u2028separator"}]


@pytest.mark.parametrize("name", ["a.json", "a.jsonl"])
def test_broken_json_is_text_and_said_to_be(folder: Path, name: str, notices: Notices) -> None:
    write(folder / name, '{"a": 1}\n{"a": ')
    assert read(name).value(notices) == '{"a": 1}\n{"a": '
    assert len(notices) == 1 and f"{name} is not valid" in notices[0]


def test_several_files_are_a_dict_by_path(folder: Path) -> None:
    write(folder / "a.txt", "A")
    write(folder / "sub/b.json", "[1]")
    documents = read("a.txt", "sub/b.json")
    assert documents.value(fail) == {"a.txt": "A", "sub/b.json": [1]}
    assert documents.note() == "file contents by path"


def test_a_folder_is_the_text_of_its_visible_text_files(folder: Path) -> None:
    for name in ("z.py", "sub/a.json", "sub/deep/b.txt", ".env", ".git/config", "sub/.hidden/c.txt"):
        write(folder / "src" / name, f'"{name}"')
    write(folder / "src/logo.png", b"\x89PNG\r\n\x1a\n\0\0")
    write(folder / "src/old.txt.gz", gzip.compress(b"unzipped"))
    (folder / "src/broken").symlink_to("nowhere")
    assert read("src").value(fail) == {
        "old.txt.gz": "unzipped",
        "z.py": '"z.py"',
        "sub/a.json": '"sub/a.json"',
        "sub/deep/b.txt": '"sub/deep/b.txt"',
    }


def test_a_folder_with_one_file_is_a_dict_too(folder: Path) -> None:
    write(folder / "src/a.json", "[1]")
    assert read("src").value(fail) == {"a.json": "[1]"}


def test_files_of_a_folder_among_others_keep_its_name(folder: Path) -> None:
    write(folder / "a.txt", "A")
    write(folder / "src/b.txt", "B")
    assert read("a.txt", "src/").value(fail) == {"a.txt": "A", "src/b.txt": "B"}


def test_standard_input_is_text(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BytesIO(gzip.compress("größer".encode("utf-16"))))
    monkeypatch.setattr(sys, "stdin", stream)
    assert read("-").value(fail) == "größer"


def test_a_large_plain_file_is_handed_on_by_its_path(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "LARGE_FILE", 4)
    write(folder / "big.log", "größer")
    write(folder / "old.log", "größer".encode("latin-1"))
    write(folder / "big.json", "[1, 2]")
    assert read("big.log").value(fail) == folder / "big.log"
    assert read("old.log").value(fail) == "größer"
    assert read("big.json").value(fail) == [1, 2]
    assert read("big.log", "big.json").value(fail) == {"big.log": "größer", "big.json": [1, 2]}


def test_joined_text_has_each_file_under_its_name(folder: Path) -> None:
    write(folder / "a.txt", "A")
    write(folder / "b.json", "[1]")
    assert read("a.txt", "b.json").joined_text() == "=== a.txt ===\nA\n\n=== b.json ===\n[1]"
    assert read("b.json").joined_text() == "[1]"


@pytest.mark.parametrize(
    ("content", "why"), [(None, "does not exist"), (b"\0\1\2\3", "binary"), (b"\x1f\x8b\x08garbage", "damaged gzip")]
)
def test_what_is_no_text_is_refused_by_name(folder: Path, content: bytes | None, why: str) -> None:
    if content is not None:
        write(folder / "it", content)
    with pytest.raises(typer.BadParameter, match=why) as refusal:
        read("it")
    assert "'it'" in refusal.value.message


def test_a_folder_without_text_is_refused(folder: Path) -> None:
    write(folder / "src/.hidden", "text")
    with pytest.raises(typer.BadParameter, match="has no text files"):
        read("src")
