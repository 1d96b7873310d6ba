"""Attempts to get out: each is refused by the policy, or raises at the step that would have reached something."""

from __future__ import annotations

import types

import pytest

from dspy_rlm.sandbox import guards
from dspy_rlm.sandbox.builtins_table import make_builtins
from dspy_rlm.sandbox.facades import FACADES
from dspy_rlm.sandbox.outcomes import Failed, Refused
from dspy_rlm.sandbox.policy_names import is_plain

# Refused before the cell runs.
REFUSED = {
    "static class": "().__class__.__base__.__subclasses__()",
    "static globals": "def f(): pass\nf.__globals__['__builtins__']",
    "static code": "def f(): pass\nf.__code__",
    "function closure": "def f(): pass\nf.__closure__",
    "static dict": "class A: pass\nA.__dict__",
    "static self": "print.__self__",
    "static func": "class A:\n    def m(self): pass\nA().m.__func__",
    "static mro": "int.mro()",
    "static traceback": "try: 1/0\nexcept Exception as e: e.__traceback__",
    "wrapped": "import functools\n@functools.lru_cache\ndef f(): pass\nf.__wrapped__",
    "generator frame": "g = (x for x in [1])\ng.gi_frame.f_back.f_globals",
    "generator code": "g = (x for x in [1])\ng.gi_code",
    "coroutine frame": "async def f(): pass\nc = f()\nc.cr_frame",
    "async generator frame": "async def f(): yield 1\nf().ag_frame",
    "traceback of exit": "class C:\n    def __enter__(self): return self\n    def __exit__(self, a, b, tb): print(tb.tb_frame)\nwith C(): 1/0",
    "eval": "eval('1')",
    "exec": "exec('1')",
    "compile": "compile('1', '', 'eval')",
    "alias of eval": "e = eval\ne('1')",
    "eval decorator": "@eval\ndef f(): pass",
    "open": "open('/etc/passwd').read()",
    "open in lambda": "(lambda p: open(p))('/etc/passwd')",
    "input": "input()",
    "globals": "globals()['x'] = 1",
    "locals": "locals()",
    "vars": "vars(int)",
    "breakpoint": "breakpoint()",
    "import builtin": "__import__('os')",
    "builtins name": "__builtins__['eval']",
    "builtins rebinding": "__builtins__ = {}",
    "name rebinding": "__name__ = 'x'",
    "build class": "__build_class__",
    "loader": "__loader__",
    "import os": "import os",
    "import sys as": "import sys as s",
    "from os": "from os import path",
    "import os dotted": "import os.path",
    "import subprocess": "import subprocess",
    "import builtins": "import builtins",
    "import importlib": "from importlib import import_module",
    "import private": "import _io",
    "import ctypes": "import ctypes",
    "import pickle": "import pickle",
    "import inspect": "import inspect",
    "import gc": "import gc",
    "import urllib.request": "import urllib.request",
    "relative import": "from . import x",
    "import as dunder": "import json as __builtins__",
    "class keyword of match": "match print:\n    case object(__self__=m): print(m)",
    "match frame": "g = (x for x in [1])\nmatch g:\n    case object(gi_frame=f): print(f)",
    "match format": "match '{0.x}':\n    case str(format=f): f(1)",
    "match capture": "match 1:\n    case __builtins__: pass",
    "match star capture": "match [1]:\n    case [*__builtins__]: pass",
    "match mapping rest": "match {}:\n    case {**__builtins__}: pass",
    "match value": "match 1:\n    case int.__class__: pass",
    "crafted match args": "class A: __match_args__ = ('__globals__',)",
    "computed match args": "class A: __match_args__ = tuple(['__glo' + 'bals__'])",
    "imported match args": "try:\n    from hashlib import new as __match_args__\nexcept ImportError: pass",
    "reduce": "class A:\n    def __reduce__(self): return (print, ())",
    "reduce_ex": "class A:\n    def __reduce_ex__(self, p): return (print, ())",
    "getstate": "class A:\n    def __getstate__(self): return (None, {'__class__': int})",
    "getattribute": "class A:\n    def __getattribute__(self, n): pass",
    "super getattribute": "class A:\n    def f(self): return super().__getattribute__('__class__')",
    "class assignment": "class A: pass\na = A()\na.__class__ = int",
    "class in body": "class A: __class__ = int",
    "dunder deletion": "def f(): pass\ndel f.__code__",
    "defaults": "def f(a=1): pass\nf.__defaults__ = (2,)",
    "argument name": "def f(__builtins__): pass",
    "keyword argument": "dict(__builtins__=1)",
    "lambda argument": "lambda __builtins__: 1",
    "async name": "async def __import__(): pass",
    "handler name": "try: 1/0\nexcept Exception as __builtins__: pass",
    "global statement": "def f():\n    global __builtins__\n    __builtins__ = 1",
    "loop target": "for __builtins__ in [1]: pass",
    "walrus": "(__builtins__ := 1)",
    "delete": "del __builtins__",
    "nfkc attribute": "().__cl\u1d43ss__",
    "nfkc underscores": "()._\ufe4dclass__",
    "nfkc name": "\u1d49val('1')",
    "annotated dunder": "__builtins__: int = 1",
    "annotations": "class A:\n    x: int\nA.__annotations__['y z'] = int",
    "f-string": "f'{().__class__}'",
    "f-string nested": "f'{1:{().__class__}}'",
    "subclass hook": "class A:\n    @classmethod\n    def __subclasshook__(cls, c): return True",
    "instancecheck": "class M:\n    def __instancecheck__(cls, c): return True",
    "task frames": "import asyncio\nasync def m(): asyncio.current_task().get_stack()\nasyncio.run(m())",
    "task loop": "import asyncio\nasync def m(): asyncio.current_task().get_loop()\nasyncio.run(m())",
}

