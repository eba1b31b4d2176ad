# ruff: noqa: E501, ISC004 - a case a line
"""Every rule of the packs, on the code it is meant for."""

from __future__ import annotations

import ast

import pytest

from selfimprove.agents.offline.edits import apply_hunks
from selfimprove.agents.offline.files import SourceFile
from selfimprove.agents.offline.sources.rule_packs import find, load_rules

EXAMPLES = [
    ("python", "list-of-constants-membership", "a = x in [1, 2]", "a = x in (1, 2,)"),
    ("python", "in-list-of", "a = x in list(y)", "a = x in y"),
    ("python", "in-keys-list", "a = x in list(d.keys())", "a = x in d"),
    ("python", "in-sorted", "a = x in sorted(y)", "a = x in y"),
    ("python", "sorted-first", "a = sorted(f(x))[0]", "a = min(f(x))"),
    ("python", "sorted-first-key", "a = sorted(x, key=k)[0]", "a = min(x, key=k)"),
    ("python", "sorted-last", "a = sorted(x)[-1]", "a = max(x)"),
    ("python", "sorted-last-key", "a = sorted(x, key=k)[-1]", "a = max(x, key=k)"),
    ("python", "sorted-head", "import heapq\na = sorted(x)[:3]", "import heapq\na = heapq.nsmallest(3, x)"),
    ("python", "sorted-head-key", "a = sorted(x, key=k)[:3]", "import heapq\n\na = heapq.nsmallest(3, x, key=k)"),
    ("python", "sorted-head-reverse", "a = sorted(x, reverse=True)[:n]", "import heapq\n\na = heapq.nlargest(n, x)"),
    ("python", "sorted-head-key-reverse", "a = sorted(x, key=k, reverse=True)[:n]", "import heapq\n\na = heapq.nlargest(n, x, key=k)"),
    ("python", "list-map-lambda", "a = list(map(lambda v: v + 1, x))", "a = [v + 1 for v in x]"),
    ("python", "list-filter-lambda", "a = list(filter(lambda v: v > 1, x))", "a = [v for v in x if v > 1]"),
    ("python", "len-of-filter", "a = len([v for v in x if v])", "a = sum(1 for v in x if v)"),
    ("python", "sum-of-list", "a = sum([v for v in x])", "a = sum(v for v in x)"),
    ("python", "generator-sum-to-list", "a = sum(v * 2 for v in x)", "a = sum([v * 2 for v in x])"),
    ("python", "math-pow-two", "a = math.pow(x, 2)", "a = x * x"),
    ("python", "power-two", "a = x ** 2", "a = x * x"),
    ("python", "power-two-attribute", "a = p.x ** 2", "a = p.x * p.x"),
    ("python", "power-three", "a = x ** 3", "a = x * x * x"),
    ("python", "square-of-difference", "a = (p.x - y) ** 2", "a = (p.x - y) * (p.x - y)"),
    ("python", "power-half", "import math\na = (x + 1) ** 0.5", "import math\na = math.sqrt((x + 1))"),
    ("python", "list-plus-one", "a = a + [x]", "a.append(x)"),
    ("python", "list-plus-list", "a = a + f(x)", "a += f(x)"),
    ("python", "tuple-plus-one", "a = a + (x,)", "a = (*a, x)"),
    ("python", "dict-update-copy", "d = {**d, k: v}", "d[k] = v"),
    ("python", "set-union-copy", "s = s | {x}", "s.add(x)"),
    ("python", "get-then-default", "a = d[k] if k in d else 0", "a = d.get(k, 0)"),
    ("python", "set-list-copy", "a = set([1, 2])", "a = {1, 2}"),
    ("python", "join-list", 'a = ",".join([str(v) for v in x])', 'a = ",".join(str(v) for v in x)'),
    ("python", "any-of-list", "a = any([v > 1 for v in x])", "a = any(v > 1 for v in x)"),
    ("python", "all-of-list", "a = all([v > 1 for v in x])", "a = all(v > 1 for v in x)"),
    (
        "python",
        "trial-division-bound",
        "import math\nfor d in range(2, n):\n    if n % d == 0:\n        f()",
        "import math\nfor d in range(2, math.isqrt(n) + 1):\n    if n % d == 0:\n        f()",
    ),
    (
        "python",
        "bubble-sort",
        "for i in range(len(a)):\n    for j in range(len(a) - 1):\n        if a[j] > a[j + 1]:\n"
        "            a[j], a[j + 1] = a[j + 1], a[j]",
        "a.sort()",
    ),
    ("python", "deepcopy-list", "a = copy.deepcopy(x)", "a = copy.copy(x)"),
    ("python", "json-round-trip", "import copy\na = json.loads(json.dumps(x))", "import copy\na = copy.deepcopy(x)"),
    ("python", "json-indent", "a = json.dumps(x, indent=2)", "a = json.dumps(x)"),
    ("python", "json-indent-sorted", "a = json.dumps(x, indent=2, sort_keys=True)", "a = json.dumps(x, sort_keys=True)"),
    ("python", "read-lines", "for line in f.readlines():\n    g(line)", "for line in f:\n    g(line)"),
    ("python", "read-split-lines", 'a = f.read().split("\\n")', "a = f.read().splitlines()"),
    ("python", "split-first", 'a = s.split(",")[0]', 'a = s.split(",", 1)[0]'),
    ("python", "split-last", 'a = s.split(",")[-1]', 'a = s.rsplit(",", 1)[-1]'),
    ("python", "strptime-date", 'a = datetime.strptime(s, "%Y-%m-%d")', "a = datetime.fromisoformat(s)"),
    ("python", "strptime-datetime", 'a = datetime.datetime.strptime(s, "%Y-%m-%d")', "a = datetime.datetime.fromisoformat(s)"),
    ("python", "strptime-seconds", 'a = datetime.strptime(s, "%Y-%m-%dT%H:%M:%S")', "a = datetime.fromisoformat(s)"),
    ("python", "yaml-safe-load", "a = yaml.safe_load(x)", 'a = yaml.load(x, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))'),
    ("python", "unbuffered-open", 'a = open(p, "rb", buffering=0)', 'a = open(p, "rb")'),
    ("python", "print-flush", "print(a, b, flush=True)", "print(a, b)"),
    ("python", "thread-per-task", "a = ThreadPoolExecutor(max_workers=1)", "a = ThreadPoolExecutor()"),
    ("python", "compile-regex-call", 'a = re.compile("x").match(s)', 'a = re.match("x", s)'),
    ("python", "namedtuple-replace", "a = p._replace(x=1)._replace(y=2)", "a = p._replace(x=1, y=2)"),
    ("python", "type-check-isinstance", "a = type(x) == int", "a = type(x) is int"),
    ("javascript", "index-of-includes", "a = x.indexOf(y) !== -1;", "a = x.includes(y);"),
    ("javascript", "index-of-includes-gt", "a = x.indexOf(y) > -1;", "a = x.includes(y);"),
    ("javascript", "filter-first", "a = x.filter(f)[0];", "a = x.find(f);"),
    ("typescript", "filter-some", "const a: boolean = x.filter(f).length > 0;", "const a: boolean = x.some(f);"),
    ("javascript", "filter-none", "a = x.filter(f).length === 0;", "a = !x.some(f);"),
    ("javascript", "filter-map-flat", "a = x.map(f).flat();", "a = x.flatMap(f);"),
    ("javascript", "keys-includes", "a = Object.keys(o).includes(k);", "a = Object.hasOwn(o, k);"),
    ("javascript", "keys-index-of", "a = Object.keys(o).indexOf(k) !== -1;", "a = Object.hasOwn(o, k);"),
    ("javascript", "json-clone", "a = JSON.parse(JSON.stringify(x));", "a = structuredClone(x);"),
    ("javascript", "concat-in-place", "a = a.concat(b);", "a.push(...b);"),
    ("javascript", "spread-push", "a = [...a, x];", "a.push(x);"),
    ("javascript", "spread-key", "o = { ...o, [k]: v };", "o[k] = v;"),
    ("javascript", "reduce-spread", "b = x.reduce((a, i) => ({ ...a, [i.k]: i }), {});", "b = x.reduce((a, i) => { a[i.k] = i; return a; }, {});"),
    ("javascript", "math-pow-two", "a = Math.pow(x, 2);", "a = x * x;"),
    ("javascript", "sort-first", "a = x.sort((p, q) => p - q)[0];", "a = Math.min(...x);"),
    ("javascript", "for-each", "x.forEach((v) => { f(v); });", "for (const v of x) { f(v); }"),
    ("javascript", "regexp-in-call", 'a = new RegExp("abc").test(s);', 'a = s.includes("abc");'),
    ("javascript", "sequential-awaits", "for (const v of x) { await f(v); }", "await Promise.all(x.map((v) => f(v)));"),
    ("javascript", "read-file-sync-string", "a = fs.readFileSync(p).toString();", 'a = fs.readFileSync(p, "utf8");'),
    ("javascript", "json-indent", "a = JSON.stringify(x, null, 2);", "a = JSON.stringify(x);"),
    ("cpp", "range-for-copy", "void f() { for (auto x : xs) g(x); }", "void f() { for (const auto& x : xs) g(x); }"),
    ("cpp", "endl", "void f() { std::cout << x << std::endl; }", "void f() { std::cout << x << '\\n'; }"),
    ("cpp", "map-to-unordered", "#include <map>\nstd::map<int, int> x;", "#include <unordered_map>\n#include <map>\nstd::unordered_map<int, int> x;"),
    ("cpp", "set-to-unordered", "std::set<int> x;", "#include <unordered_set>\nstd::unordered_set<int> x;"),
    ("cpp", "list-to-vector", "std::list<int> x;", "#include <vector>\nstd::vector<int> x;"),
    ("cpp", "pow-two", "void f() { a = pow(x, 2); }", "void f() { a = (x * x); }"),
    ("cpp", "std-pow-two", "void f() { a = std::pow(x, 2); }", "void f() { a = (x * x); }"),
    ("cpp", "string-by-value", "int f(std::string s) { return 1; }", "int f(const std::string& s) { return 1; }"),
    ("cpp", "vector-by-value", "int f(std::vector<int> v) { return 1; }", "int f(const std::vector<int>& v) { return 1; }"),
    ("cpp", "push-back-emplace", "void f() { v.push_back(T(1, 2)); }", "void f() { v.emplace_back(1, 2); }"),
    ("rust", "map-clone", "fn f() { x.iter().map(|v| v.clone()); }", "fn f() { x.iter().cloned(); }"),
    ("rust", "collect-len", "fn f() { x.collect::<Vec<_>>().len(); }", "fn f() { x.count(); }"),
    ("rust", "filter-next", "fn f() { x.filter(g).next(); }", "fn f() { x.find(g); }"),
    ("rust", "sort-unstable", "fn f() { x.sort(); }", "fn f() { x.sort_unstable(); }"),
    ("rust", "sort-unstable-by", "fn f() { x.sort_by(g); }", "fn f() { x.sort_unstable_by(g); }"),
    ("rust", "vec-capacity", "fn f() { let x = Vec::new(); }", "fn f() { let x = Vec::with_capacity(1024); }"),
    ("rust", "string-capacity", "fn f() { let x = String::new(); }", "fn f() { let x = String::with_capacity(1024); }"),
    ("rust", "hash-map-capacity", "fn f() { let x = HashMap::new(); }", "fn f() { let x = HashMap::with_capacity(1024); }"),
    ("rust", "btree-to-hash", "fn f() { let x = BTreeMap::new(); }", "fn f() { let x = std::collections::HashMap::new(); }"),
    ("rust", "chars-nth-zero", "fn f() { s.chars().nth(0); }", "fn f() { s.chars().next(); }"),
    ("rust", "pow-two", "fn f() { x.pow(2); }", "fn f() { (x * x); }"),
    ("rust", "powf-two", "fn f() { x.powf(2.0); }", "fn f() { (x * x); }"),
    ("rust", "push-str-format", 'fn f() { s.push_str(&format!("{}", x)); }', 'fn f() { { use std::fmt::Write as _; write!(s, "{}", x).unwrap() }; }'),
    ("go", "sprintf-int", 'package a\nimport "strconv"\nfunc f() { x = fmt.Sprintf("%d", y) }', 'package a\nimport "strconv"\nfunc f() { x = strconv.Itoa(y) }'),
    ("go", "sprintf-string", 'package a\nfunc f() { x = fmt.Sprintf("%s", y) }', "package a\nfunc f() { x = string(y) }"),
    ("go", "slice-capacity", "package a\nfunc f() { x := make([]int, 0) }", "package a\nfunc f() { x := make([]int, 0, 1024) }"),
    ("go", "map-capacity", "package a\nfunc f() { x := make(map[int]string) }", "package a\nfunc f() { x := make(map[int]string, 1024) }"),
    ("go", "bytes-compare", "package a\nfunc f() { x := bytes.Compare(a, b) == 0 }", "package a\nfunc f() { x := bytes.Equal(a, b) }"),
    ("go", "strings-index-contains", "package a\nfunc f() { x := strings.Index(a, b) != -1 }", "package a\nfunc f() { x := strings.Contains(a, b) }"),
    ("go", "replace-all", "package a\nfunc f() { x := strings.Replace(s, a, b, -1) }", "package a\nfunc f() { x := strings.ReplaceAll(s, a, b) }"),
    ("go", "math-pow-two", "package a\nfunc f() { y := math.Pow(x, 2) }", "package a\nfunc f() { y := (x * x) }"),
    (
        "go",
        "sort-slice-ints",
        'package a\nimport "sort"\nfunc f() { sort.Slice(x, func(i, j int) bool { return x[i] < x[j] }) }',
        'package a\nimport "slices"\nimport "sort"\nfunc f() { slices.Sort(x) }',
    ),
]  # fmt: skip


