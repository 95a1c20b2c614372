"""Recognises the files that this user's program made: a file that is not the user's own gives no rights and no answers.

A folder that was unpacked or cloned can bring any file with it. Each file that gives queries, rules or answers has a
seal: a code over its kind, its folder and its content, made with a key that only this user can read. A file without a
valid seal is somebody else's, until the user adopts it with `ua-tui trust adopt`.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import shlex
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from pathlib import Path

from platformdirs import user_state_path

from ua_tui.core.errors import SettingsError, WorkspaceError
from ua_tui.core.log import log
from ua_tui.core.storage.files import AlreadyThere, Root
from ua_tui.core.storage.workspace import JOURNAL, OWNER
from ua_tui.core.text import clean_line

KEY = "ownership.key"
"""The file with the key, in the user's state folder."""
_BYTES = 32
_SESSION = "session"
_EMPTY = hashlib.sha256().hexdigest()


def seal(kind: str, folder: Path, *content: object) -> str:
    """Return the code by which a content in a folder is recognised later; a copy elsewhere has another one."""
    return sealer(kind, folder)(*content)


def sealer(kind: str, folder: Path) -> Callable[..., str]:
    """Return a function that seals many contents of a kind in a folder."""
    key = _code(_key(user_state_path("ua-tui"))[0], kind, str(folder.resolve())).encode()
    return partial(_code, key)


def is_sealed(code: object, kind: str, folder: Path, *content: object) -> bool:
    """Whether a code was made by `seal`, with the key of this user, for the same content in the same folder."""
    return isinstance(code, str) and hmac.compare_digest(code.encode(), seal(kind, folder, *content).encode())


def not_own(path: Path, effect: str) -> str:
    """The sentence for a person about a file that is not the user's own; `effect` says what it therefore lacks."""
    problem = _key(user_state_path("ua-tui"))[1]
    return (
        f"'{clean_line(path.name, 300)}' was not made by this program for this user{problem and f' ({problem})'}: "
        f"{effect} until `ua-tui trust adopt {clean_line(shlex.quote(str(path)), 700)}` makes it yours. Then what it "
        "contains counts"
    )


def seal_session(root: Root, path: Path | None = None, *, synced: bool = True) -> None:
    """Make the session in a folder the user's own; if its journal is empty, do it again after the first line.

    `path` is where the folder will be, if it will be renamed. What is not `synced` may be lost if the machine crashes.

    Raises:
        WorkspaceError: the seal cannot be written.
    """
    code = seal(_SESSION, path or root.path, _beginning(root))
    root.write_chunks(OWNER, (code.encode(),), synced=synced)


def is_own_session(folder: Path) -> bool:
    """Whether this user's program made, or adopted, the session in a folder."""
    try:
        root = Root(folder)
        code = root.read(OWNER, 2 * _BYTES).decode("ascii", "replace")
        # A program that was killed when it had just begun has sealed the empty journal.
        return any(is_sealed(code, _SESSION, root.path, each) for each in (_beginning(root), _EMPTY))
    except WorkspaceError:
        return False


def check_session(folder: Path) -> None:
    """Refuse to resume or fork a session that is not the user's own.

    Raises:
        SettingsError: it is not.
    """
    if not is_own_session(folder):
        raise SettingsError(not_own(folder, "the session can be read, but neither resumed nor forked"))


def _code(key: bytes, *content: object) -> str:
    return hmac.digest(key, json.dumps(content, default=repr).encode(), "sha256").hex()


def _beginning(root: Root) -> str:
    """The hash of the first line of the journal, which never changes."""
    with root.opened(JOURNAL) as journal:
        return hashlib.sha256(journal.readline(1 << 20)).hexdigest()


@cache
def _key(state: Path) -> tuple[bytes, str]:
    """The key, and what is wrong with its file: then this program has a key that no other one has."""
    try:
        root = Root(state, create=True)
        if not root.exists(KEY):
            # Another program may be faster.
            with suppress(AlreadyThere):
                root.write(KEY, secrets.token_bytes(_BYTES), replace=False)
        key = root.read(KEY, _BYTES + 1)
        if len(key) == _BYTES:
            return key, ""
        problem = f"{state / KEY} is damaged: remove it"
    except WorkspaceError as error:
        problem = f"the key in {state} cannot be used: {error}"
    log.warning("files of this user cannot be recognised: %s", problem)
    return secrets.token_bytes(_BYTES), clean_line(problem, 700)
