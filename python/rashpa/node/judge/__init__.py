# SPDX-License-Identifier: Apache-2.0
"""Tests senders and receivers of other makers against the protocol, rule by rule."""
