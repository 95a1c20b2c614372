"""Work beside the event loop: threads, a worker process for large results, background tasks, garbage collection.

Start with `worker.py`, whose other side is `worker_child.py`; `threads.py` has the small helpers for threads. Any
folder above may import this one; it knows nothing of events.
"""
