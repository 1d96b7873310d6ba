"""The standard library that cells may use gives what plain CPython gives."""

from __future__ import annotations

import pytest

CELLS = {
    "re": """
import re
text = 'a=1, b=22; c = 333'
print(re.findall(r'(\\w)\\s*=\\s*(\\d+)', text), re.sub(r'(\\d+)', r'<\\1>', text), re.sub(r'\\d', lambda m: m.group() * 2, 'a1'))
m = re.search(r'(?P<k>\\w)=(?P<v>\\d)', text); print(m.group('k'), m.groupdict(), m.span(), m.expand(r'\\g<v>!'), m[0])
print(re.compile('a.c', re.I | re.S).match('A\\nC') is not None, re.split(r'[,;]\\s*', text), [x.start() for x in re.finditer('=', text)], re.escape('a.b'))""",
    "json": """
import json
s = json.dumps({'a': [1, None, True], 'b': {'c': 'ü'}}, indent=2, ensure_ascii=False, sort_keys=True); print(s, json.loads(s)['b'])
class Enc(json.JSONEncoder):
    def default(self, o): return sorted(o) if isinstance(o, set) else super().default(o)
print(json.dumps({1, 2}, cls=Enc), json.dumps(1.5, default=str))
try: json.loads('{bad')
except json.JSONDecodeError as e: print(e.msg, e.pos)
from json.decoder import JSONDecodeError
print(JSONDecodeError is json.JSONDecodeError)""",
    "collections": """
from collections import Counter, defaultdict, deque, OrderedDict, namedtuple, ChainMap
c = Counter('abracadabra'); c.update('zz'); c['a'] -= 1; print(c.most_common(2), c['q'], sum(c.values()), c + Counter('a'))
d = defaultdict(lambda: defaultdict(int)); d['x']['y'] += 1; print({k: dict(v) for k, v in d.items()})
q = deque([1, 2, 3], maxlen=2); q.appendleft(0); print(q, OrderedDict(a=1), ChainMap({'a': 1}, {'b': 2})['b'])
P = namedtuple('P', 'x y', defaults=[0]); p = P(1); print(p, p._replace(x=3), p._asdict(), P._make([4, 5]), P._fields, P)""",
    "itertools": "from itertools import *\nprint(list(islice(count(2), 3)), list(chain('ab', [1])), [(k, len(list(g))) for k, g in groupby('aabbb')], list(product('ab', repeat=2))[:2], list(combinations(range(3), 2)), list(accumulate([1, 2, 3])), list(zip_longest('a', 'bc')), list(pairwise('abc')))",
    "functools": """
import functools
from functools import lru_cache, reduce, partial, cached_property, total_ordering, singledispatch
@lru_cache(maxsize=None)
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
print(fib(80), fib.cache_info().hits, reduce(lambda a, b: a * b, [1, 2, 3]), partial(int, base=2)('101'))
class A:
    def __init__(self, n): self.n = n
    @cached_property
    def slow(self): print('once'); return self.n
    def __eq__(self, o): return self.n == o.n
    def __lt__(self, o): return self.n < o.n
A = total_ordering(A); a = A(2); print(a.slow, a.slow, a >= A(1))
@singledispatch
def show(x): return 'other'
@show.register
def _(x: int): return 'int'
@show.register(list)
def _(x): return 'list'
print(show(1), show([]), show('a'), sorted([3, 1], key=functools.cmp_to_key(lambda a, b: a - b)))""",
    "operator": "import operator\nfrom operator import itemgetter, attrgetter, methodcaller\nclass P: x = 3\nprint(sorted({'a': 2, 'b': 1}.items(), key=itemgetter(1)), operator.add(1, 2), attrgetter('x')(P), attrgetter('x', 'x')(P), methodcaller('upper')('a'), methodcaller('format', 3)('{}'))",
    "datetime": """
from datetime import date, datetime, timedelta, timezone
import datetime as dt
d = datetime.strptime('2024-02-29 13:05', '%Y-%m-%d %H:%M'); print(d, d.strftime('%d %b %Y'), f'{d:%Y/%m}', d + timedelta(days=1, hours=2), d.isoformat(), d.weekday(), (date(2024, 3, 1) - d.date()).days, d.replace(tzinfo=timezone.utc), dt.date.fromisoformat('2020-01-02'), datetime.fromtimestamp(0, timezone.utc))""",
    "bare except over strptime": "from datetime import datetime\ndef p(s):\n    try: return datetime.strptime(s, '%d/%m/%Y')\n    except: return None\nprint([p(s) for s in ['01/02/2020', 'x']])",
    "zoneinfo": "from zoneinfo import ZoneInfo\nfrom datetime import datetime\nprint(datetime(2024, 7, 1, tzinfo=ZoneInfo('Europe/Berlin')).isoformat(), ZoneInfo('UTC'))",
    "time and calendar": "import time, calendar\nprint(time.strftime('%Y', time.gmtime(0)), calendar.monthrange(2024, 2), calendar.month_name[3], calendar.isleap(2023), list(calendar.day_abbr), time.strptime('2020', '%Y').tm_year, time.perf_counter() > 0, calendar.mdays[2])\ncalendar.prmonth(2024, 2)",
    "math": "import math, cmath, statistics, fractions, decimal, random, numbers\nprint(math.sqrt(2), math.comb(5, 2), math.inf, math.isclose(0.1 + 0.2, 0.3), cmath.phase(1j), statistics.mean([1, 2, 3]), statistics.stdev([1, 2, 4]), statistics.quantiles([1, 2, 3, 4]), fractions.Fraction(1, 3) + 1, isinstance(1, numbers.Integral))\ndecimal.getcontext().prec = 5\nprint(decimal.Decimal(1) / 3, decimal.Decimal('1.25').quantize(decimal.Decimal('0.1')))\ndecimal.getcontext().prec = 28\nrandom.seed(4); print(random.randint(1, 99), random.choice('abc'), random.sample(range(9), 3), random.Random(1).random())",
    "text": "import textwrap, string, difflib, unicodedata, html, pprint\nprint(textwrap.shorten('a b c d e f', 8), textwrap.dedent('  a\\n  b'), string.ascii_lowercase, string.punctuation, string.Template('$a ${b}').substitute(a=1, b=2), difflib.get_close_matches('appel', ['apple', 'x']), round(difflib.SequenceMatcher(None, 'abc', 'abd').ratio(), 3), unicodedata.normalize('NFD', 'é').encode(), html.unescape('&lt;'), html.escape('<'))\npprint.pprint({'b': list(range(30)), 'a': 'x' * 50}, width=60)\nprint('\\n'.join(difflib.unified_diff('ab', 'ac', lineterm='')), pprint.pformat([1]), string.Formatter().format('{0} {} {x!r:>5}' if False else '{} {x!r:>5} {0:{w}}' if False else '{0} {x!r:>5}', 1, x='a'))",
    "bytes": "import hashlib, hmac, base64, binascii, zlib, gzip, struct, io, array, uuid\nprint(hashlib.sha256(b'a').hexdigest()[:8], hashlib.new('md5', b'a').hexdigest()[:8], hmac.new(b'k', b'm', hashlib.sha1).hexdigest()[:8], base64.b64encode(b'ab'), binascii.hexlify(b'a'), zlib.decompress(zlib.compress(b'abc')), gzip.decompress(gzip.compress(b'xyz')), struct.unpack('>HB', b'\\x00\\x01\\x02'), array.array('i', [1, 2]).tolist(), uuid.uuid5(uuid.NAMESPACE_DNS, 'a'), len(str(uuid.uuid4())))\nb = io.BytesIO(); f = gzip.open(b, 'wt'); f.write('hi'); f.close(); b.seek(0)\nprint(gzip.open(b, 'rt').read(), memoryview(b'abc')[1], bytearray(b'a') + b'b')",
    "csv": "import csv, io\nr = list(csv.DictReader(io.StringIO('a,b\\n1,\"x,y\"\\n'))); print(r, list(csv.reader(['1;2'], delimiter=';')))\no = io.StringIO(); w = csv.DictWriter(o, fieldnames=['a', 'b']); w.writeheader(); w.writerow({'a': 1, 'b': 'q\"'}); print(repr(o.getvalue()), csv.Sniffer().sniff('a;b\\n1;2').delimiter)",
    "urllib": "from urllib.parse import urlparse, parse_qs, quote, urljoin, urlencode\nimport urllib.parse\nu = urlparse('https://x.org:80/a?b=1&b=2#f'); print(u.netloc, u.port, parse_qs(u.query), quote('a b'), urljoin('http://a/b', 'c'), urlencode({'a': 1}), urllib.parse.unquote('%20') == ' ', u._replace(path='/z').geturl())",
    "html parser": "from html.parser import HTMLParser\nclass P(HTMLParser):\n    def __init__(self): super().__init__(); self._out = []\n    def handle_data(self, d): self._out.append(d)\np = P(); p.feed('<p>hi<b>you</b></p>'); print(p._out)",
    "heapq and bisect": "import heapq, bisect\nh = [3, 1, 2]; heapq.heapify(h); heapq.heappush(h, 0); print(heapq.heappop(h), heapq.nlargest(2, h), list(heapq.merge([1, 4], [2])), bisect.bisect([1, 2, 3], 2))",
    "copy": "import copy\nclass N:\n    def __init__(self): self._x = [1]; self.y = {'a': [2]}\nn = N(); m = copy.deepcopy(n); m._x.append(3); k = copy.copy(n); print(n._x, m._x, k._x is n._x, copy.deepcopy({'a': (1, [2])}))",
    "threads": """
from concurrent.futures import ThreadPoolExecutor, as_completed
import threading
with ThreadPoolExecutor(max_workers=4) as ex:
    print(list(ex.map(lambda x: x * x, range(5))))
    futures = {ex.submit(pow, i, 2): i for i in range(3)}
    print(sorted((futures[f], f.result()) for f in as_completed(futures)))
out = []
lock = threading.Lock()
def work(i):
    with lock: out.append(i)
class T(threading.Thread):
    def __init__(self, n): super().__init__(); self._n = n
    def run(self): work(self._n)
ts = [threading.Thread(target=work, args=(i,)) for i in range(3)] + [T(9)]
for t in ts: t.start()
for t in ts: t.join()
print(sorted(out))""",
    "queue": "import queue\nq = queue.Queue(); q.put(1); print(q.get(), q.empty())",
    "types": "from types import SimpleNamespace, MappingProxyType\ns = SimpleNamespace(a=1); s.b = 2; s.a += 1; print(s, s.a, dict(MappingProxyType({'k': 1})))",
    "literal eval": "import ast\nprint(ast.literal_eval(\"{'a': [1, (2, None)]}\"))\ntry: ast.literal_eval('f()')\nexcept ValueError: print('no')",
    "aliases": "import collections.abc\nimport json as j\nfrom math import sqrt as root, pi\nimport urllib.parse as up\nimport concurrent.futures\nprint(j.dumps([1]), root(4), pi, up.quote('/ '), isinstance([], collections.abc.Sequence), concurrent.futures.wait([]).done)",
    "tolerated import": "try:\n    import numpy_of_none as np\n    HAS = True\nexcept ImportError:\n    HAS = False\nprint(HAS)",
    "import in function": "def f():\n    import json\n    from math import floor\n    return json.dumps(floor(2.5))\nprint(f())",
    "contextlib": "from contextlib import nullcontext, closing\nwith nullcontext(3) as n: print(n)\nclass C:\n    def close(self): print('closed')\nwith closing(C()): pass",
    "stdout": "import pprint, io, contextlib\nbuf = io.StringIO()\nwith contextlib.redirect_stdout(buf):\n    pprint.pprint([1])\nprint(buf.getvalue().strip())",
    "typing": "from typing import get_origin, get_args, List, Callable, Annotated\nprint(get_origin(List[int]), get_args(Callable[[int], str]), List[int], Annotated[int, 'x'])",
}


@pytest.mark.parametrize("source", CELLS.values(), ids=CELLS)
def test_a_cell_prints_what_plain_python_prints(source, session, plain):
    assert session.printed(source) == plain(source)
