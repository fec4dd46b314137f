# SPDX-License-Identifier: Apache-2.0
"""Opens foreign files safely, and reads arrays from them."""
