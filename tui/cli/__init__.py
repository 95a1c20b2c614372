"""The `ua-tui` command: parses the command line, runs a command, and reports an error in a line.

Every command is an entry in `commands.json`, most with a module of their own. This is the top of `tui`: nothing imports
it but the entry point. Start with `commands.json`.
"""

from __future__ import annotations

import errno
import logging
import os
import sys
from collections.abc import Sequence
from typing import TextIO

from ua_tui.core.net.urls import exempt_loopback
from ua_tui.tui.cli.arguments import COMMANDS, WrongUsage, command_first, read_arguments, wrong_usage
from ua_tui.tui.cli.output import complain
from ua_tui.tui.terminal.exit_codes import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_USAGE

# The errors of a full or broken disk.
_UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    # Otherwise pydantic imports Logfire, whose plug-in it finds, with the first model: a quarter of a second.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    exempt_loopback(os.environ)
    arguments = command_first(sys.argv[1:] if argv is None else argv)
    name = arguments[0] if arguments and arguments[0] in COMMANDS else None
    prog = f"ua-tui {name}" if name else "ua-tui"
    from ua_tui.core.errors import JournalError, SettingsError, UniversalAgentError

    try:
        args = read_arguments(prog, COMMANDS[name], arguments[1:] if name else arguments)
        # Without any handler log messages would go to the terminal.
        logging.getLogger().addHandler(logging.NullHandler())
        code = COMMANDS[name].run(args)
        # The rest of the output is written here, where a failure can still be reported.
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except OSError:
                if not code:
                    raise
                # The command failed before, for example by a hangup: its exit code counts.
                _drop_output(stream)
        return code
    except WrongUsage as problem:
        sys.stderr.write(wrong_usage(prog, str(problem)))
        return EXIT_USAGE
    except (JournalError, SettingsError) as error:
        return complain(str(error), EXIT_USAGE)
    except UniversalAgentError as error:
        return complain(str(error))
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # Both, as after `2>&1 | head`: at its exit Python would fail to write the rest, and choose the code.
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except OSError:
                _drop_output(stream)
        return EXIT_FAILED
    except OSError as error:
        if error.errno not in _UNWRITABLE or error.filename is not None:
            raise
        _drop_output()
        return complain(f"the output cannot be written: {error.strerror}; write it to another place")


def _drop_output(stream: TextIO | None = None) -> None:
    """Discard what Python would still write to `stream` at its exit; standard output by default."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), (stream or sys.stdout).fileno())
