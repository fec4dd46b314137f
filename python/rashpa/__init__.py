# SPDX-License-Identifier: Apache-2.0
"""An open RDMA-based acquisition system for 2D X-ray detectors: control plane, readers and tools around the native data plane."""
