"""The fleet under load: sessions of a team that stream through its database while somebody looks at the list."""
