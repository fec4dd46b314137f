# SPDX-License-Identifier: Apache-2.0
"""Opens files of others safely, and reads arrays from them."""
