"""Writes into a team's database as replicas of streaming sessions do: `python -m tests.bench.fleet.writer URL IDS`."""

from __future__ import annotations

import sys
import time

import psycopg

from ua_tui.core.events.codec import encode_event
from ua_tui.core.events.types import TextDelta

LINES_A_SECOND = 30
BATCHES_A_SECOND = 10


def main() -> None:
    """Write until the parent ends."""
    url, ids = sys.argv[1], sys.argv[2].split(",")
    seq = 0
    with psycopg.connect(url, autocommit=True, options="-c search_path=ua_tui,public") as db:
        due = time.monotonic()
        while True:
            for id_ in ids:
                lines = []
                for number in range(LINES_A_SECOND // BATCHES_A_SECOND):
                    event = TextDelta(query_id="q1", message_id="m1", text=f"word {seq} {number} " * 4)
                    lines.append((id_, seq + number + 1, encode_event(event).decode()))
                with db.transaction(), db.cursor() as cursor:
                    cursor.executemany("INSERT INTO journal (session, seq, line) VALUES (%s, %s, %s)", lines)
                    cursor.execute(
                        "UPDATE session SET activity = %s, cost_usd = %s, seen_at = now() WHERE id = %s",
                        (f"writes part {seq}", seq / 1_000, id_),
                    )
                    cursor.execute("SELECT pg_notify('ua_tui', 'session ' || %s)", (id_,))
            seq += LINES_A_SECOND // BATCHES_A_SECOND
            due += 1 / BATCHES_A_SECOND
            time.sleep(max(0.0, due - time.monotonic()))


if __name__ == "__main__":
    main()
