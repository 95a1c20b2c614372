"""The words of four languages around figures: what they mean for the figure, and which of them say nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ua_tui.observers.evidence.tracing.words import stems

_FLAGS = re.IGNORECASE
_CURRENCY = r"(?:[\s$€£~]|US){0,6}"
_ABOUT = (
    r"(?:\s+(?:about|around|some|roughly|nearly|almost|just|only|over|more than|the|a|an|etwa|rund|knapp|fast|gut|nur"
    r"|environ|près de|quelque|unos|unas|cerca de|casi|los|las|alrededor de)){0,2}"
)


def _before(words: str) -> re.Pattern[str]:
    """A pattern of words directly before a figure."""
    return re.compile(rf"\b(?:{words}){_ABOUT}{_CURRENCY}$", _FLAGS)


AND = frozenset({"and", "und", "et", "y", "e", "or", "oder", "ou", "o", "u", "sowie", "as", "plus"})
"""Words that separate what a figure is of from the next thing."""

APART = re.compile(
    r"[,;:](?=\s)|\s[–—-]\s|[()\[\]]"
    r"|\s(?:while|whereas|but|although|though|because|which|während|aber|wobei|obwohl|weil|tandis que|mais|alors que"
    r"|mientras|pero|aunque|porque)\s",
    _FLAGS,
)
"""What ends a clause."""

EARLIER = _before(
    r"from|compared (?:with|to)|versus|vs\.?|against|than the|previously|formerly|earlier|instead of|unlike"
    r"|vom|gegenüber"
    r"|verglichen mit|zuvor|vorher|statt|im vergleich zu|contre|par rapport à|auparavant|au lieu de|depuis|desde"
    r"|frente a|comparado con|en comparación con|anteriormente|en lugar de"
)
"""Before a figure that is compared with, such as that of the year before."""

LEVEL = _before(r"to|at|auf|bei|à|a|hasta|atteint|reached|hit|alcanzó")
"""Before a figure that says how much something is after a change."""

_UP = (
    r"ris(?:e|es|en|ing)|rose|gr[eo]w\w{0,4}|increas\w{0,3}|climb\w{0,3}|jump\w{0,3}|surg(?:e|ed|es|ing)|gain\w{0,3}"
    r"|up(?! to)|higher|expand\w{0,3}|stieg\w{0,2}|steig\w{0,3}|gestieg\w{0,2}|anstieg|wuchs\w{0,2}|wächst"
    r"|gewachs\w{0,2}"
    r"|wachstum\w{0,1}|zunahme|nahm zu|zugenommen|zugelegt|erhöh\w{0,4}|kletter\w{0,3}|mehr als im|augment\w{0,6}"
    r"|progress\w{0,4}|hausse|croiss\w{0,5}|grimp\w{0,4}|subi[óod]\w{0,2}|aument\w{0,4}|creci\w{0,7}|crece"
    r"|increment\w{0,3}"
    r"|alza"
)
_DOWN = (
    r"f[ae]ll\w{0,3}|drop\w{0,4}|declin\w{0,3}|decreas\w{0,3}|shr[aiu]nk\w{0,3}|slump\w{0,3}|plung\w{0,3}|lost|lower"
    r"|down|reduc\w{0,4}|sank\w{0,2}|sink\w{0,3}|gesunken|fiel\w{0,2}|gefallen|rückgang|verlor\w{0,2}|schrumpf\w{0,3}"
    r"|gesenkt|senkte\w{0,1}|baiss\w{0,4}|recul\w{0,4}|chut\w{0,3}|diminu\w{0,5}|cay[óe]\w{0,4}|caíd[ao]"
    r"|baj[óao]\w{0,3}"
    r"|descen\w{0,5}|disminu\w{0,5}|reduj\w{0,3}"
)
UP = re.compile(rf"\b(?:{_UP})\b", _FLAGS)
"""Words for an increase."""
DOWN = re.compile(rf"\b(?:{_DOWN})\b", _FLAGS)
"""Words for a decrease."""
CHANGE_AFTER = re.compile(
    r"[\s-]{1,2}(?:(?:year-on-year|annual|yearly|sharp|further|mehr|weniger|de|en|höher\w{0,2}"
    r"|niedriger\w{0,2})\s){0,2}"
    rf"(?:(?P<up>{_UP}|mehr|plus|más)|(?P<down>{_DOWN}|less|fewer|weniger|moins|menos))\b",
    _FLAGS,
)
"""Words for a change directly after a figure."""

LEAST = _before(
    r"more than|over|above|at least|exceed\w{0,3}|upwards of|surpass\w{0,3}|mehr als|über|mindestens|plus de|au moins"
    r"|dépass\w{0,5}|más de|al menos|super(?:a|ó)|>|≥"
)
"""Before a lower bound."""
MOST = _before(
    r"less than|fewer than|under|below|up to|at most|as much as|as many as|a maximum of|weniger als|unter|bis zu"
    r"|höchstens|maximal|moins de|jusqu'à|jusqu’à|au plus|menos de|hasta|como máximo|<|≤"
)
"""Before an upper bound."""
NEARLY = _before(r"nearly|almost|close to|just under|knapp|fast|beinahe|nahezu|près de|presque|casi|cerca de")
"""Before a value that is a little lower."""

NO_QUANTITY = re.compile(
    r"\b(?:version|v|release|build|model|modell|modèle|modelo|no|nr|number|nummer|numéro|número|chapter|kapitel|section"
    r"|abschnitt|page|seite|rank(?:s|ed|ing)?|place[ds]?|position|platz|rang|puesto|lugar|top|level|stufe|phase|step"
    r"|grade|class|klasse|address|adresse|dirección|tel|phone|fax|isbn|vol|line|route|highway|room|figure|table|abbildung|tabelle|age[ds]?|alter)"
    r"[\s.:#(]{1,3}(?:number |nummer |no\. )?$",
    _FLAGS,
)
"""Before a number that counts nothing: of a version, a rank, a page."""
NO_QUANTITY_AFTER = re.compile(
    r"[\s-]{1,2}(?:ago|earlier|later|after|before|from now|old|on|vor|später|danach|alt|plus tard|auparavant"
    r"|avant|après"
    r"|después|antes|más tarde|of age|d'âge)\b",
    _FLAGS,
)
"""After a span of time that says when something was, and not how long it took."""
COUNTER = re.compile(
    r"[ ](?:posts?|comments?|repl(?:y|ies)|views?|likes?|reads?|min(?:ute)?s? read|results?|items?|beiträge|kommentare?"
    r"|aufrufe|commentaires?|vues?|comentarios?|visitas)\b",
    _FLAGS,
)
"""After the counter of a web page."""

LABELS: Mapping[str, re.Pattern[str]] = {
    name: re.compile(rf"\b(?:{words})\b", _FLAGS)
    for name, words in {
        "forecast": r"will|would|could|(?-i:may)|might|should|expect\w{0,6}|forecast\w{0,3}|project(?:s|ed|ions?)"
        r"|predict\w{0,4}"
        r"|plans?|planned|aim(?:s|ed|ing)?|target\w{0,3}|guidance|outlook|goals?|set to|anticipat\w{0,3}|wird"
        r"|soll\w{0,3}"
        r"|dürfte\w{0,1}|prognos\w{0,8}|erwart\w{0,4}|rechne[nt]|plan(?:en|te|ten)|ziel\w{0,2}|könnte\w{0,1}"
        r"|prévo\w{0,5}"
        r"|prévu\w{0,2}|prévis\w{0,4}|devrai\w{0,3}|ser(?:a|ont)|attend\w{0,3}|vise\w{0,2}|objectif"
        r"|pourrai\w{0,3}|prevé\w{0,1}"
        r"|prevista?o?s?|previsi\w{0,4}|espera\w{0,1}|será\w{0,1}|proyec\w{0,7}|pronóstic\w{0,2}|pronostic\w{0,2}"
        r"|objetivo"
        r"|podría\w{0,1}|debería\w{0,1}",
        "quarter": r"quarter(?:ly|s)?|quartal\w{0,3}|trimest\w{0,5}|Q[1-4]|[1-4]Q",
        "half": r"half[- ]year|(?:first|second) half|halbjahr\w{0,2}|semestr\w{0,3}|semestral|H[12]",
        "month": r"months?|monthly|monat\w{0,4}|mois|mensuel\w{0,4}|mes|meses|mensual\w{0,2}",
        "week": r"weeks?|weekly|wochen?|wöchentlich\w{0,2}|semaines?|hebdomadaires?|semanas?|semanal\w{0,2}",
        "day": r"days?|daily|tage?n?|täglich\w{0,2}|jours?|journali\w{0,5}|días?|diari[oa]s?",
        "a year": r"(?:per|a|each|every) year|yearly|annually|per annum|pro jahr|jährlich\w{0,2}|im jahr(?! \d)|par an"
        r"|annuel\w{0,4}|(?:al|por) año|anual\w{0,5}",
        "other year": r"(?:last|previous|prior|past|next|following) (?:year|quarter|month|week)s?|vorjahr\w{0,3}"
        r"|(?:vergangene|letzte|nächste|vorige)[nsrm]? \w{2,12}|(?:année|an|mois|trimestre) (?:derni\w{1,3}"
        r"|précédente?|prochaine?)"
        r"|(?:año|mes|trimestre) (?:pasado|anterior|próximo)",
        "fiscal": r"fiscal|geschäftsjahr\w{0,3}|exercice|ejercicio",
        "nine months": r"(?:nine|six|three|9|6|3)[- ]months?|(?:neun|sechs|drei) monate\w{0,1}|(?:neuf|six) mois"
        r"|(?:nueve|seis) meses",
        "each": r"per|each|every|pro|je|apiece|chaque|cada|jeweils",
        "average": r"average\w{0,1}|mean|median|durchschnitt\w{0,6}|moyen\w{0,3}|médian\w{0,2}|promedio|medi[ao]"
        r"|mediana",
        "not": r"not|no|never|without|nicht|kein\w{0,2}|ohne|pas|jamais|sans|nunca|sin",
        "abroad": r"domestic\w{0,4}|abroad|overseas|foreign|global\w{0,2}|worldwide|weltweit\w{0,2}|inland"
        r"|ausland|mondial\w{0,4}"
        r"|mundial\w{0,4}",
    }.items()
}
"""What limits or changes the meaning of a figure: statements about the same thing have the same of them."""

_WORD = r"[A-ZÀ-Þ][\w&.’'-]{0,30}"
_NAMES = rf"{_WORD}(?:[ ]{_WORD}){{0,3}}"
_NAME = rf"(?<!\w){_NAMES}"
ATTRIBUTION = re.compile(
    rf"(?i:\b(?:according to|(?:data|figures|numbers|estimates|statistics|analysts|a report|a study) (?:from"
    rf"|by|of|at)|laut"
    rf"|nach angaben (?:von|der|des)|selon|d['’]après|según)(?: the| der| dem| la| le| el| l['’])?)[ ]?{_NAMES}"
    rf"|{_NAME}[ ](?i:zufolge|estimates?d?|(?:data|figures)(?: shows?| showed)?)\b"
    rf"|,[ ](?i:the )?{_NAME}[ ](?i:said|says|reported|sagte|teilte)\b"
    rf"|,[ ](?i:said|says|so|sagte|a déclaré|dijo|señaló)[ ](?i:the )?{_NAME}"
)
"""Who says a figure, which does not belong to what the figure is of."""


def _stems_of(words: str) -> frozenset[str]:
    return stems(words)


NEUTRAL = _stems_of(
    """
    reached rose rise risen rising grew grow grown growing growth climbed jumped surged fell fall fallen falling dropped
    declined decline decreased increase increased gained lost lower higher totaled totalled amounted stood came went
    posted reported recorded generated achieved saw record booked hit added shrank slumped plunged expanded estimated
    expected forecast forecasts projected predicted planned target set currently already overall compared worth show
    shows showed data according announced thanks late early late mid end start roughly approximately exactly strong
    strongly sharply slightly significantly
    stieg gestiegen steigen steigt anstieg wuchs gewachsen wachsen wachstum sank gesunken sinken fiel gefallen fallen
    rückgang betrug beträgt betragen erreichte erreicht erzielte erzielt erzielen lag liegt legte zugelegt kletterte
    verzeichnete verzeichnet meldete gemeldet belief beläuft wies gab ergab erwartet prognose soll sollen laut derzeit
    mitteilte ende anfang mitte bezifferte
    atteint atteignait atteindre augmenté augmente augmentation baissé baisse progressé progression reculé recul élève
    élevé élevait établi établit enregistré réalisé représente représentait hausse affiché publié déclaré prévu attendu
    fin début
    alcanzó alcanzado alcanza subió aumentó aumento creció crecimiento cayó bajó registró situó ascendió logró obtuvo
    reportó llegó sumó totalizó previsto esperado estimado finales principios
    dollar dollars euro euros pound pounds franken francs yen yuan
    fiscal geschäftsjahr exercice ejercicio quarterly quartal trimestre annual annually yearly monthly weekly daily
    """
)
"""Stems that do not say what a figure is of: verbs that only lead to it, and what `LABELS` compares."""

GENERIC = _stems_of(
    """
    company companies firm firms group maker market markets sales sale revenue revenues profit profits income earnings
    turnover quarter country countries government people customers users employees staff price prices cost costs share
    shares rate industry world global president chief executive officer minister report study analysts billion units
    unternehmen konzern firma gruppe markt umsatz umsätze gewinn gewinne ergebnis absatz quartal land länder regierung
    menschen kunden nutzer mitarbeiter beschäftigte preis preise kosten anteil rate branche welt aktie
    vorjahr hersteller
    entreprise société groupe marché chiffre affaires ventes bénéfice résultat pays gouvernement personnes clients
    utilisateurs salariés prix coûts part taux secteur monde
    empresa compañía grupo mercado ventas ingresos beneficio beneficios ganancias país países gobierno personas clientes
    usuarios empleados precio precios costes tasa sector mundo
    """
)
"""Stems that many sentences have about different things: they name nothing."""
