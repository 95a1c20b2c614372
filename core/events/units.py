"""How quantities are written for people: short, and the same everywhere."""

from __future__ import annotations

import math

from ua_tui.core.text import clean_line


def duration(seconds: float) -> str:
    """Write a duration in at most seven cells: `0.4s`, `33.0s`, `2m 04s`, `1h 02m`, `3d 04h`."""
    seconds = max(0.0, seconds)
    if seconds < 59.95:
        return f"{seconds:.1f}s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60}m {whole % 60:02d}s"
    minutes = whole // 60
    if minutes < 1440:
        return f"{minutes // 60}h {minutes % 60:02d}m"
    hours = minutes // 60
    return f"{hours // 24}d {hours % 24:02d}h"


def milliseconds(value: float) -> str:
    """Write a short time given in milliseconds: `<1 ms`, `3 ms`, `140 ms`, then as `duration` does."""
    if value < 0.5:
        return "<1 ms"
    return f"{round(value)} ms" if value < 999.5 else duration(value / 1000)


def spoken_duration(milliseconds: float) -> str:
    """Write a duration in milliseconds as it is read aloud: `140 ms`, `1.8 s`, `2 min 4 s`, `1 h 2 min`."""
    seconds = max(0.0, milliseconds) / 1000
    if seconds < 0.9995:
        return f"{round(seconds * 1000)} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def _scaled(value: float, units: str) -> str:
    unit = 0
    while value >= (999.5 if unit else 1000) and unit < len(units):
        value /= 1000
        unit += 1
    if unit == 0:
        return str(round(value))
    number = f"{value:.1f}" if value < 9.95 else f"{value:.0f}"
    return number.removesuffix(".0") + units[unit - 1]


def live_duration(seconds: float) -> str:
    """Write the duration of what still runs, without a fraction that changes all the time: `9s`, `2m 04s`."""
    whole = math.floor(max(0.0, seconds))
    return f"{whole}s" if whole < 60 else duration(whole)


def size(bytes_: int) -> str:
    """Write a size in bytes in at most five cells: `812B`, `1.4K`, `12K`, `3.1M`, `2G`."""
    number = _scaled(max(0, bytes_), "KMGT")
    return number if number[-1].isalpha() else number + "B"


def count(number: int) -> str:
    """Write a count in at most five cells: `950`, `1.2k`, `38k`, `1.2M`."""
    return _scaled(max(0, number), "kMG")


def tokens(number: int) -> str:
    """Write a number of tokens: `812 tok`, `38k tok`, `1.2M tok`."""
    return f"{count(number)} tok"


def quantity(number: int, noun: str, plural: str = "") -> str:
    """Write a number of things in full: `1 row`, `12,345 rows`, `2 queries`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def progress(done: int, total: int, unit: str) -> str:
    """Write how much is done: `12 of 50 pages`."""
    return f"{done:,} of {total:,} {clean_line(unit, 20)}".rstrip()


def money(dollars: float | None, *, is_estimated: bool = False) -> str:
    """Write a cost: `$0.21`, `<$0.01` if it is small, `~$0.21` if it is an estimate, nothing if it is not known."""
    if dollars is None:
        return ""
    if is_estimated:
        return f"~{money(dollars)}"
    if 0 < dollars < 0.01:
        return "<$0.01"
    return f"${dollars:,.2f}" if dollars < 1000 else f"${dollars:,.0f}"


def signed_of(accepted: int, rejected: int, open_: int) -> str:
    """Write how many claims are decided: "Signed: 58 of 62 accepted, 1 rejected, 3 open"."""
    parts = [f"{accepted:,} of {accepted + rejected + open_:,} accepted"]
    parts += [f"{rejected:,} rejected"] if rejected else []
    parts += [f"{open_:,} open"] if open_ else []
    return f"Signed: {', '.join(parts)}"


def spent_of(spent: float, limit: float) -> tuple[str, str]:
    """Write what was spent and the limit of that: to a hundredth of a cent where cents would make them look alike."""
    texts = money(spent) or "$0.00", money(limit)
    if limit < 10 and (limit < 0.1 or (texts[0] == texts[1] and spent != limit)):
        return f"${spent:.4f}", f"${limit:.4f}"
    return texts