@pytest.mark.parametrize(("language", "name", "before", "after"), EXAMPLES, ids=lambda v: None)
def test_each_rule_rewrites_the_code_it_is_for(
    language: str, name: str, before: str, after: str
) -> None:
    file = SourceFile("some/file", before + "\n", language)
    found = [idea for idea in find([file]) if idea.name == name]
    assert [apply_hunks(file.text, idea.hunks) for idea in found] == [after + "\n"]
    if language == "python":
        ast.parse(after)


def test_every_rule_has_an_example_and_every_example_a_rule() -> None:
    shown = {(language, name) for language, name, *_ in EXAMPLES}
    rules = {(lang, rule.name) for rule in load_rules() for lang in rule.languages}
    assert shown <= rules
    assert {name for _, name in rules} == {name for _, name in shown}


def test_matches_in_several_functions_are_one_idea_each_and_one_for_the_file() -> None:
    text = "def f(x):\n    return x ** 2\n\n\ndef g(x):\n    return x ** 2\n"
    found = [i for i in find([SourceFile("m.py", text, "python")]) if i.name == "power-two"]
    assert sorted((idea.symbol, len(idea.hunks)) for idea in found) == [("", 2), ("f", 1), ("g", 1)]


def test_a_rule_leaves_code_alone_that_only_looks_alike() -> None:
    text = "a = x in (1, 2)\nb = f(x) ** 2\nc = d + [1]\ne = sorted(x)[1]\n"
    assert find([SourceFile("m.py", text, "python")]) == []
