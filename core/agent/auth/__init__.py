"""Accounts that a person must connect: their links, and the wait until an account is active.

The agent loop and the session import it. Start at `wait.py`.
"""
