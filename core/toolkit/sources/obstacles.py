"""Recognises pages that only say why their text is not there, and says what can be tried instead."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

from ua_tui.core.toolkit.articles import count_words

_OTHER = "use a web reader if there is one, or choose another source"
REASONS = {
    "bot_check": f"the site only lets in browsers that pass a check; {_OTHER}",
    "consent": f"the site asks for consent to cookies instead of showing the page; {_OTHER}",
    "login": "the page needs a login; choose another source",
    "paywall": "the text is only for subscribers; choose another source",
    "javascript": f"the page writes its text with JavaScript, which is not run; {_OTHER}, such as its feed or its API",
    "empty": "no readable text was found on the page, which is empty; check the address or choose another source",
}
"""Why a page has no text, as a word for programs and as a sentence with what can be tried."""

# Longer pages are articles, whatever they mention.
_MOST_WORDS = 60
_BOT_TITLES = re.compile(
    r"^\W*(?:just a moment|attention required|access denied|are you a robot|robot check|bot verification|"
    r"human verification|security check(?:point)?|vercel security checkpoint|pardon our interruption|"
    r"client challenge|ddos-guard|verify(?:ing)? (?:that )?you are (?:a )?human|"
    r"please verify you are (?:a )?human|making sure you'?re not a bot)\b",
    re.IGNORECASE,
)
_BOT_MARKS = re.compile(
    r"_cf_chl_opt|/cdn-cgi/challenge-platform/[^\"']{0,40}orchestrate|captcha-delivery\.com|px-captcha|_incapsula_resource|"
    r"awswafcaptcha|awswafintegration|sec-if-cpt-container|/\.within\.website/|sgcaptcha|ddos-guard",
    re.IGNORECASE,
)
# Forms of other pages have them, too.
_CAPTCHAS = re.compile(
    r"hcaptcha\.com/1/api|recaptcha/(?:api|enterprise)\.js|challenges\.cloudflare\.com/turnstile",
    re.IGNORECASE,
)
_ARE_YOU_HUMAN = re.compile(
    r"(?:solve|complete|enter|pass) .{0,20}captcha|\brobot\b|\bnot a bot\b|\b(?:you are|you're) (?:a )?human\b|"
    r"unusual traffic|automated (?:requests|queries|traffic|access)",
    re.IGNORECASE,
)
_CONSENT_HOSTS = ("consent.", "guce.", "cmp.", "myprivacy.", "privacywall.")
_CONSENT = re.compile(
    r"before you continue|we value your privacy|(?:accept|reject) all|accept (?:all )?cookies|consent to cookies|"
    r"alle (?:akzeptieren|ablehnen)|tout (?:accepter|refuser)|aceptar todo|accetta tutto",
    re.IGNORECASE,
)
_LOGIN = re.compile(
    r"\b(?:log ?in|sign ?in|log on|anmelden|einloggen|connexion|se connecter|iniciar sesi[oó]n|accedi)\b|"
    r"ログイン|登录|登入",
    re.IGNORECASE,
)
_PAYWALL = re.compile(
    r"isAccessibleForFree[\"']?\s*:\s*[\"']?false|\b(?:class|id)\s*=\s*[\"'][^\"'<>]{0,80}paywall",
    re.IGNORECASE,
)
_SUBSCRIBE = re.compile(r"\b(?:subscri|abonn|suscri|premium|members? only)", re.IGNORECASE)
_NEEDS_SCRIPTS = re.compile(
    r"\b(?:enable|requires?|needs?|activate|turn on|without|aktivieren|activer)\b.{0,60}javascript|"
    r"javascript.{0,60}\b(?:enable|required?|disabled|activ|aktiv|turned off|needed)",
    re.IGNORECASE | re.DOTALL,
)
_LONGEST = 400_000


def obstacle(tree: Any, html: str, text: str, url: str) -> str | None:
    """Return the key of `REASONS` for a page whose readable text is `text`; None if it may be all there is to read."""
    words = count_words(text)
    if words > 200:
        return None
    head = html[:_LONGEST]
    title = " ".join(" ".join(tree.xpath("//title//text()"))[:500].split())
    if _is_bot_check(title, head, text, words):
        return "bot_check"
    if words > _MOST_WORDS:
        return None
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        host = ""
    if host.startswith(_CONSENT_HOSTS) or (_CONSENT.search(title) is not None):
        return "consent"
    has_password = bool(tree.xpath("//input[translate(@type, 'PASWORD', 'pasword') = 'password']"))
    if has_password and _LOGIN.search(title):
        return "login"
    # A text with a login or a banner beside it, and the beginning of an article before its paywall, are longer.
    if words > 30:
        return None
    if has_password and (not words or _LOGIN.search(text)):
        return "login"
    if _PAYWALL.search(head) and (not words or _SUBSCRIBE.search(text)):
        return "paywall"
    if text and _CONSENT.search(text) and "cookie" in text.lower():
        return "consent"
    if _NEEDS_SCRIPTS.search(text):
        return "javascript"
    if words:
        return None
    if _LOGIN.search(title):
        return "login"
    is_script_page = (
        bool(tree.xpath("//script")) or "javascript" in " ".join(tree.xpath("//noscript//text()")).lower()
    )
    return "javascript" if is_script_page else "empty"


def _is_bot_check(title: str, head: str, text: str, words: int) -> bool:
    is_named, is_marked = _BOT_TITLES.match(title) is not None, _BOT_MARKS.search(head) is not None
    if is_named and (is_marked or words <= _MOST_WORDS):
        return True
    asks = words <= _MOST_WORDS and _ARE_YOU_HUMAN.search(f"{title} {text}") is not None
    return (is_marked and words <= 10) or (asks and _CAPTCHAS.search(head) is not None)
