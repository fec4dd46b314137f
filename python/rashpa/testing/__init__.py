"""Stand-ins and measures for tests."""
