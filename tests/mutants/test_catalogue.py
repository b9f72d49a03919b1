"""The mutants are edits of the library as it is, and name tests that there are."""

import ast
from pathlib import Path

import pytest

from tests.mutants.catalogue import MUTANTS
from tests.mutants.run import killed_in_words, source_of

TESTS = Path(__file__).parents[1]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.breaks)
def test_a_mutant_changes_one_place_and_leaves_valid_code(mutant):
    text = source_of(mutant).read_text()
    assert text.count(mutant.old) == 1
    assert mutant.new != mutant.old
    ast.parse(text.replace(mutant.old, mutant.new))


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.breaks)
def test_the_tests_of_a_mutant_are_there(mutant):
    assert mutant.tests
    for test in mutant.tests:
        path, _, function = test.partition("::")
        text = (TESTS / path).read_text()
        assert not function or f"def {function.partition('[')[0]}(" in text


def test_there_are_sixty_mutants_or_more_and_no_two_alike():
    assert len(MUTANTS) >= 60
    assert len({mutant.breaks for mutant in MUTANTS}) == len(MUTANTS)
    assert len({(m.file, m.old, m.new) for m in MUTANTS}) == len(MUTANTS)


def test_only_a_failing_test_kills():
    """What pytest ends with when nothing could be run, 2 to 5, is no proof of anything."""
    assert [killed_in_words(code) for code in (0, 1, 2, 5, None)] == [
        "survived",
        "killed",
        "not run: pytest ended with 2",
        "not run: pytest ended with 5",
        "not run: it took too long",
    ]
