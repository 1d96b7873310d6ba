"""The language that models write runs as in plain CPython."""

from __future__ import annotations

import pytest

CELLS = {
    "arithmetic": "print(7 // 2, -7 % 3, 2**10, 1 / 4, 5 @ 1 if False else 'no', ~5, 1 << 4, 6 & 3, 6 | 1, 6 ^ 3)",
    "augmented writes": """
d = {}; d['a'] = 0; d['a'] += 2; d.setdefault('l', []).append(3); d['l'][0] *= 5
class N:
    n = 0
o = N(); o.n += 1; o.n -= 5; o.m = [1]; o.m[0] += 1; del d['a']; del o.m
print(d, o.n, hasattr(o, 'm'))""",
    "annotated": "x: int = 1\ny: 'list[str]' = ['a']\nz: int\nprint(x, y)",
    "walrus": "print([y for x in range(5) if (y := x * x) > 3], (n := 10), n)",
    "unpacking": "a, *b, (c, d) = 1, 2, 3, (4, 5)\n[e, f] = 'xy'\nprint(a, b, c, d, e, f, *[1, 2], *range(2), {**{'k': 1}, 'j': 2})",
    "star args": """
def f(a, /, b, *args, c=3, **kw):
    return a, b, args, c, kw
print(f(1, 2, 3, 4, c=5, d=6), f(*[1, 2], **{'c': 7}))""",
    "comprehensions": "print({k: v for k, v in zip('ab', [1, 2])}, {x % 3 for x in range(9)}, list(x for x in 'ab'), [[i * j for j in range(3)] for i in range(2)])",
    "generators": """
def gen(n):
    got = yield n
    yield from range(got or 2)
    return 'end'
g = gen(1); print(next(g), g.send(3), list(g))""",
    "closures": """
def counter():
    count = 0
    def step(by=1):
        nonlocal count
        count += by
        return count
    return step
c = counter(); c(); print(c(5))""",
    "globals": "total = 0\ndef add(x):\n    global total\n    total += x\nadd(3); add(4)\nprint(total)",
    "decorators": """
import functools
def logged(prefix):
    def wrap(f):
        @functools.wraps(f)
        def inner(*a, **k):
            print(prefix, f.__name__, a)
            inner.calls += 1
            return f(*a, **k)
        inner.calls = 0
        return inner
    return wrap
@logged('call')
def add(a, b):
    "adds"
    return a + b
print(add(1, 2), add.__name__, add.__doc__, add.calls)""",
    "classes": """
class Animal:
    count = 0
    _registry = []
    def __init__(self, name, *, legs=4):
        self.name = name; self._legs = legs; Animal.count += 1; self._registry.append(name)
    @property
    def legs(self): return self._legs
    @legs.setter
    def legs(self, value): self._legs = value
    @classmethod
    def make(cls, *args): return cls(*args)
    @staticmethod
    def twice(x): return x * 2
    def __repr__(self): return f'{type(self).__name__}({self.name!r})'
    def __eq__(self, other): return isinstance(other, Animal) and self._legs == other._legs
    def __lt__(self, other): return self.name < other.name
    def __len__(self): return self._legs
    def __getitem__(self, i): return self.name[i]
    def __contains__(self, c): return c in self.name
    def __hash__(self): return hash(self.name)
    def __enter__(self): return self
    def __exit__(self, *exc): return False
    def __call__(self, x): return x + 1
    def __bool__(self): return True
    def __add__(self, o): return Animal(self.name + o.name)
class Dog(Animal):
    def __init__(self, name): super().__init__(name, legs=3); self._sound = 'woof'
    def speak(self): return self._sound
d = Dog.make('rex'); d.legs += 1
with Animal('cat') as c: print(c, d, d == c, len(d), d[0], 'r' in d, sorted([d, c]), d(1), c + d, Animal.count, d.speak(), Animal.twice(4), Animal._registry)""",
    "class printing": "class A: pass\nprint(A, type(A()), type(A), A.__name__, A.__qualname__, A.__module__, type(3).__name__, type(type(3)))",
    "init subclass": """
class Base:
    kinds = {}
    def __init_subclass__(cls, key=None, **kw):
        super().__init_subclass__(**kw)
        cls.kinds[key] = cls
class A(Base, key='a'): pass
print(Base.kinds['a'].__name__)""",
    "descriptor": """
class Positive:
    def __set_name__(self, owner, name): self._name = '_' + name
    def __get__(self, obj, owner=None): return self if obj is None else getattr(obj, self._name, None)
    def __set__(self, obj, value):
        if value < 0: raise ValueError('negative')
        setattr(obj, self._name, value)
class P:
    x = Positive()
p = P(); p.x = 3; print(p.x)
try: p.x = -1
except ValueError as e: print(e)""",
    "slots and setattr": """
class F:
    __slots__ = ('a', 'b')
    def __init__(self): object.__setattr__(self, 'a', 1); super().__setattr__('b', 2)
    def __setattr__(self, k, v): raise AttributeError('frozen')
f = F(); print(f.a, f.b)
try: f.a = 3
except AttributeError as e: print(e)""",
    "getattr hooks": """
class D:
    def __init__(self): self.data = {'x': 1}
    def __getattr__(self, name):
        try: return self.data[name]
        except KeyError: raise AttributeError(name)
d = D(); print(d.x, getattr(d, 'y', None), hasattr(d, 'x'), hasattr(d, 'y'), hasattr([], '__len__'), hasattr('s', '__iter__'))""",
    "new": "class T(tuple):\n    def __new__(cls, *items): return super().__new__(cls, items)\n    __str__ = tuple.__repr__\nprint(T(1, 2), str(T()), len(T(1)))",
    "match": """
from dataclasses import dataclass
from enum import Enum
class Color(Enum):
    RED = 1
    BLUE = 2
@dataclass
class Point:
    x: int
    y: int
def kind(v):
    match v:
        case 0 | 1: return 'small'
        case -3: return 'minus'
        case str(s) if len(s) > 3: return f'long {s}'
        case str(): return 'str'
        case [a, *rest]: return f'list {a} {rest}'
        case {'k': k, **rest}: return f'dict {k} {rest}'
        case Point(x=0, y=y): return f'axis {y}'
        case Point(x, y): return f'point {x} {y}'
        case Color.RED: return 'red'
        case None: return 'none'
        case int() as n: return f'int {n}'
        case _: return 'other'
print([kind(v) for v in [0, -3, 'abcd', 'a', [1, 2], {'k': 1, 'j': 2}, Point(0, 5), Point(3, 4), Color.RED, Color.BLUE, None, 9, 1.5]])""",
    "exceptions": """
class MyError(ValueError):
    def __init__(self, code): super().__init__(f'code {code}'); self.code = code
def f():
    try: raise KeyError('k')
    except KeyError as e: raise MyError(3) from e
    finally: print('finally')
try: f()
except MyError as e: print(e, e.code, repr(e.__cause__), e.args)
except (TypeError, OSError): print('no')
else: print('no')
try: 1 / 0
except: print('bare')
try: assert False, 'why'
except BaseException as e: print(type(e).__name__, e)""",
    "exception groups": """
try: raise ExceptionGroup('g', [ValueError(1), TypeError(2), KeyError(3)])
except* ValueError as eg: print('v', eg.exceptions)
except* (TypeError, KeyError) as eg: print('t', len(eg.exceptions))""",
    "context managers": """
from contextlib import contextmanager, suppress, ExitStack, redirect_stdout
import io
@contextmanager
def cm(n):
    print('in', n)
    try: yield n
    finally: print('out', n)
with cm(1) as a, cm(2): print(a)
with suppress(KeyError): {}['x']
with ExitStack() as s: s.enter_context(cm(3))
buf = io.StringIO()
with redirect_stdout(buf): print('hidden')
print(repr(buf.getvalue()))""",
    "loops": "for i in range(5):\n    if i == 1: continue\n    if i == 3: break\n    print(i)\nelse: print('no')\nwhile i: i -= 1\nelse: print('else', i)",
    "lambda": "f = lambda x, *a, k=2, **kw: (x, a, k, kw)\nprint(f(1, 2, k=3, z=4), sorted('bca', key=lambda c: -ord(c)), (lambda: 5)())",
    "format": """
class P: x = 3
print('{} {1} {0}'.format(1, 2) if False else '{1} {0} {2[k]} {3.x:>5} {a!r}'.format(1, 2, {'k': 'v'}, P(), a='s'))
print('{:{w}.{p}f}|{:>8,}|{:%}'.format(3.14159, 1234567, 0.5, w=10, p=2), '{x}-{y}'.format_map({'x': 1, 'y': 2}), list(map('{:03d}'.format, [1, 2])), list(map(str.format, ['{}', '{}!'], 'ab')))
print(f'{3.14159:.2f} {"a":>4} {[1]!r} {1234567:,} {P.x=} {{}}', '%s %05.1f %d%%' % ('a', 2.5, 3), format(255, 'x'))""",
    "private names": "_x = 1\n_helper = lambda: _x\nfor _ in range(2): pass\nprint(_helper(), _)",
    "main guard": "def main():\n    print('ran', __name__)\nif __name__ == '__main__':\n    main()",
    "async": """
import asyncio
class R:
    async def __aenter__(self): return self
    async def __aexit__(self, *a): return False
    def __aiter__(self): self.n = 0; return self
    async def __anext__(self):
        self.n += 1
        if self.n > 2: raise StopAsyncIteration
        return self.n
async def agen():
    for i in range(2):
        yield i
        await asyncio.sleep(0)
async def work(x):
    await asyncio.sleep(0)
    return x * 2
async def main():
    async with R() as r:
        async for n in r: print(n)
    print([x async for x in agen()], await asyncio.gather(*(work(i) for i in range(3))))
    print(await asyncio.wait_for(work(4), 5), await asyncio.to_thread(len, 'abc'))
    async with asyncio.TaskGroup() as tg: t = tg.create_task(work(1))
    sem = asyncio.Semaphore(2)
    async with sem: print(t.result())
asyncio.run(main())
loop = asyncio.new_event_loop()
print(loop.run_until_complete(work(5)))
loop.close()""",
    "type hints": """
from __future__ import annotations
from typing import Any, Generic, Literal, NamedTuple, Optional, Protocol, TypedDict, TypeVar, Union, cast
T = TypeVar('T')
class Box(Generic[T]):
    def __init__(self, item: T) -> None: self.item = item
class P(NamedTuple):
    x: int
    y: int = 2
class TD(TypedDict, total=False):
    a: int
class Quack(Protocol):
    def quack(self) -> str: ...
def f(a: Optional[int], b: Union[int, str] = 3) -> dict[str, list[int]]: return {str(a): [cast(int, b)]}
print(f(None), P(1), P(1)._asdict(), P._fields, P(1)._replace(y=5), TD(a=1), Box[int](3).item, Optional[int], list[int], int | None)""",
    "dataclasses": """
from dataclasses import dataclass, field, asdict, astuple, replace, fields
@dataclass(order=True)
class Item:
    price: float
    name: str = 'x'
    tags: list[str] = field(default_factory=list)
    _hidden: int = field(default=0, repr=False)
    def __post_init__(self): self._total = self.price * 2
    @property
    def total(self): return self._total
@dataclass(frozen=True, slots=True)
class Pt:
    x: int
    format: str = 'f'
i = Item(2.5, tags=['a']); print(i, i.total, asdict(i), astuple(i), replace(i, price=1.0), i < Item(3), [f.name for f in fields(Item)])
p = Pt(1); print(p, hash(p) == hash(Pt(1)), p.format)
try: p.x = 2
except Exception as e: print(type(e).__name__, e)""",
    "enums": """
from enum import Enum, IntEnum, StrEnum, Flag, auto, unique
@unique
class C(Enum):
    RED = auto()
    BLUE = auto()
    def describe(self): return f'{self.name}={self.value}'
    @classmethod
    def _missing_(cls, value): return cls.RED
class I(IntEnum):
    A = 1
    B = 2
class S(StrEnum):
    X = auto()
class F(Flag):
    R = auto()
    W = auto()
class Planet(Enum):
    EARTH = (1, 2)
    def __init__(self, m, r): self._m = m; self.r = r
    @property
    def g(self): return self._m + self.r
D = Enum('D', 'P Q'); E = Enum('E', {'U': 1})
print(C.RED, C(2), C(99), C['BLUE'].describe(), list(C), I.A + 1, f'{I.B}', I.B, S.X, F.R | F.W, F.R in (F.R | F.W), Planet.EARTH.g, D.P, list(E), len(C), C.RED in C, isinstance(C.RED, Enum), C.__members__.keys())""",
    "abstract": """
from abc import ABC, ABCMeta, abstractmethod
from collections.abc import Mapping, Iterator
class Shape(ABC):
    @abstractmethod
    def area(self): ...
class Sq(Shape):
    def __init__(self, s): self.s = s
    def area(self): return self.s ** 2
class M(metaclass=ABCMeta): pass
class D(Mapping):
    def __init__(self, d): self._d = d
    def __getitem__(self, k): return self._d[k]
    def __len__(self): return len(self._d)
    def __iter__(self): return iter(self._d)
try: Shape()
except TypeError as e: print(e)
print(Sq(3).area(), dict(D({'a': 1})), D({'b': 2}).get('z', 0), isinstance(M(), M), isinstance({}, Mapping))""",
    "inheritance of builtins": """
class Cfg(dict):
    def __getattr__(self, k): return self[k]
    def __missing__(self, k): return f'no {k}'
class L(list):
    def last(self): return self[-1]
class E(Exception): pass
c = Cfg(a=1); print(c.a, c['z'], L([1, 2]).last(), isinstance(E(), Exception))""",
    "multiple inheritance": "class A:\n    def f(self): return ['A']\nclass B(A):\n    def f(self): return ['B'] + super().f()\nclass C(A):\n    def f(self): return ['C'] + super().f()\nclass D(B, C): pass\nprint(D().f())",
    "operators": "class V:\n    def __init__(s, x): s.x = x\n    def __add__(s, o): return V(s.x + o.x)\n    __radd__ = __add__\n    def __iadd__(s, o): s.x += o; return s\n    def __neg__(s): return V(-s.x)\n    def __matmul__(s, o): return s.x * o.x\nv = V(1); v += 4; print((v + V(2)).x, (-v).x, V(2) @ V(3))",
    "long sum": "print(" + " + ".join(["1"] * 600) + ")",
    "long elif": "x = 299\nif x == 0: pass\n" + "".join(f"elif x == {i}: print({i})\n" for i in range(1, 300)),
    "chained calls": "print(" + "'a'" + ".strip()" * 200 + ")",
    "print options": "print(1, 'a', sep='-', end='!\\n'); print(); print(*[1, 2], sep='\\n', flush=True)\nimport io\nb = io.StringIO(); print('x', file=b); print(repr(b.getvalue()))",
    "recursion error": "def f(n): return f(n + 1)\ntry: f(0)\nexcept RecursionError as e: print('deep')",
    "type checks": "print(isinstance(1, type), isinstance(int, type), type(1) is int, type(1) == int, issubclass(bool, int), type(None), callable(print), type[int])",
    "del and nested": "a = {'x': {'y': [1, 2]}}\na['x']['y'][0] += 5; a['x']['z'] = a['x'].pop('y'); del a['x']['z'][1]\nprint(a)",
    "try in loop": "out = []\nfor s in ['1', 'x', '2']:\n    try: out.append(int(s))\n    except ValueError: continue\nprint(out)",
    "global in class": "class A:\n    x = [i for i in range(3)]\n    y = {k: k for k in x}\n    def f(self): return __name__\nprint(A.x, A.y, A().f())",
}


@pytest.mark.parametrize("source", CELLS.values(), ids=CELLS)
def test_a_cell_prints_what_plain_python_prints(source, session, plain):
    assert session.printed(source) == plain(source)
