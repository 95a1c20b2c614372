"""Everything that keeps a record of a session: journal, log, trace, transcript, summary, and the counters behind them.

`recorder.py` subscribes all records to the bus and is the place to start. `digest.py` condenses the events of a
session into its entries; `trace.py`, `transcript.py` and `summary.py` make files of them, and `writer.py` keeps
these up to date. Sessions, the history and the screen may import this folder; it imports telemetry and what lies
below.
"""
