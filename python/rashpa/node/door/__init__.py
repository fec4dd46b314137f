# SPDX-License-Identifier: Apache-2.0
"""Lets requests in: addresses, tokens, limits, TLS, HTTP."""
