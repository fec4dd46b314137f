# SPDX-License-Identifier: Apache-2.0
"""Receives and checks requests to a node: addresses, tokens, limits, TLS, HTTP."""
