"""Which modules cells may import, and which of their names are left out or replaced, with the reason."""

from __future__ import annotations

import array
import base64
import binascii
import bisect
import calendar
import cmath
import collections
import collections.abc
import contextlib
import copy
import csv
import datetime
import decimal
import difflib
import fractions
import functools
import hashlib
import heapq
import hmac
import html
import html.parser
import itertools
import json
import json.decoder
import math
import numbers
import operator
import pprint
import queue
import random
import re
import statistics
import string
import struct
import textwrap
import time
import typing
import unicodedata
import urllib.parse
import uuid
import zlib
import zoneinfo
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from .facades_concurrency import ASYNCIO, FUTURES, THREADING
from .facades_preload import available_timezones
from .facades_stdlib import (
    ABC,
    AST,
    DATACLASSES,
    ENUM,
    TRACEBACK,
    TYPES,
    attrgetter,
    methodcaller,
    namedtuple,
    safe_get_origin,
    singledispatch,
    total_ordering,
    update_wrapper,
    wraps,
)
from .facades_streams import GZIP, IO
from .formatting_templates import Formatter

_EVALUATES = "it evaluates annotations as code"

# Names left out of a module, with what to write instead or why.
DENIED: dict[str, dict[str, str]] = {
    "typing": {
        "get_type_hints": f"{_EVALUATES}; for a dataclass use dataclasses.fields",
        "ForwardRef": _EVALUATES,
        "no_type_check": "it writes to what it decorates; leave it out",
        "no_type_check_decorator": "it writes to what it decorates; leave it out",
    },
    "functools": {"singledispatchmethod": f"{_EVALUATES}; use functools.singledispatch or isinstance"},
    "collections": {"UserString": "its format reads any attribute; derive from str"},
    "contextlib": {"chdir": "there are no files here"},
    "dataclasses": {"make_dataclass": "it makes code from text; write a class statement with @dataclass"},
    "random": {"SystemRandom": "use random.Random"},
    "csv": {},
    "calendar": {
        "LocaleTextCalendar": "use TextCalendar",
        "LocaleHTMLCalendar": "use HTMLCalendar",
    },
    "zoneinfo": {
        "reset_tzpath": "there are no files here",
        "TZPATH": "there are no files here",
    },
    "types": {
        "CodeType": "it runs raw bytecode",
        "FunctionType": "it runs raw bytecode; use callable(x)",
    },
    "abc": {"update_abstractmethods": "it writes to the class"},
    "enum": {
        "EnumMeta": "use enum.Enum",
        "EnumType": "use enum.Enum",
        "global_enum": "it writes to a module",
    },
    "io": {"open": "there are no files here", "FileIO": "there are no files here"},
    "ast": {"parse": "use ast.literal_eval for data"},
    "asyncio": {"create_subprocess_exec": "there is no operating system here"},
    "concurrent.futures": {"ProcessPoolExecutor": "use ThreadPoolExecutor"},
}


def _public(module: ModuleType, **replaced: Any) -> dict[str, Any]:
    listed = getattr(module, "__all__", None) or [name for name in dir(module) if not name.startswith("_")]
    denied = DENIED.get(module.__name__, {})
    names = {name: getattr(module, name) for name in listed if name not in denied}
    return {name: value for name, value in names.items() if not isinstance(value, ModuleType)} | replaced


def _only(module: ModuleType, names: str) -> dict[str, Any]:
    return {name: getattr(module, name) for name in names.split()}


MODULES: dict[str, Mapping[str, Any]] = {
    "abc": ABC,
    "array": _only(array, "array ArrayType typecodes"),
    "ast": AST,
    "asyncio": ASYNCIO,
    "base64": _public(base64),
    "binascii": _public(binascii),
    "bisect": _only(bisect, "bisect bisect_left bisect_right insort insort_left insort_right"),
    "calendar": _public(calendar, mdays=calendar.mdays),  # type: ignore[attr-defined]  # not in typeshed
    "cmath": _public(cmath),
    "collections": _public(collections, namedtuple=namedtuple),
    "collections.abc": _public(collections.abc),
    "concurrent": {},
    "concurrent.futures": FUTURES,
    "contextlib": _public(contextlib),
    "copy": _public(copy),
    "csv": _public(csv),
    "dataclasses": DATACLASSES,
    "datetime": _public(datetime),
    "decimal": _public(decimal),
    "difflib": _public(difflib),
    "enum": ENUM,
    "fractions": _public(fractions),
    "functools": _public(
        functools,
        wraps=wraps,
        update_wrapper=update_wrapper,
        total_ordering=total_ordering,
        singledispatch=singledispatch,
    ),
    "gzip": GZIP,
    "hashlib": _public(hashlib),
    "heapq": _public(heapq),
    "hmac": _only(hmac, "new HMAC digest compare_digest"),
    "html": _public(html),
    "html.parser": _public(html.parser),
    "io": IO,
    "itertools": _public(itertools),
    "json": _public(json),
    "json.decoder": _only(json.decoder, "JSONDecoder JSONDecodeError"),
    "json.encoder": {"JSONEncoder": json.JSONEncoder},
    "math": _public(math),
    "numbers": _public(numbers),
    "operator": _public(operator, attrgetter=attrgetter, methodcaller=methodcaller),
    "pprint": _public(pprint),
    "queue": _public(queue),
    "random": _public(random),
    "re": _public(re),
    "statistics": _public(statistics),
    "string": _public(string, Formatter=Formatter),
    "struct": _public(struct),
    "textwrap": _public(textwrap),
    "threading": THREADING,
    "time": _only(
        time,
        "asctime ctime gmtime localtime mktime monotonic monotonic_ns perf_counter perf_counter_ns process_time "
        "process_time_ns sleep strftime strptime struct_time time time_ns timezone tzname daylight altzone",
    ),
    "traceback": TRACEBACK,
    "types": TYPES,
    "typing": _public(typing, get_origin=safe_get_origin),
    "unicodedata": _public(unicodedata),
    "urllib": {},
    "urllib.parse": _public(urllib.parse),
    "uuid": _only(
        uuid,
        "UUID SafeUUID uuid3 uuid4 uuid5 NAMESPACE_DNS NAMESPACE_URL NAMESPACE_OID NAMESPACE_X500 RFC_4122",
    ),
    "zlib": _public(zlib),
    "zoneinfo": _public(zoneinfo, available_timezones=available_timezones),
}

# Submodules that are attributes of their package, as after `import package.submodule`.
SUBMODULES = (
    "collections.abc",
    "concurrent.futures",
    "html.parser",
    "json.decoder",
    "json.encoder",
    "urllib.parse",
)
