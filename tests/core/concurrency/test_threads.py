from __future__ import annotations

import threading

from tests.waiting import PATIENCE
from ua_tui.core.concurrency.threads import Coalesced


def test_repeated_work_has_one_thread_until_it_is_finished() -> None:
    done = threading.Semaphore(0)
    threads: list[threading.Thread] = []

    def work() -> None:
        threads.append(threading.current_thread())
        done.release()

    coalesced = Coalesced(work, "work")
    for _ in range(3):
        coalesced.request()
        assert done.acquire(timeout=PATIENCE)
    assert len(set(threads)) == 1
    assert coalesced.finish(PATIENCE)
    assert not threads[0].is_alive()

    coalesced.request()
    assert coalesced.finish(PATIENCE)
    assert len(threads) == 4
