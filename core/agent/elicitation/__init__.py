"""What an MCP server asks the person for (elicitation): a form to fill in, or a page to open.

The Claude command line passes these requests to the program that runs it, but the SDK does not answer them.
`gate.py` asks the person, waits, and answers beside the SDK, and `form.py` reads the schema of a form and checks what
was entered. The agent loop, the session and the screens import this folder; it imports nothing of the
rest of the agent. Start with `gate.py`.
"""
