"""Recognises the codes and states of OAuth in addresses and forms: whoever has them can take over a login.

`code=` and `state=` are also common parameters of shops and searches (`?code=SAVE20`, `?state=CA`). They are secrets
only where the rest of the address, or of the form, belongs to a login.
"""

from __future__ import annotations

import re

_REACH = 2_048
EDGE = re.compile(r"[\s\"'<>{}]")
"""What is part of no address and no form."""
_SEPARATOR = r"(?:^|[?&;#]|\\u0026|%3f|%26|%23)"
_QUERY = re.compile(r"[?#]|%3f", re.IGNORECASE)
_BEFORE_NAME = re.compile(f"{_SEPARATOR}$", re.IGNORECASE)
_PARTNER = re.compile(
    f"{_SEPARATOR}(?:redirect_ur[il]|response_type|grant_type|client_id|code_verifier|code_challenge|session_state)"
    "(?:=|%3d)",
    re.IGNORECASE,
)
_VALUE = {
    name: re.compile(rf"{_SEPARATOR}{name}(?:=|%3d)([^&;#\\]+?)(?=%26|[&;#\\]|$)", re.IGNORECASE)
    for name in ("code", "state")
}
_LOGIN_PATH = re.compile(
    r"(?:/|%2f)(?:(?:(?!%2f)[^/])*(?:oauth|oidc|callback)(?:(?!%2f)[^/])*"
    r"|authori[sz]e|auth|sso|login|signin|connect|cb)(?=$|/|%2f)",
    re.IGNORECASE,
)
_SHORTEST_CODE, _SHORTEST_STATE = 8, 4
_SURE_CODE, _SURE_STATE = 16, 6


def is_login_parameter(text: str, start: int, name: str, value: str) -> bool:
    """Whether the parameter `name` at `start`, `code` or `state`, belongs to an OAuth login."""
    left = EDGE.split(text[max(start - _REACH, 0) : start])[-1]
    if not _BEFORE_NAME.search(left):
        return False
    address = left + EDGE.split(text[start : start + _REACH], maxsplit=1)[0]
    path, *query = _QUERY.split(left, maxsplit=1)
    is_request = _PARTNER.search(address) is not None
    if is_request or (query and _LOGIN_PATH.search(path)):
        if name == "state" and is_request:
            return len(value) >= _SHORTEST_STATE
        return _is_opaque(value, _SHORTEST_STATE if name == "state" else _SHORTEST_CODE)
    code, state = (_VALUE[each].search(address) for each in ("code", "state"))
    return bool(code and state and _is_opaque(code[1], _SURE_CODE) and len(state[1]) >= _SURE_STATE)


def _is_opaque(value: str, shortest: int) -> bool:
    """Whether a value is no word: it has digits, or letters of both cases."""
    mixed = value != value.lower() and value != value.upper()
    return len(value) >= shortest and (mixed or any(each.isdigit() for each in value))
