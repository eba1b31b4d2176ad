"""Runs the main script of a Python benchmark, and reports that it came to its end.

Its text is handed to whatever Python the benchmark has, so that it uses the standard library of an
old one and annotations that are never evaluated. A candidate that the script imports shares its
process and can do anything there: what is looked for here are the known ways of ending the script
early, of putting other functions in its place, and of writing the result afterwards.
"""

import os
import sys
from types import CodeType, FunctionType, ModuleType, TracebackType

WATCHED = (
    *("builtins", "time", "timeit", "math", "statistics", "random", "os", "io", "sys", "json"),
    *("json.encoder", "json.decoder", "subprocess", "csv", "decimal", "fractions", "resource"),
    *("unittest.case", "unittest.loader", "unittest.result", "unittest.runner", "unittest.suite"),
)
"""Modules by which scores are made and told, and tests judged."""
PLAIN = ("builtins", "time", "math")
"""Those without functions written in Python."""
SEPARATORS = "\x1e\x1f"
MOST = 200
ONLY_AST = 0x400
"""Of `ast`, which is not imported: whatever is, a script could not have of its own any more."""
SCOPES = ("FunctionDef", "AsyncFunctionDef", "ClassDef", "Lambda")


def begin(report: int, nonce: str) -> None:
    """Run `RESULT SCRIPT [ARGUMENT ...]` or `RESULT -m MODULE [...]` of the arguments."""
    write, mine, getpid = os.write, os.getpid(), os.getpid
    os.set_inheritable(report, False)
    before = {name: dict(vars(sys.modules[name])) for name in PLAIN if name in sys.modules}
    streams, place = _streams(), _place()
    top = os.getcwd() + os.sep
    result, words = sys.argv[1], sys.argv[2:]
    codes: list[CodeType] = []
    stores: dict[str, set[str]] = {}
    main = vars(sys.modules["__main__"])
    first = dict(main)
    ended, through = "raised", None
    try:
        _run(words, codes, stores)
        ended = "end"
    except SystemExit as stop:
        ended, through = "exit", stop.__traceback__
        raise
    finally:
        if getpid() == mine:
            by = _passed(through or sys.exc_info()[2], top)
            files = [path for path in map(_file_of, list(sys.modules.values())) if path]
            own = sorted({path[len(top) :] for path in files if path.startswith(top)})
            found = [*_patched(before), *_redefined("__main__", main, codes)]
            found += ["__main__." + each for each in _put_in(main, first, codes, stores)]
            found += _redirected(streams, place)
            found += _modules(top)  # last: a candidate may have as many as it likes
            searched = sorted({path + os.sep for path in map(os.path.abspath, sys.path)})
            inner = [path[len(top) :] or "./" for path in searched if path.startswith(top)]
            parts = [nonce, ended, SEPARATORS[1].join(by[-MOST:]), _digest(result)]
            parts += [SEPARATORS[1].join(each[:MOST]) for each in (own, found, inner)]
            write(report, SEPARATORS[0].join(parts).encode("utf-8", "replace"))


def _run(words: "list[str]", codes: "list[CodeType]", stores: "dict[str, set[str]]") -> None:
    """What the interpreter does with these arguments; a script's code is noted before it runs."""
    sets_path = not (sys.flags.isolated or getattr(sys.flags, "safe_path", False))
    if words[0] == "-m":
        import runpy

        sys.argv[:] = words[1:]
        if sets_path:
            sys.path[0] = os.getcwd()
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
        return
    script = words[0]
    sys.argv[:] = words
    if sets_path:
        sys.path[0] = os.path.dirname(os.path.realpath(script))
    with open(script, "rb") as file:
        text = file.read()
    code = compile(text, script, "exec", dont_inherit=True)
    codes.append(code)
    try:
        _note_stores(compile(text, script, "exec", ONLY_AST, dont_inherit=True), stores)
    except RecursionError:  # it may set any name
        stores["*"] = set()
    module = vars(sys.modules["__main__"])
    module["__file__"] = os.path.abspath(script) if sys.version_info >= (3, 9) else script
    module["__spec__"] = None
    exec(code, module)  # noqa: S102 - as the interpreter itself would


def _streams() -> "list[object]":
    """What is printed to: the stream, those behind it to which it hands on, the descriptor."""
    found: list[object] = [sys.stdout]
    try:
        found.append(sys.stdout.buffer)
        found.append(getattr(sys.stdout.buffer, "raw"))  # noqa: B009 - not declared
        found.append(sys.stdout.fileno())
    except (AttributeError, OSError, ValueError):  # it is of another kind, detached or closed
        pass
    return found


def _place() -> "tuple[int, ...]":
    """Where what is printed ends up."""
    try:
        found = os.fstat(1)
    except OSError:
        return ()
    return found.st_dev, found.st_ino


def _redirected(streams: "list[object]", place: "tuple[int, ...]") -> "list[str]":
    """What of the output is not as it was."""
    now = _streams()
    same = len(now) == len(streams) and all(now[k] is each for k, each in enumerate(streams))
    found = [] if same else ["sys.stdout"]
    return found if _place() == place else [*found, "standard output"]


def _passed(traceback: "TracebackType | None", top: str) -> "list[str]":
    """The tree's files that an exception came through, in the order in which they were called.

    One alone would not do: whoever ends the script may call another's function to do so.
    """
    found = []
    while traceback is not None:
        frame, traceback = traceback.tb_frame, traceback.tb_next
        path = os.path.abspath(frame.f_code.co_filename)
        inner = path[len(top) :]
        ours = frame.f_globals is globals() or inner.startswith("<")
        if path.startswith(top) and inner not in found and not ours:
            found.append(inner)
    return found