# Raise while the cell runs.
RAISES = {
    "getattr class": "getattr((), '__cl' + 'ass__')",
    "getattr default": "getattr(print, '__self__', None)",
    "getattr frame": "getattr((x for x in [1]), 'gi_frame')",
    "getattr str subclass": "class S(str):\n    def __eq__(self, o): return True\n    def __hash__(self): return hash('real')\n    def startswith(self, *a): return False\ngetattr(print, S('__self__'))",
    "setattr": "def f(): pass\nsetattr(f, '__code__', 1)",
    "delattr": "class A: pass\ndelattr(A, '__module__')",
    "format": "'{0.__class__}'.format(1)",
    "format keyword": "'{x.__class__}'.format(x=1)",
    "format nested spec": "'{0:{0.__class__}}'.format(1)",
    "format index then attribute": "'{0[0].__class__}'.format([1])",
    "format by variable": "t = '{0.__class__}'\nt.format(1)",
    "format_map": "'{x.__class__}'.format_map({'x': 1})",
    "unbound format": "str.format('{0.__class__}', 1)",
    "format through getattr": "getattr('{0.__class__}', 'for' + 'mat')(1)",
    "format through map": "list(map('{0.__class__}'.format, [1]))",
    "format through super": "class S(str):\n    def go(self): return super().format(1)\nS('{0.__class__}').go()",
    "format through subclass": "class S(str): pass\nS('{0.__class__}').format(1)",
    "format through methodcaller": "import operator\noperator.methodcaller('format', 1)('{0.__class__}')",
    "format through attrgetter": "import operator\noperator.attrgetter('format')('{0.__class__}')(1)",
    "formatter": "import string\nstring.Formatter().format('{0.__class__}', 1)",
    "formatter get_field": "import string\nstring.Formatter().get_field('0.__class__', [1], {})",
    "formatter super": "import string\nclass F(string.Formatter):\n    def go(self): return super(string.Formatter, self).get_field('0.__class__', [1], {})\nF().go()",
    "user string": "from collections import UserString\nUserString('{0.__class__}').format(1)",
    "attrgetter": "from operator import attrgetter\nattrgetter('__class__')(1)",
    "attrgetter dotted": "from operator import attrgetter\nclass A: x = 1\nattrgetter('x.__class__')(A)",
    "attrgetter constructor": "from operator import attrgetter\ntype(attrgetter('x'))('__class__')(1)",
    "methodcaller": "from operator import methodcaller\nmethodcaller('__subclasses__')(object)",
    "partial getattr": "from functools import partial\npartial(getattr, print)('__self__')",
    "map getattr": "list(map(getattr, [print], ['__self__']))",
    "reduce getattr": "from functools import reduce\nreduce(getattr, ['__class__', '__base__'], 1)",
    "type of three": "type('A', (), {'__reduce__': 1})",
    "type of type": "type(type)('A', (), {})",
    "metaclass by type": "from enum import Enum\nclass C(Enum): A = 1\ntype(C)('B', (), {})",
    "metaclass of abc": "from abc import ABC\ntype(ABC)('A', (), {'__match_args__': ('__globals__',)})",
    "abc meta call": "from abc import ABCMeta\nABCMeta('A', (), {})",
    "metaclass derived": "class M(type): pass",
    "metaclass keyword": "class M: pass\nclass A(metaclass=M): pass",
    "metaclass function": "class A(metaclass=lambda *a: 1): pass",
    "generic alias of type": "type[int]('A', (), {})",
    "get_origin of Type": "from typing import Type, get_origin\nget_origin(Type[int])('A', (), {})",
    "virtual subclass": "from abc import ABC\nclass A(ABC): pass\nA.register(str)",
    "virtual subclass of foreign": "from collections.abc import Sequence\nclass A: pass\nSequence.register(A)",
    "exception group class": "class G(ExceptionGroup):\n    def split(self, c): return 1",
    "random os": "import random\nrandom._os",
    "random inst": "import random\nrandom._inst",
    "json codecs": "import json\njson.codecs",
    "dataclasses sys": "import dataclasses\ndataclasses.sys",
    "collections sys": "from collections import _sys",
    "facade write": "import json\njson.dumps = print",
    "facade setattr": "import json\nsetattr(json, 'dumps', print)",
    "facade object setattr": "import json\nobject.__setattr__(json, 'dumps', print)",
    "facade super setattr": "import json\nsuper(type(json), json).__setattr__('dumps', print)",
    "facade delete": "import json\ndel json.dumps",
    "facade private": "import json\njson._module",
    "table write": "import calendar\ncalendar.mdays[2] = 30",
    "class write": "from collections import Counter\nCounter.most_common = print",
    "class augmented write": "from fractions import Fraction\nFraction.x += 1",
    "class setattr": "import random\nsetattr(random.Random, 'seed', print)",
    "function write": "import statistics\nstatistics.mean.x = 1",
    "builtin write": "print.x = 1",
    "field write": "import dataclasses\n@dataclasses.dataclass\nclass A:\n    x: int\ndataclasses.fields(A)[0].name = 'a b'",
    "make dataclass": "import dataclasses\ndataclasses.make_dataclass('A', ['x'])",
    "dataclass foreign": "import dataclasses\nfrom fractions import Fraction\ndataclasses.dataclass(Fraction)",
    "namedtuple name": "from collections import namedtuple\nnamedtuple('A', ['x y'])",
    "namedtuple str subclass": "from collections import namedtuple\nclass S(str):\n    def isidentifier(self): return True\nnamedtuple('A', [S('x=print()')])",
    "namedtuple dunder": "from collections import namedtuple\nnamedtuple('A', '__class__')",
    "enum names": "from enum import Enum\nEnum('E', {'__reduce__': print})",
    "enum subclass name": "from enum import Enum\nclass S(str): pass\nEnum('E', [(S('a'), 1)])",
    "type hints": "from typing import get_type_hints\nget_type_hints(print)",
    "forward reference subclass": "from typing import Optional, get_args\nget_args(Optional['print()'])[0]._evaluate({}, {}, frozenset())",
    "singledispatch annotation": "import functools\n@functools.singledispatch\ndef f(x): pass\n@f.register\ndef g(x: 'print(1)'): pass",
    "total ordering foreign": "import functools\nfrom fractions import Fraction\nfunctools.total_ordering(Fraction)",
    "update_wrapper foreign": "import functools, json\nfunctools.update_wrapper(json.dumps, print)",
    "code type": "import types\ntypes.CodeType",
    "function type": "import types\ntypes.FunctionType",
    "io open": "import io\nio.open('/etc/passwd')",
    "file io": "import io\nio.FileIO('/etc/passwd')",
    "gzip path": "import gzip\ngzip.open('/etc/passwd')",
    "gzip file path": "import gzip\ngzip.GzipFile('/etc/passwd')",
    "process pool": "from concurrent.futures import ProcessPoolExecutor",
    "executor inside": "from concurrent.futures import ThreadPoolExecutor\nThreadPoolExecutor()._threads",
    "executor module": "import asyncio\nasyncio.subprocess",
    "loop private": "import asyncio\nasync def m(): asyncio.current_task()._loop\nasyncio.run(m())",
    "loop of subclass": "import asyncio\nasync def m():\n    class T(type(asyncio.current_task())): pass\n    async def n(): return 1\n    return T(n())._loop\nasyncio.run(m())",
    "unbound method with foreign self": "import asyncio\nclass A:\n    def f(self): return self._loop\nasync def m(): A.f(asyncio.current_task())\nasyncio.run(m())",
    "error object": "import hashlib\ntry: hashlib.nothing\nexcept AttributeError as e: print(e.obj._module)",
    "chdir": "import contextlib\ncontextlib.chdir('/')",
    "exit by signal": "raise KeyboardInterrupt",
    "private attribute of class": "import string\nstring.Template._invalid",
    "literal eval of tree": "import ast\nast.literal_eval(ast.parse('1'))",
    "copied facade": "import copy, json\ncopy.copy(json)._module",
    "writer of a class": "from fractions import Fraction\nobject.__setattr__(Fraction, 'x', 1)",
    "forward reference": "from typing import Optional, get_args\nclass F(type(get_args(Optional['x'])[0]), _root=True): pass\nF('1')._evaluate({}, {}, frozenset())",
    "redirect of any name": "from contextlib import redirect_stdout\nclass R(redirect_stdout): _stream = 'modules'\nr = R({})\nwith r: print(r._old_targets)",
    "redirect set later": "from contextlib import redirect_stdout\nclass R(redirect_stdout): pass\nr = R({})\nr._stream = 'modules'",
    "enum convert": "from enum import Enum\nclass C(Enum): pass\nC._convert_('X', 'json', lambda n: n == 'codecs')",
    "enum create": "from enum import Enum\nclass C(Enum): pass\nC._create_('D', {'__reduce__': 1})",
    "private of a base": "import pprint\nclass P(pprint.PrettyPrinter): pass\nP._dispatch",
    "private of a base by getattr": "import pprint\nclass P(pprint.PrettyPrinter): pass\ngetattr(P, '_dispatch')",
    "private of a base by super": "import pprint\nclass P(pprint.PrettyPrinter):\n    def f(self): return super()._dispatch\nP().f()",
    "private of a base overridden": "import pprint\nclass P(pprint.PrettyPrinter):\n    _dispatch = {}",
    "private of a base set": "import pprint\nclass P(pprint.PrettyPrinter): pass\nsetattr(P, '_dispatch', {})",
    "private of a metaclass": "from abc import ABC\nclass A(ABC): pass\nA._dump_registry()",
    "setattr through super of foreign": "from decimal import Decimal\nclass A: pass\nA.__setattr__(Decimal, 'x', 1)",
}


