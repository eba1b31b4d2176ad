"""Tables of words, written as words."""


def words(text: str) -> frozenset[str]:
    """Give the words of a text, as a set."""
    return frozenset(text.split())
