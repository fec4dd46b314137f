"""The command `rashpa`: one file per command."""