@pytest.mark.parametrize("source", REFUSED.values(), ids=REFUSED)
def test_the_policy_refuses(source, session):
    outcome = session.run(source)
    assert isinstance(outcome, Refused) and outcome.kind == "policy", outcome
    assert all(refusal.reason and refusal.text for refusal in outcome.refusals)


@pytest.mark.parametrize("source", RAISES.values(), ids=RAISES)
def test_the_guards_raise(source, session):
    assert isinstance(session.run(source), Failed)


def test_wraps_copies_only_the_usual_names(session):
    source = """
import functools, statistics
caught = []
class W:
    def __setattr__(self, name, value): caught.append(name)
functools.update_wrapper(W(), statistics.mean, assigned=('__globals__',), updated=())
print('__globals__' in caught)"""
    assert session.printed(source) == "False\n"


def test_generated_match_args_read_no_guarded_attribute(session):
    source = """
from collections import namedtuple
from typing import Protocol, runtime_checkable
from dataclasses import dataclass
N = namedtuple('N', 'gi_frame format')
@dataclass
class D:
    format: str
@runtime_checkable
@dataclass
class P(Protocol):
    format: str
reached = []
for kind in (N, D, P):
    class K(kind): pass
    try:
        match '{0.x}':
            case kind(found): reached.append(found)
    except TypeError: pass
print(reached, N(1, 2).format, D('x').format)"""
    assert session.printed(source) == "[] 2 x\n"


