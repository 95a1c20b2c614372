"""Currencies: their symbols, codes and names."""

from __future__ import annotations

import re
from decimal import Decimal

from ua_tui.observers.evidence.figures.language.languages import word_set
from ua_tui.observers.evidence.figures.units import Unit

CURRENCY_SYMBOLS = {
    "$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR", "₩": "KRW", "₽": "RUB", "₺": "TRY", "₪": "ILS",
    "₴": "UAH", "₦": "NGN", "₫": "VND", "฿": "THB", "₱": "PHP", "US$": "USD", "A$": "AUD", "AU$": "AUD", "C$": "CAD",
    "CA$": "CAD", "HK$": "HKD", "NZ$": "NZD", "S$": "SGD", "R$": "BRL", "NT$": "TWD", "MX$": "MXN", "Rs": "INR",
    "Rs.": "INR", "CN¥": "CNY", "RMB": "CNY", "Fr.": "CHF", "SFr.": "CHF", "kr": "SEK", "zł": "PLN", "Kč": "CZK",
    "Ft": "HUF", "Mex$": "MXN", "Can$": "CAD",
}  # fmt: skip
CODES = word_set(
    "USD EUR GBP JPY CHF CNY INR KRW RUB TRY ILS AUD CAD HKD NZD SGD BRL TWD MXN SEK NOK DKK PLN CZK HUF "
    "ZAR SAR AED THB IDR MYR PHP VND UAH ARS CLP COP EGP NGN KES PKR BTC ETH"
)
_NAMES = {
    "USD": "dollar dollars us-dollar us-dollars us_dollars dólar dólares dollars_américains dólares_estadounidenses",
    "EUR": "euro euros",
    "GBP": "pounds pound pounds_sterling pfund livres_sterling libras_esterlinas libras quid",
    "JPY": "yen",
    "CHF": "franken swiss_francs swiss_franc francs_suisses francos_suizos",
    "CNY": "yuan renminbi yuans",
    "INR": "rupees rupee rupien roupies rupias",
    "KRW": "won",
    "RUB": "rubles rouble roubles rubel rublos",
    "TRY": "lira liras",
    "BRL": "reais",
    "AUD": "australian_dollars",
    "CAD": "canadian_dollars",
    "SEK": "kronor",
    "PLN": "zloty zlotys",
    "MXN": "pesos",
    "BTC": "bitcoin bitcoins",
}
_EXTRA = {"us_dollar": "USD", "u.s._dollars": "USD", "u.s._dollar": "USD"}
BEFORE = re.compile(
    r"(?:(?<![A-Za-z])(?:US|AU?|CA?n?|HK|NZ|S|R|NT|MX|Mex|CN)[$¥]|[$€£¥₹₩₽₺₪₴₦₫฿₱]|(?<!\w)(?:Rs\.?|S?Fr\.|RMB|kr\.?"
    rf"|{'|'.join(sorted(CODES))}))[ \u00a0]?\Z"
)
"""A currency that ends where a number begins."""


def currency(code: str, factor: str = "1") -> Unit:
    """The unit of a currency, or a part of it."""
    return Unit(code, Decimal(factor), "money")


CURRENCY_WORDS = {
    name.replace("_", " "): currency(code) for code, names in _NAMES.items() for name in names.split()
} | {name.replace("_", " "): currency(code) for name, code in _EXTRA.items()}
CURRENCY_WORDS["pound"] = CURRENCY_WORDS["pounds"]
CURRENCY_WORDS |= dict.fromkeys(("cents", "cent", "us cents"), currency("USD", "0.01"))
CURRENCY_WORDS |= dict.fromkeys(("centimes", "euro cents", "eurocent", "céntimos"), currency("EUR", "0.01"))
CURRENCY_WORDS |= dict.fromkeys(("pence", "penny"), currency("GBP", "0.01"))
