// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Work in a stream that waits for a word in memory, by the driver that is there at run time: a program that uses this
/// also starts where none is.
#include <cuda.h>

namespace rashpa::memory::cuda {

/// cuStreamWaitValue32: the stream, the word's address, the value, how they are compared (CU_STREAM_WAIT_VALUE_GEQ).
using WaitValue = CUresult (*)(CUstream, CUdeviceptr, cuuint32_t, unsigned);

/// Throws ResourceError when the driver has none.
WaitValue wait_value();

}  // namespace rashpa::memory::cuda
