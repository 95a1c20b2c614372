"""The words that say what a figure is of, compared without their endings and weighted by their rarity."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

AROUND = 220
"""Characters before and after a figure that are its surroundings: about 30 words."""

_STEM = 5
_WORD = re.compile(r"[^\W\d_]{3,40}|[A-Z]{2}|[぀-ヿ㐀-䶿一-鿿가-힣]{2}")
_STOP_WORDS = """
    about above according accordingly after again against all almost already also although among and another any
    approximately are around because been before being below between both but came can could did does down during each
    either even ever every few first for from had has have having her here his how however including into its itself
    just last least less like made make many may might more most much must near nearly new not now off often one only
    other our out over own per percent percentage reached roughly said same second see several she should since some
    still such than that the their them then there these they third this those three through thus time times too two
    under until upon use used very was were what when where which while who whose will with within without would year
    years you your million millions billion billions thousand thousands trillion hundred hundreds figure figures number
    numbers total value amount january february march april may june july august september october november december
    monday tuesday wednesday thursday friday saturday sunday week weeks month months day days half quarter today
    twelve eleven ten nine eight seven six five four twice none
    aber alle allem allen aller als also andere auch auf aus bei beim bereits bis damit dann das dass davon dem den denn
    der des deren dessen die dies diese dieser dieses doch dort drei durch ein eine einem einen einer eines etwa fast
    für gegen gegenüber hat hatte haben hier ihr ihre ihren immer insgesamt ist jahr jahre jahren jahres jetzt kann
    kein knapp laut mal mehr mit mio mrd million millionen milliarde milliarden nach nicht noch nur oder pro prozent
    rund sehr seien sein seine seit sich sie sind sowie tausend über und uns unter vom von vor war waren weil wenn
    werden wie wieder wird wurde wurden zum zur zuvor zwei zwischen januar februar märz mai juni juli oktober dezember
    ainsi ans année années aussi autre autres aux avait avec avoir cela ces cette chez comme contre dans deux depuis
    des dont elle elles encore entre est été être fait fois font ils jusque leur leurs lors mais même moins mille
    milliard milliards millions mois notre nous ont par pas pendant peu plus pour pourcent presque puis quand que quel
    qui sans selon ses soit son sont sous sur tous tout toute toutes très trois une vers vous janvier février mars
    avril juin juillet août septembre octobre novembre décembre
    alrededor ante antes año años aproximadamente aquel así aún aunque cada casi ciento como con contra cual cuando
    del desde donde dos durante ella ellos entre era eran ese eso esta estaba estas este esto estos fue fueron había
    han hasta hay las los más mayor menos mes meses mientras mil millón millones mismo muy nos otra otras otro otros
    para pero poco por porque puede que quien sea según ser sido sin sobre solo son sus tal también tan tanto tiene
    tienen toda todas todo todos tras tres una unas uno unos veces enero febrero marzo abril mayo junio julio agosto
    septiembre octubre noviembre diciembre
    http https www com org html
"""
_STOP = frozenset(_STOP_WORDS.split())


@lru_cache(maxsize=65_536)
def _stem(word: str) -> str:
    """The beginning of a word without case and accents, which is the same for its forms; "" if it says nothing."""
    folded = word.casefold()
    if folded in _STOP:
        return ""
    if not folded.isascii():
        folded = "".join(
            part for part in unicodedata.normalize("NFKD", folded) if not unicodedata.combining(part)
        )
    return folded[:_STEM] if len(folded) > _STEM else folded.removesuffix("s")


def stems(text: str) -> frozenset[str]:
    """The stems of the words of a text that say what it is about."""
    return frozenset(filter(None, map(_stem, _WORD.findall(text))))


def stems_around(text: str, start: int, end: int, around: int = AROUND) -> frozenset[str]:
    """The stems of the words around a range of a text."""
    first, last = max(start - around, 0), min(end + around, len(text))
    if first and not text[first - 1].isspace():
        first = next((at for at in range(first, min(first + 40, start)) if text[at].isspace()), first)
    if last < len(text) and not text[last].isspace():
        last = next((at for at in range(last, max(last - 40, end), -1) if text[at].isspace()), last)
    return stems(f"{text[first:start]} {text[end:last]}")


class Weights:
    """How much each word says: the rarer in the report's sentences, the more."""

    def __init__(self, sentences: Iterable[frozenset[str]]) -> None:
        self._counts: Counter[str] = Counter()
        self._sentences = 0
        self._weights: dict[str, float] = {}
        for words in sentences:
            self._counts.update(words)
            self._sentences += 1

    def of(self, words: Iterable[str]) -> float:
        """The sum of the weights of some words."""
        return sum(map(self._of, words))

    def _of(self, word: str) -> float:
        if (weight := self._weights.get(word)) is None:
            weight = math.log(1 + (self._sentences + 1) / (self._counts[word] + 0.5))
            self._weights[word] = weight
        return weight
