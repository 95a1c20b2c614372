"""The service that answers: how it is reached, whether that works, and which models it has.

The agent, the doctor, the session and the set-up screens import it. Start at `setup.py` for the ways to a model, and at
`error_messages.py` for what can go wrong with one.
"""
