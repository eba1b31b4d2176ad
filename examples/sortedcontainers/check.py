"""Whether the containers still do what they promise: python3 check.py

Random work on each container with a small and with the usual load, against plain Python, the
package's own consistency check after every few steps. Takes a second or two.
"""

import pickle
import random
import sys
from bisect import bisect_left, insort
from copy import copy, deepcopy
from operator import neg
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from sortedcontainers import SortedDict, SortedKeyList, SortedList, SortedSet  # noqa: E402


def same(found, wanted, what):
    if found != wanted:
        sys.exit(f"{what}: {found!r:.200} instead of {wanted!r:.200}")


def raises(error, function, *arguments):
    try:
        function(*arguments)
    except error:
        return
    sys.exit(f"{function} raised no {error.__name__} for {arguments}")


def check_list(rng, load):
    sorted_list, plain = SortedList(), []
    sorted_list._reset(load)
    for step in range(1500):
        value = rng.randrange(400)
        action = rng.randrange(9)
        if action < 4:
            sorted_list.add(value)
            insort(plain, value)
        elif action == 4:
            sorted_list.discard(value)
            if value in plain:
                plain.remove(value)
        elif action == 5 and plain:
            at = rng.randrange(-len(plain), len(plain))
            same(sorted_list.pop(at), plain.pop(at), "pop")
        elif action == 6:
            more = [rng.randrange(400) for _ in range(rng.randrange(8))]
            sorted_list.update(more)
            plain = sorted(plain + more)
        elif action == 7 and plain:
            low, high = sorted(rng.randrange(len(plain)) for _ in range(2))
            cut = slice(low, min(high, low + 5), rng.choice([1, 1, 2]))
            del sorted_list[cut]
            del plain[cut]
        else:
            same(sorted_list.bisect_left(value), bisect_left(plain, value), "bisect_left")
            same(sorted_list.count(value), plain.count(value), "count")
            same(value in sorted_list, value in plain, "in")
        if step % 50 == 0:
            sorted_list._check()
            same(list(sorted_list), plain, "the list")
            same(list(reversed(sorted_list)), plain[::-1], "reversed")
            same(sorted_list[-7:3:-2], plain[-7:3:-2], "a slice")
            same(list(sorted_list.irange(50, 150)), [v for v in plain if 50 <= v <= 150], "irange")
            same(list(sorted_list.islice(2, 9)), plain[2:9], "islice")
    if plain:
        same(sorted_list.index(plain[-1]), plain.index(plain[-1]), "index")
    same(list(pickle.loads(pickle.dumps(sorted_list))), plain, "pickle")
    same(sorted_list + [1], sorted(plain + [1]), "+")
    same(sorted_list * 2, sorted(plain * 2), "*")
    same(repr(SortedList([2, 1])), "SortedList([1, 2])", "repr")
    raises(ValueError, sorted_list.remove, -1)
    raises(ValueError, sorted_list.index, -1)
    raises(IndexError, sorted_list.__getitem__, len(plain))
    raises(NotImplementedError, sorted_list.append, 1)


def check_key_list(rng, load):
    keyed, plain = SortedKeyList(key=neg), []
    keyed._reset(load)
    for step in range(800):
        value = rng.randrange(200)
        if rng.random() < 0.6:
            keyed.add(value)
            plain.append(value)
        elif value in plain:
            keyed.remove(value)
            plain.remove(value)
        if step % 50 == 0:
            keyed._check()
            same(list(keyed), sorted(plain, reverse=True), "the key list")
            same(keyed.bisect_key_left(-100), sum(v > 100 for v in plain), "bisect_key_left")
            same(list(keyed.irange_key(-120, -80)), sorted((v for v in plain if 80 <= v <= 120), reverse=True), "irange_key")


def check_dict(rng):
    table, plain = SortedDict(), {}
    for step in range(1500):
        key = rng.randrange(300)
        action = rng.randrange(6)
        if action < 3:
            table[key] = plain[key] = step
        elif action == 3:
            same(table.pop(key, None), plain.pop(key, None), "pop")
        elif action == 4:
            same(table.setdefault(key, step), plain.setdefault(key, step), "setdefault")
        elif plain:
            same(table.peekitem(0), min(plain.items()), "peekitem")
        if step % 50 == 0:
            table._check()
            same(list(table.items()), sorted(plain.items()), "items")
            same(list(table.irange(50, 99)), sorted(k for k in plain if 50 <= k <= 99), "irange")
    same(table.popitem(), (max(plain), plain.pop(max(plain))), "popitem")
    same(copy(table), plain, "copy")
    same(table.keys() & set(range(9)), {k for k in plain if k < 9}, "keys &")
    same(list(SortedDict(neg, {1: "a", 2: "b"})), [2, 1], "a key function")
    same(list(SortedDict.fromkeys([3, 1], 0)), [1, 3], "fromkeys")
    raises(KeyError, table.__delitem__, -1)


def check_set(rng):
    ours, plain = SortedSet(), set()
    for step in range(1000):
        value = rng.randrange(200)
        if rng.random() < 0.6:
            ours.add(value)
            plain.add(value)
        else:
            ours.discard(value)
            plain.discard(value)
        if step % 50 == 0:
            other = {rng.randrange(200) for _ in range(30)}
            ours._check()
            same(list(ours), sorted(plain), "the set")
            same(list(ours | other), sorted(plain | other), "|")
            same(list(ours & other), sorted(plain & other), "&")
            same(list(ours - other), sorted(plain - other), "-")
            same(list(ours ^ other), sorted(plain ^ other), "^")
            same(ours.issuperset(other), plain.issuperset(other), "issuperset")
    ours |= {500, 501}
    ours -= {500}
    same(list(ours)[-1], 501, "|=, -=")
    same(deepcopy(ours), ours, "deepcopy")
    same(ours[0], min(plain), "[0]")
    raises(KeyError, ours.remove, -1)


def main():
    for seed in range(3):
        rng = random.Random(seed)
        for load in (4, 17, 1000):
            check_list(rng, load)
            check_key_list(rng, load)
        check_dict(rng)
        check_set(rng)
    print("ok")


if __name__ == "__main__":
    main()