def test_a_module_in_an_error_is_not_handed_over(session):
    session.namespace.bind("error", AttributeError("x", name="x", obj=types))
    outcome = session.run("error.obj")
    assert isinstance(outcome, Failed) and "module" in outcome.error.message


def _steps(value: object) -> list[object]:
    vetted = isinstance(value, type) and value.__module__ in guards.VETTED_MODULES
    names = [
        name for name in dir(value) if not name.startswith("__") and (is_plain(name) or (vetted and name[:1] == "_"))
    ]
    return [getattr(value, name, None) for name in names]


def test_no_module_is_reached_by_permitted_attributes_of_what_cells_can_name():
    """Private names count too: a cell's subclass of a vetted class may read them."""
    ends = str | bytes | int | float | complex | types.BuiltinFunctionType | types.MethodType | types.MethodWrapperType
    level: list[object] = [*FACADES.values(), *make_builtins().values()]
    seen: dict[int, object] = {}
    for _ in range(4):
        fresh = [value for value in level if id(value) not in seen and not isinstance(value, ends)]
        seen.update((id(value), value) for value in fresh)
        level = [found for value in fresh for found in _steps(value)]
        forbidden = types.ModuleType | types.FrameType | types.CodeType
        assert [found for found in level if isinstance(found, forbidden)] == []
    assert len(seen) > 1_000
