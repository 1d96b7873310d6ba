"""The sandbox that cells run in: two walls, transactions, and the wire between them.

- Inner wall, inside the worker: `policy*`, `guards*`, `builtins_table`, `facades*`, `formatting*`; `cells` compiles and
  runs one cell behind it.
- Outer wall: `isolation`, which a worker puts around itself.
- Processes: `zygote` (everything imported, forks a session on demand), `worker` (one session, one fork a cell),
  `launch` (starts the zygote from the host), `connection` (frames over a socket, on both sides).
- Values: `outcomes`, `values`, `wire` (worker to host: data, never pickled), `transport` (host to worker: large ones by
  memory file).
- The host's side of a session: `session` and, for users, `interpreter`; `rendering` turns outcomes into text.

The worker imports this package, so nothing here but the host's side may import DSPy.
"""
