// SPDX-License-Identifier: Apache-2.0
/// rashpa_gpu_bench: what one GPU can do at most, and what our kernels make of it, in one run. `--json` writes one row
/// a line {what, value, unit, against, against_value, ratio}, ratio = value / against_value; `rashpa bench gpu` calls
/// it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../rows.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/kernel/device/device_array.hpp"
#include "rows.hpp"

namespace rashpa::kernel::gpu_bench {

std::vector<double> medians_us(const std::vector<Work>& works, int repeats, cudaStream_t stream) {
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  memory::cuda::check(cudaEventCreate(&begin), "cudaEventCreate");
  memory::cuda::check(cudaEventCreate(&end), "cudaEventCreate");
  std::vector<std::vector<double>> us(works.size());
  for (int repeat = -1; repeat < repeats; ++repeat) {
    for (std::size_t w = 0; w < works.size(); ++w) {
      memory::cuda::check(cudaEventRecord(begin, stream), "cudaEventRecord");
      works[w](stream);
      memory::cuda::check(cudaEventRecord(end, stream), "cudaEventRecord");
      memory::cuda::check(cudaEventSynchronize(end), "benchmark");
      float ms = 0;
      memory::cuda::check(cudaEventElapsedTime(&ms, begin, end), "cudaEventElapsedTime");
      if (repeat >= 0) us[w].push_back(static_cast<double>(ms) * 1e3);
    }
  }
  memory::cuda::check(cudaEventDestroy(begin), "cudaEventDestroy");
  memory::cuda::check(cudaEventDestroy(end), "cudaEventDestroy");
  std::vector<double> medians;
  for (auto& of_work : us) {
    std::nth_element(of_work.begin(), of_work.begin() + static_cast<std::ptrdiff_t>(of_work.size() / 2), of_work.end());
    medians.push_back(of_work[of_work.size() / 2]);
  }
  return medians;
}

std::vector<std::vector<std::uint16_t>> images_of(const std::string& file, std::size_t pixels) {
  std::ifstream in(file, std::ios::binary);
  std::vector<std::vector<std::uint16_t>> images;
  std::vector<std::uint16_t> image(pixels);
  const auto bytes = static_cast<std::streamsize>(pixels * sizeof(std::uint16_t));
  while (in.read(reinterpret_cast<char*>(image.data()), bytes)) images.push_back(image);
  if (images.empty()) {
    throw FileError(fmt::format("gpu_bench: --images {}: no image of {} pixels of uint16 in it", file, pixels));
  }
  return images;
}

namespace {

using Part = std::pair<std::string_view, Rows (*)(const struct Arguments&)>;

struct Arguments {
  int repeats = 15;
  int triggers = 100'000;
  bool json = false;
  std::string images;
  std::vector<std::string> only;  // empty: all parts
};

constexpr std::array kParts{
    Part{"copies", [](const Arguments&) { return copy_floors(); }},
    Part{"triggers", [](const Arguments& arguments) { return trigger_floors(arguments.triggers); }},
    Part{"kernels", [](const Arguments& arguments) { return kernel_rows(arguments.repeats); }},
    Part{"passes", [](const Arguments& arguments) { return pass_rows(arguments.repeats); }},
    Part{"azimuthal", [](const Arguments& arguments) { return azimuthal_rows(arguments.repeats, arguments.images); }},
    Part{"peaks", [](const Arguments& arguments) { return peak_rows(arguments.repeats, arguments.images); }},
    Part{"compress", [](const Arguments& arguments) { return compress_rows(arguments.repeats, arguments.images); }},
};

std::string names_of_parts() {
  std::string names;
  for (const auto& [name, rows] : kParts) names += fmt::format("{}{}", names.empty() ? "" : "|", name);
  return names;
}

/// "copies,kernels"
std::vector<std::string> parts_of(const std::string& list) {
  std::vector<std::string> parts;
  std::istringstream names(list);
  for (std::string name; std::getline(names, name, ',');) {
    if (std::none_of(kParts.begin(), kParts.end(), [&](const Part& part) { return part.first == name; })) {
      throw ConfigError("gpu_bench: --only is " + list + ", must be one of " + names_of_parts() + ", or several: a,b");
    }
    parts.push_back(name);
  }
  if (parts.empty()) throw ConfigError("gpu_bench: --only names no part; there are " + names_of_parts());
  return parts;
}

Arguments parse(int count, char** values) {
  Arguments arguments;
  for (int i = 1; i < count; ++i) {
    const std::string name = values[i];
    if (name == "--json") {
      arguments.json = true;
      continue;
    }
    if (i + 1 == count) throw ConfigError("gpu_bench: " + name + " needs a value");
    const std::string value = values[++i];
    if (name == "--repeats") {
      arguments.repeats = std::stoi(value);
    } else if (name == "--triggers") {
      arguments.triggers = std::stoi(value);
    } else if (name == "--only") {
      arguments.only = parts_of(value);
    } else if (name == "--images") {
      arguments.images = value;
    } else {
      throw ConfigError("gpu_bench: no option " + name +
                        "; there are --repeats --triggers --images (of azimuthal, peaks, compress) --json --only " +
                        names_of_parts());
    }
  }
  if (arguments.repeats < 1 || arguments.triggers < 1) {
    throw ConfigError("gpu_bench: --repeats and --triggers must be at least 1");
  }
  return arguments;
}

void run(const Arguments& arguments) {
  const auto& only = arguments.only;
  for (const auto& [name, rows] : kParts) {
    if (!only.empty() && std::find(only.begin(), only.end(), name) == only.end()) continue;
    for (const Row& row : rows(arguments)) measured::print(row, arguments.json);
  }
}

}  // namespace
}  // namespace rashpa::kernel::gpu_bench

int main(int count, char** values) {
  try {
    rashpa::kernel::gpu_bench::run(rashpa::kernel::gpu_bench::parse(count, values));
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
  return 0;
}
