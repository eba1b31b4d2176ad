from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from selfimprove.contracts.base import FAMILIES
from selfimprove.review.families import (
    Assignment,
    FamilyFacts,
    FamilyRecord,
    assign,
    narrowed_families,
    ranked_families,
    streaking,
)

PLANNERS = [f"planner_{chr(97 + k)}" for k in range(26)]
FAMILY = st.sampled_from([*FAMILIES, "custom"])


@st.composite
def facts(draw: st.DrawFn) -> FamilyFacts:
    return FamilyFacts(
        round=draw(st.integers(1, 60)),
        taxonomy=tuple(draw(st.lists(FAMILY, min_size=1, unique=True))),
        recent_winners=tuple(draw(st.lists(st.none() | FAMILY, max_size=5))),
        streak_limit=draw(st.integers(2, 4)),
        documentation=draw(st.booleans()),
        records=draw(
            st.dictionaries(
                FAMILY,
                st.builds(FamilyRecord, tries=st.integers(5, 50), wins=st.integers(0, 5)),
            )
        ),
        suggested=draw(st.dictionaries(FAMILY, st.floats(0, 1))),
        avoid=frozenset(draw(st.lists(FAMILY))),
        files=tuple(f"src/{k}.py" for k in range(draw(st.integers(0, 6)))),
    )


@given(facts(), st.integers(1, 26))
def test_no_two_planners_get_the_same_work(given_facts: FamilyFacts, count: int) -> None:
    dealt = assign(PLANNERS[:count], given_facts)
    assert dealt == assign(PLANNERS[:count], given_facts)
    assert list(dealt) == [p for p in PLANNERS[:count] if p in dealt]
    assert dealt
    work = [
        (family, file)
        for assignment in dealt.values()
        for family in assignment.families
        for file in (assignment.files or ("*",))
    ]
    assert len(work) == len(set(work))
    whole = {family for family, file in work if file == "*"}
    assert not whole & narrowed_families(dealt)
    for assignment in dealt.values():
        assert set(assignment.families) <= set(given_facts.taxonomy)
        assert assignment.families


@given(facts())
def test_a_pausing_family_is_never_dealt_where_another_is_left(given_facts: FamilyFacts) -> None:
    pausing = streaking(given_facts.recent_winners, given_facts.streak_limit)
    ranked = ranked_families(given_facts)
    assert ranked
    assert pausing not in ranked or given_facts.taxonomy == (pausing,)


def test_every_planner_has_something_to_do_while_there_is_something() -> None:
    known = FamilyFacts(round=1, taxonomy=("data", "optimization"), files=("a", "b", "c"))
    dealt = assign(PLANNERS[:5], known)
    assert len(dealt) == 5
    assert len(assign(PLANNERS[:9], known)) == 6
    files = [dealt[p].files for p in dealt if dealt[p].families == ("data",)]
    assert sorted(f for own in files for f in own) == ["a", "b", "c"]


def test_documentation_is_dealt_only_where_it_is_in_scope() -> None:
    assert "documentation" not in ranked_families(FamilyFacts(round=1))
    assert "documentation" in ranked_families(FamilyFacts(round=1, documentation=True))


def test_a_family_that_wins_comes_first_and_a_neglected_one_gets_its_turn() -> None:
    records = {"data": FamilyRecord(4, 4), "architecture": FamilyRecord(4, 0)}
    ranked = ranked_families(FamilyFacts(round=2, records=records))
    assert ranked.index("data") < ranked.index("architecture")
    worn = {family: FamilyRecord(40, 4) for family in FAMILIES} | {"data": FamilyRecord(2, 0)}
    assert ranked_families(FamilyFacts(round=9, records=worn))[0] == "data"


def test_ideas_bring_their_family_forward_and_a_refinement_takes_one_out() -> None:
    ranked = ranked_families(FamilyFacts(round=1, suggested=dict.fromkeys(["infrastructure"], 1.0)))
    assert ranked[0] == "infrastructure"
    advised = FamilyFacts(round=1, avoid=frozenset({"infrastructure"}))
    assert "infrastructure" not in ranked_families(advised)
    assert ranked_families(FamilyFacts(round=1, avoid=frozenset(FAMILIES)))


def test_the_best_family_goes_round_among_the_planners() -> None:
    first = {
        planner
        for number in range(1, 4)
        for planner, given_ in assign(PLANNERS[:3], FamilyFacts(round=number)).items()
        if given_.families[0] == ranked_families(FamilyFacts(round=number))[0]
    }
    assert first == set(PLANNERS[:3])


def test_no_planners_no_assignment() -> None:
    assert assign([], FamilyFacts(round=1)) == {}
    assert assign(["planner_a"], FamilyFacts(round=1, taxonomy=("data",))) == {
        "planner_a": Assignment(("data",))
    }
