"""Why a query is stopped that would go on in vain, or may not go on, and what to do about it."""

from __future__ import annotations

__all__ = ["AT_LIMIT", "REFUSALS"]

AT_LIMIT = (
    "the agent stopped at what the session may cost: "
    "raise max_cost_usd (--max-cost, or /budget on the screen)"
)

REFUSALS = {
    "authentication_failed": (
        "the model's service refused the credentials: check ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN, "
        "and ANTHROPIC_BASE_URL if it is set, or choose anew with /setup on the screen"
    ),
    "billing_error": "the model's service refused for lack of credit: check the account's billing",
}
"""What the model's service refuses so that no trying again will change it, by the name the agent has for it."""
