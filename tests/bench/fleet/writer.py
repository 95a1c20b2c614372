"""Writes into a team's database as replicas of streaming sessions do: `python -m tests.bench.fleet.writer URL IDS`."""

from __future__ import annotations

import sys
import time
from collections import Counter

import psycopg

from ua_tui.core.events.codec import encode_event
from ua_tui.core.events.types import TextDelta

LINES_A_SECOND = 30
BATCHES_A_SECOND = 10


def main() -> None:
    """Write until the parent ends."""
    url, ids = sys.argv[1], sys.argv[2].split(",")
    seq, written = 0, Counter[str]()
    with psycopg.connect(url, autocommit=True, options="-c search_path=ua_tui,public") as db:
        due = time.monotonic()
        while True:
            for id_ in ids:
                lines = []
                for number in range(LINES_A_SECOND // BATCHES_A_SECOND):
                    event = TextDelta(query_id="q1", message_id="m1", text=f"word {seq} {number} " * 4)
                    lines.append(encode_event(event) + b"\n")
                data = b"".join(lines)
                start, written[id_] = written[id_], written[id_] + len(data)
                with db.transaction(), db.cursor() as cursor:
                    cursor.execute(
                        "INSERT INTO piece VALUES (%s, 'journal.jsonl', %s, %s)", (id_, start, data)
                    )
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
