from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from observers.evidence.reading.sentences import split_sentences
from observers.evidence.report import Link


def _split(text: str, *marks: str) -> list[str]:
    links = [Link(text.index(mark), text.index(mark) + len(mark), "https://a.de") for mark in marks]
    return [text[start:end] for start, end in split_sentences(text, links)]


@pytest.mark.parametrize(
    "text",
    [
        "Dr. J. R. Smith of Acme Inc. and Prof. Lee met at 3.5 p.m. in the U.S. capital.",
        "It rose, e.g. in No. 5, by approx. 3.5 percent vs. 2.1 million (Fig. 2) in Jan. 2024.",
        "See www.a.de/b.html and v1.2.3 ... or not.",
        "“Is it so?” he asked.",
        "Das Werk startete am 12. März 2023 im 3. Quartal, z. B. mit ca. 1.234,5 Tonnen bzw. Nr. 5.",
        "Dies gilt u. a. für die 19. Auflage, d. h. für Hrn. Dr. Meier.",
        "Selon M. Dupont et Mme. Martin, env. 5 millions p. ex. en 2024.",
        "Según el Sr. López, aprox. 1.500 personas de EE.UU. viven allí, p. ej. en la pág. 5.",
        "Yahoo! shares rose.",
    ],
)
def test_one_sentence(text: str) -> None:
    assert _split(text) == [text]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("It rose 5 percent.", "The rest fell."), ("It costs $3.5.", "In 2024 it cost more."),
        ("It was 2020.", "It was 12 percent."), ("He works at Acme Inc.", "The company grew."),
        ("It is made in the U.S.", "In Europe it is not."), ("“It works.”", "She left."),
        ("It works (mostly).", "(Nobody knows why.)"), ("Does it work?", "Yes!"),
        ("She waited…", "Then it rang."), ("The answer is no.", "Nobody asked."),
        ("Es stieg auf 12.", "Der Rest fiel."), ("Er sagte: „Ja.“", "Dann ging er."),
        ("Il a dit : « Oui. »", "Elle est partie."), ("Costó 5 euros.", "¿Y ahora?"),
        ("El precio subió.", "«Es caro», dijo."), ("二〇二四年。", "次の文。"),
        ("It sold 40,000.", "12 were returned."),
    ],
)  # fmt: skip
def test_two_sentences(first: str, second: str) -> None:
    assert _split(f"{first} {second}") == [first, second]


@pytest.mark.parametrize(
    ("text", "marks", "expected"),
    [
        ("Up 5.[1] Next it fell.", ["[1]"], ["Up 5.[1]", "Next it fell."]),
        ("Up 5. [1] Next it fell.", ["[1]"], ["Up 5. [1]", "Next it fell."]),
        ("Up 5.[1][2], [3] Next.", ["[1]", "[2]", "[3]"], ["Up 5.[1][2], [3]", "Next."]),
        ("Up 5.¹ Next it fell.", ["¹"], ["Up 5.¹", "Next it fell."]),
        ("Up 5. (The Times) Next.", ["The Times"], ["Up 5. (The Times)", "Next."]),
        (
            "Up 5. Source More. b.example.de",
            ["Source", "b.example.de"],
            ["Up 5. Source", "More. b.example.de"],
        ),
        ("Up 5. The Times says more.", ["The Times"], ["Up 5.", "The Times says more."]),
    ],
)
def test_marks_after_the_stop_belong_to_the_sentence(
    text: str, marks: list[str], expected: list[str]
) -> None:
    assert _split(text, *marks) == expected


@given(st.text(st.sampled_from('aA1 .!?…"“”»«()[]\u00a0\n¿Dr'), max_size=60))
def test_sentences_have_every_character_but_spaces(text: str) -> None:
    spans = list(split_sentences(text))
    assert "".join("".join(text[start:end] for start, end in spans).split()) == "".join(text.split())
    assert all(start < end for start, end in spans)
    assert all(first[1] <= second[0] for first, second in pairwise(spans))


def test_what_is_too_long_for_a_sentence_is_in_pieces() -> None:
    for text in ("The plant has 41 of them and " * 500, "1" * 9_000):
        spans = list(split_sentences(text))
        assert max(end - start for start, end in spans) <= 2_000
        assert "".join("".join(text[start:end] for start, end in spans).split()) == "".join(text.split())
