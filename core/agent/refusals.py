"""Refusals of the model's service that no trying again will change, and what to do about them."""

from __future__ import annotations

__all__ = ["REFUSALS"]

REFUSALS = {
    "authentication_failed": (
        "the model's service refused the credentials: check ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN, "
        "and ANTHROPIC_BASE_URL if it is set, or choose anew with /setup on the screen"
    ),
    "billing_error": "the model's service refused for lack of credit: check the account's billing",
}
