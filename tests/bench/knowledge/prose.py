"""Seeded texts with the word frequencies of English: few words are common, most are rare, and each topic has its own.

The common words are English; the others are built from syllables, with English endings, so that stemming has work.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import accumulate

VOCABULARY = 40_000
TOPIC_WORDS = 150
TOPIC_SHARE, OWN_SHARE = 0.12, 0.3
"""The parts of a text's words that come from its topic, and from the few rare words that this text repeats."""
ZIPF = 1.1
SHIFT = 2.7
ENDINGS = ("", "", "", "s", "s", "ed", "ing", "er", "ly", "ation", "al", "ment")
ONSETS = "b bl br c ch cl cr d dr f fl fr g gl gr h j k l m n p pl pr r s sc sh sl sp st str t th tr v w"
VOWELS = "a a e e i i o o u ai ea ee ou"
CODAS = "b ck d g l m n n nd ng nt p r r rn s st t th x"
COMMON = """
the of and to in a is that for it as was with be by on not he his but at are this have from or had an they which
one you were her all she there would their we him been has when who will more no if out so said what up its
about into than them can only other new some could time these two may then do first any my now such like our
over man me even most made after also did many before must through years where much your way well down should
because each just those people how too little state good very make world still own see men work long get here
between both life being under never day same another know while last might us great old year off come since
against go came right used take three states himself few house use during without again place around however
home small found part once general high upon school every company price market report week number cost share
growth supply demand plan power system study result data government official agency research public service
international policy industry product customer energy water road
"""
PER_SENTENCE = (8, 26)
SENTENCES = (3, 6)
"""Sentences of a paragraph."""


class Prose:
    """Writes texts on numbered topics; the same seed gives the same texts."""

    def __init__(self, seed: int, topics: int) -> None:
        self._random = random.Random(seed)
        words = dict.fromkeys(COMMON.split())
        while len(words) < VOCABULARY:
            words[invent_word(self._random) + self._random.choice(ENDINGS)] = None
        self.words = list(words)
        self._weights = list(accumulate(1 / (rank + SHIFT) ** ZIPF for rank in range(VOCABULARY)))
        # The words of topics are not among the most common ones.
        self.topics = [self._random.sample(self.words[300:], TOPIC_WORDS) for _ in range(topics)]
        self._topic_weights = list(accumulate(1 / (rank + SHIFT) for rank in range(TOPIC_WORDS)))

    def sentences(self, topic: int, words: int) -> list[str]:
        """Sentences with about this many words in all."""
        draw = self._random
        of_topic, own = int(words * TOPIC_SHARE), int(words * OWN_SHARE)
        bag = draw.choices(self.words, cum_weights=self._weights, k=words - of_topic - own)
        repeated = draw.choices(self.topics[topic], cum_weights=self._topic_weights, k=10)
        bag += draw.choices(repeated, k=of_topic)
        repeated = draw.choices(self.words, cum_weights=self._weights, k=own // 4 + 1)
        bag += draw.choices(repeated, k=own)
        draw.shuffle(bag)
        made, at = [], 0
        while at < words:
            count = draw.randint(*PER_SENTENCE)
            made.append(" ".join(bag[at : at + count]).capitalize() + ".")
            at += count
        return made

    def text(self, topic: int, words: int) -> str:
        """Paragraphs with about this many words in all."""
        return join_paragraphs(self._random, self.sentences(topic, words))

    def title(self, topic: int, words: int) -> str:
        """A title, most of it from the words of the topic."""
        picked = self._random.choices(self.topics[topic], cum_weights=self._topic_weights, k=words)
        return " ".join(picked).capitalize()


def join_paragraphs(draw: random.Random, sentences: Sequence[str]) -> str:
    """Join sentences to paragraphs, with an empty line between them."""
    paragraphs, at = [], 0
    while at < len(sentences):
        count = draw.randint(*SENTENCES)
        paragraphs.append(" ".join(sentences[at : at + count]))
        at += count
    return "\n\n".join(paragraphs)


def invent_word(draw: random.Random, syllables: tuple[int, int] = (1, 2)) -> str:
    """A word that can be pronounced and that no dictionary has."""
    return "".join(
        draw.choice(ONSETS.split())
        + draw.choice(VOWELS.split())
        + (draw.choice(CODAS.split()) if draw.random() < 0.6 else "")
        for _ in range(draw.randint(*syllables))
    )
