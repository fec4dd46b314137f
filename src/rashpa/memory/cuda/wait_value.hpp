// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Work in a stream that waits for a word in memory. The driver is loaded at run time, so that a program that uses this
/// also starts without one.
#include <cuda.h>

namespace rashpa::memory::cuda {

/// The function cuStreamWaitValue32: stream, address of the word, value, and comparison (CU_STREAM_WAIT_VALUE_GEQ).
using WaitValue = CUresult (*)(CUstream, CUdeviceptr, cuuint32_t, unsigned);

/// Returns the driver's function. Throws ResourceError when the driver lacks it.
WaitValue wait_value();

}  // namespace rashpa::memory::cuda
