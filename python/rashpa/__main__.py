"""`python -m rashpa`."""

from rashpa.cli.entry import main

main()
