# SPDX-License-Identifier: Apache-2.0
"""Judges a sender by the packets and telegrams that it sends, rule by rule."""
