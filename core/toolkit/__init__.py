"""The local toolkit: a stdio MCP server whose files stay in one workspace."""
