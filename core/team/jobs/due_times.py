"""When a schedule is due: written in words or as in a crontab, and translated for systemd and cron."""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from ua_tui.core.errors import SettingsError
from ua_tui.core.text import clean_line

EXAMPLES = (
    '"mon 07:00", "mon,thu 07:00", "weekdays 18:30", "daily 07:00", "hourly", or as in a crontab "0 7 1 * *"'
)
_NAMES = ("Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat")
# The days that may stand before a time, as a crontab has them; Sunday is the last one, so that `fri-sun` is a range.
_DAYS = {
    **{name.lower(): str(number or 7) for number, name in enumerate(_NAMES)},
    "daily": "*",
    "weekdays": "1-5",
    "weekends": "6,7",
}


class DueTimes:
    """The times of an expression such as "mon 07:00" in a time zone, which the zone's changes of the clock do not move.

    Attributes:
        cron: the expression as in a crontab.

    Raises:
        SettingsError: the expression or the zone is wrong, or it is never due.
    """

    def __init__(self, every: str, zone: str) -> None:
        self.cron = _cron_of(every)
        try:
            self._zone = ZoneInfo(zone)
        except (ValueError, KeyError, OSError) as error:
            raise SettingsError(
                f"the time zone {clean_line(zone, 80)!r} is unknown here: set TZ to one such as Europe/Berlin"
            ) from error
        try:
            if len(self.cron.split()) != 5:
                raise CronSimError
            self._fields = CronSim(self.cron, datetime.now(UTC))
            self.after(datetime.now(UTC))
        except (CronSimError, StopIteration) as error:
            shown = clean_line(every, 80)
            raise SettingsError(f"--every {shown!r} is not a schedule: write {EXAMPLES}") from error

    def after(self, moment: datetime) -> datetime:
        """The first time after a moment."""
        times = (each.astimezone(UTC) for each in CronSim(self.cron, moment.astimezone(self._zone)))
        # In the hour that the clock has twice, the library begins with the earlier one.
        return next(each for each in times if each > moment)

    def on_calendar(self) -> str | None:
        """The expression for `OnCalendar=` of a systemd timer; None if it names days of the month or of the week.

        Raises:
            SettingsError: it has what neither systemd nor cron knows.
        """
        sim = self._fields
        days = {day % 7 for day in sim.weekdays if isinstance(day, int)}
        if min(sim.days) < 0 or not days:
            raise SettingsError("--every with L, W or # needs a team's database (--to)")
        if not sim.day_and:
            return None
        week = "" if len(days) == 7 else ",".join(_NAMES[day] for day in sorted(days)) + " "
        date = f"*-{_numbers(sim.months, 12)}-{_numbers(sim.days, 31)}"
        return f"{week}{date} {_numbers(sim.hours, 24)}:{_numbers(sim.minutes, 60)}:00 {self._zone.key}"


def _cron_of(every: str) -> str:
    """The expression as in a crontab."""
    words = " ".join(every.lower().split())
    if words == "hourly":
        return "0 * * * *"
    if (found := re.fullmatch(r"([a-z,-]+) ([0-9]{1,2}):([0-9]{2})", words)) is None:
        return words
    # A word that is no day is refused with the whole.
    days = re.sub("[a-z]+", lambda word: _DAYS.get(word[0], "?"), found[1])
    return f"{int(found[3])} {int(found[2])} * * {days}"


def _numbers(values: Collection[int], whole: int) -> str:
    return "*" if len(values) == whole else ",".join(f"{value:02}" for value in sorted(values))
