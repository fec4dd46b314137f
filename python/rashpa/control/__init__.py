"""The control plane: run files, plans, telegrams, states and the manager. Nothing here needs compiled code."""