def _file_of(module: ModuleType) -> str:
    found = getattr(module, "__file__", None)
    return os.path.abspath(found) if isinstance(found, str) else ""


def _digest(result: str) -> str:
    """The result file as it is now."""
    if not os.path.isfile(result):
        return ""
    import hashlib

    with open(result, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def _patched(before: "dict[str, dict[str, object]]") -> "list[str]":
    """Functions of the watched modules that are not the ones they came with."""
    home = os.path.dirname(os.path.abspath(os.__file__))
    found = []
    for name, kept in before.items():
        now = vars(sys.modules[name])
        found += [f"{name}.{each}" for each in kept if now.get(each) is not kept[each]]
    for name in WATCHED:
        for owner, values in _namespaces(name):
            found += [
                f"{owner}.{each}"
                for each, value in values.items()
                if isinstance(value, FunctionType) and not _from(value.__code__.co_filename, home)
            ]
    for stream in ("stdout", "__stdout__"):
        if type(getattr(sys, stream)).__module__ not in ("io", "_io"):
            found.append("sys." + stream)
    return sorted(set(found) - {"builtins._"})


def _namespaces(name: str) -> "list[tuple[str, dict[str, object]]]":
    """A module's names, and those of its own classes."""
    module = sys.modules.get(name)
    if module is None:
        return []
    values = dict(vars(module))
    classes = [
        (name + "." + each, dict(vars(value)))
        for each, value in values.items()
        if isinstance(value, type) and value.__module__ == name
    ]
    return [(name, values), *classes]


def _from(filename: str, home: str) -> bool:
    return filename.startswith(("<frozen", home))


def _modules(top: str) -> "list[str]":
    """The same for the tree's own modules, with the file of each behind `@`."""
    found = []
    for name, module in sorted(sys.modules.items())[: 100 * MOST]:
        path = _file_of(module)
        if name == "__main__" or not path.startswith(top):
            continue
        spec = getattr(module, "__spec__", None)
        try:
            code = spec.loader.get_code(name) if spec else None
        except (AttributeError, ImportError, OSError, SyntaxError, ValueError):
            continue
        if code is not None:
            found += [
                each + "@" + path[len(top) :] for each in _redefined(name, vars(module), [code])
            ]
    return found


def _redefined(name: str, values: "dict[str, object]", codes: "list[CodeType]") -> "list[str]":
    """Functions that a module's own text defines, and that are others now."""
    defined: dict[str, list[CodeType]] = {}
    for code in codes:
        for each in code.co_consts:
            if isinstance(each, CodeType) and each.co_name.isidentifier():
                defined.setdefault(each.co_name, []).append(each)
    return [
        name + "." + each
        for each, known in defined.items()
        if isinstance(now := values.get(each), FunctionType) and now.__code__ not in known
    ]


def _note_stores(tree: object, stores: "dict[str, set[str]]") -> None:
    """Which globals a script's own text sets: each with what it imports there, or with ""."""
    waiting = [(tree, True)]
    while waiting:
        node, outer = waiting.pop()
        kind = type(node).__name__
        if kind == "Global" or outer:
            for name, source in _stored(kind, node):
                stores.setdefault(name, set()).add(source)
        for field in getattr(node, "_fields", ()):
            value = getattr(node, field, None)
            inner = value if isinstance(value, list) else [value]
            waiting += [(each, outer and kind not in SCOPES) for each in inner]


def _stored(kind: str, node: object) -> "list[tuple[str, str]]":
    """The names that one node sets by itself."""
    names = getattr(node, "names", ())
    if kind == "Global":
        return [(each, "") for each in names]
    if kind == "Import":
        dotted = [each for each in names if each.asname and "." in each.name]
        return [
            (each.asname or each.name.partition(".")[0], "" if each in dotted else each.name)
            for each in names
        ]
    if kind == "ImportFrom":
        module = getattr(node, "module", None)
        known = module in WATCHED and not getattr(node, "level", 0)
        return [
            (each.asname or each.name, f"{module}:{each.name}" if known else "") for each in names
        ]
    if kind == "Name":
        stored = type(getattr(node, "ctx", None)).__name__ != "Load"
        return [(getattr(node, "id", ""), "")] if stored else []
    found = getattr(node, "rest", None) or getattr(node, "name", None)
    if kind == "alias":  # of the import above it
        return []
    return [(found, "")] if isinstance(found, str) else []


def _put_in(
    main: "dict[str, object]",
    first: "dict[str, object]",
    codes: "list[CodeType]",
    stores: "dict[str, set[str]]",
) -> "list[str]":
    """Globals of the script that hide a builtin it uses, or that are not what it imported."""
    own = first["__builtins__"]
    builtin = vars(own) if isinstance(own, ModuleType) else own
    assert isinstance(builtin, dict)
    hides = {each for code in codes for each in _names(code)} & set(builtin) & set(main)
    hides -= {*stores, *first, *(main if "*" in stores else ())}
    other = [
        each
        for each, sources in stores.items()
        if each in main and sources and "" not in sources
        if not any(main[each] is _imported(source) for source in sources)
    ]
    if main.get("__builtins__") is not own:
        other.append("__builtins__")
    return sorted([*hides, *other])


def _names(code: CodeType) -> "set[str]":
    inner = [_names(each) for each in code.co_consts if isinstance(each, CodeType)]
    return set(code.co_names).union(*inner)


def _imported(source: str) -> object:
    """What `import MODULE` (or of MODULE:NAME, `from MODULE import NAME`) now gives."""
    module, _, name = source.partition(":")
    if name:
        return getattr(sys.modules.get(module), name, None)
    return sys.modules.get(module.partition(".")[0])
