from __future__ import annotations

import threading

from core.concurrency.threads import Coalesced


def test_repeated_work_has_one_thread_until_it_is_finished() -> None:
    done = threading.Semaphore(0)
    threads: list[threading.Thread] = []

    def work() -> None:
        threads.append(threading.current_thread())
        done.release()

    coalesced = Coalesced(work, "work")
    for _ in range(3):
        coalesced.request()
        assert done.acquire(timeout=60)
    assert len(set(threads)) == 1
    assert coalesced.finish(60)
    assert not threads[0].is_alive()

    coalesced.request()
    assert coalesced.finish(60)
    assert len(threads) == 4
