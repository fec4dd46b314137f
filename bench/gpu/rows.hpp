// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What the parts of rashpa_gpu_bench hand to each other: rows of results, and how device work is timed.
#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "../row.hpp"

namespace rashpa::kernel::gpu_bench {

using measured::Row;
using Rows = std::vector<Row>;

/// Enqueues work in the stream.
using Work = std::function<void(cudaStream_t)>;

/// Median microseconds of each piece of work between two events, `repeats` times in turn after one that is not counted.
std::vector<double> medians_us(const std::vector<Work>& works, int repeats, cudaStream_t stream);

/// Copies between host and device, and on the device.
Rows copy_floors();

/// Latency from a word that the host writes to one that the device writes back, by each way to start work.
Rows trigger_floors(int repeats);

/// The kernels on stacks of 1, 10 and 40 images of 4M pixels.
Rows kernel_rows(int repeats);

/// Steps that stream, on stacks of 1, 10 and 40 images of 4M pixels, beside the time of their bytes.
Rows pass_rows(int repeats);

/// Images of `pixels` pixels of uint16 in a file, one behind the other. Throws FileError when it has none.
std::vector<std::vector<std::uint16_t>> images_of(const std::string& file, std::size_t pixels);

/// Azimuthal integration of such stacks, with few and with many photons, or of the images of `file` when it is not
/// empty.
Rows azimuthal_rows(int repeats, const std::string& file);

/// Steps that find peaks or what sticks out of a background by radius, on such stacks; the same of `file`.
Rows peak_rows(int repeats, const std::string& file);

/// Chunks of images: photons, and those of `file` when it is not empty: pixels of uint16, as often as there is room.
Rows compress_rows(int repeats, const std::string& file);

}  // namespace rashpa::kernel::gpu_bench
