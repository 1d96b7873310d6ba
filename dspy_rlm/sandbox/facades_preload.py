"""Loads what the standard library would else load at its first use, when the worker may no longer open files."""

from __future__ import annotations

import codecs
import importlib
import importlib.util
import io
import zoneinfo
from pathlib import Path

from .policy_names import words

# Imported by C code or inside functions of the modules that cells may use.
_MODULES = words(
    "concurrent.futures.thread _strptime locale inspect linecache tokenize encodings.idna stringprep html.entities _pylong decimal"
)

_CODECS = words(
    "ascii latin-1 utf-8 utf-8-sig utf-16 utf-16-le utf-16-be utf-32 utf-7 cp1252 cp1250 cp1251 cp437 cp850 mac-roman "
    "iso8859-15 iso8859-2 unicode_escape raw_unicode_escape idna punycode hex base64 rot13 zlib shift_jis euc_jp "
    "gb18030 gbk big5 euc_kr koi8-r"
)

# The zone files' bytes by key, once preloaded. Parsing all zones would take ten times as long as reading them.
_zone_files: dict[str, bytes] = {}


def load_modules() -> None:
    """Import the modules and codecs that are needed later; those that this Python lacks are skipped."""
    for name in _MODULES:
        try:
            importlib.import_module(name)
        except ModuleNotFoundError:
            continue  # _pylong came with Python 3.12
    for name in _CODECS:
        codecs.lookup(name)


def preload() -> None:
    """Read every time zone's file, once per zygote, so that cells can name any zone without opening one."""
    if _zone_files:
        return
    for directory in _zone_directories():
        for path in directory.rglob("*"):
            key = path.relative_to(directory).as_posix()
            if not key.startswith(("posix", "right")) and path.is_file():
                _zone_files[key] = path.read_bytes()
    # zoneinfo asks this function for what its search path does not hold.
    zoneinfo.reset_tzpath(())
    zoneinfo._common.load_tzdata = _load_zone  # type: ignore[assignment]


def _zone_directories() -> list[Path]:
    package = importlib.util.find_spec("tzdata")
    packaged = [Path(place) / "zoneinfo" for place in (package.submodule_search_locations or ())] if package else []
    # The first directory of the search path wins, so it is read last.
    return [*packaged, *map(Path, reversed(zoneinfo.TZPATH))]


def _load_zone(key: str) -> io.BytesIO:
    if key not in _zone_files:
        raise zoneinfo.ZoneInfoNotFoundError(f"No time zone found with key {key}")
    return io.BytesIO(_zone_files[key])


def available_timezones() -> set[str]:
    """List the keys of all time zones, as `zoneinfo.available_timezones` does."""
    return {key for key, data in _zone_files.items() if data[:4] == b"TZif"} or zoneinfo.available_timezones()
