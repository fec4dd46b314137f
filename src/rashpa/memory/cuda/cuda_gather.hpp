// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <memory>

#include "rashpa/memory/gather/gather_engine.hpp"

namespace rashpa::memory::cuda {

/// Makes the gather of a link thread into `images`, memory of CUDA device `device` that outlives it: pinned buffers and
/// lists, and a stream of its own. A list is one launch of a kernel. Throws ResourceError.
std::unique_ptr<GatherEngine> make_cuda_gather(int device, std::byte* images, const GatherRoom& room);

}  // namespace rashpa::memory::cuda
