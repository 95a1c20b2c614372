"""The services a session connects to, each as MCP server configurations."""
