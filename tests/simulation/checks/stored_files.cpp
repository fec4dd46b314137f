// SPDX-License-Identifier: Apache-2.0
#include "checks/stored_files.hpp"

#include <fmt/format.h>
#include <hdf5.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string_view>

#include "rashpa/core/frame/decision.hpp"
#include "rashpa/sink/hdf5/hdf5_io.hpp"
#include "world.hpp"

namespace rashpa::simulation {

namespace {

/// A master as any program reads it.
class Master {
 public:
  explicit Master(const std::filesystem::path& path) : file_(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT)) {
    if (file_ < 0) throw std::runtime_error(path.filename().string() + " cannot be opened");
  }
  Master(const Master&) = delete;
  Master& operator=(const Master&) = delete;
  ~Master() { H5Fclose(file_); }

  template <typename T>
  std::vector<T> read(const std::string& path, hid_t type) const {
    const hid_t set = H5Dopen2(file_, path.c_str(), H5P_DEFAULT);
    if (set < 0) throw std::runtime_error(path + " cannot be opened");
    const hid_t space = H5Dget_space(set);
    std::vector<T> values(static_cast<std::size_t>(std::max<hssize_t>(0, H5Sget_simple_extent_npoints(space))));
    const bool well = values.empty() || H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) >= 0;
    H5Sclose(space);
    H5Dclose(set);
    if (!well) throw std::runtime_error(path + " cannot be read");
    return values;
  }

 private:
  hid_t file_;
};

/// Returns the images that a master has.
std::uint64_t look(const std::filesystem::path& path, const dataset::Dataset& dataset, const std::vector<Part>& parts,
                   std::vector<std::string>& wrong) {
  const Master master(path);
  const auto frames = master.read<std::uint64_t>("/entry/rashpa/frame_number", H5T_NATIVE_UINT64);
  const auto decisions = master.read<std::uint8_t>("/entry/rashpa/decision", H5T_NATIVE_UINT8);
  const auto fates = master.read<std::uint8_t>("/entry/rashpa/completeness", H5T_NATIVE_UINT8);
  const auto places = master.read<std::int64_t>("/entry/rashpa/stored_index", H5T_NATIVE_INT64);
  const auto pixels = master.read<std::uint16_t>("/entry/data/data", H5T_NATIVE_UINT16);
  const std::size_t width = dataset.shape().width;
  std::size_t lines = 0;
  for (const Part& part : parts) lines += part.lines;
  std::uint64_t stored = 0;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const bool accepted = decisions.at(i) == static_cast<std::uint8_t>(Decision::accepted);
    if (accepted != (places.at(i) >= 0))
      wrong.push_back(fmt::format("frame {} is accepted, or stored alone", frames[i]));
    if (places[i] < 0) continue;
    ++stored;
    if (fates.at(i) != static_cast<std::uint8_t>(Completeness::complete)) continue;  // its lost lines hold anything
    const std::size_t first = static_cast<std::size_t>(places[i]) * lines * width;
    if (first + lines * width > pixels.size()) throw std::runtime_error("an accepted image is not in the data");
    for (const Part& part : parts) {
      const std::byte* const had = dataset.frame(part.module, frames[i] % dataset.frames());
      if (std::memcmp(&pixels[first + part.y * width], had + part.first * width * 2, part.lines * width * 2) == 0)
        continue;
      wrong.push_back(fmt::format("frame {} in {} is not as the source had it", frames[i], path.filename().string()));
    }
  }
  return stored;
}

}  // namespace

std::string repaired(const std::string& prefix, bool& done) {
  const std::string command = fmt::format("/proc/{}/exe --repair {}", ::getpid(), prefix);
  FILE* const answer = ::popen(command.c_str(), "r");
  std::array<char, 512> line{};
  const bool said = answer != nullptr && std::fgets(line.data(), line.size(), answer) != nullptr;
  const int status = answer == nullptr ? 1 : ::pclose(answer);
  done = status == 0;
  world::trace(fmt::format("repaired: {}", said ? line.data() : ""));
  return said ? line.data() : "";
}

std::vector<std::string> files_wrong(const std::filesystem::path& folder, const dataset::Dataset& dataset,
                                     const std::vector<Part>& parts, std::uint64_t written, bool disk_failed) {
  constexpr std::string_view kMaster = "_master.h5";
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  sink::h5::register_bitshuffle();
  std::vector<std::string> wrong;
  std::uint64_t stored = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (!disk_failed && name.ends_with(".journal")) wrong.push_back("a journal is left of a run that is over: " + name);
    if (!name.ends_with(kMaster)) continue;
    try {
      bool whole = true;
      if (disk_failed) repaired((folder / name.substr(0, name.size() - kMaster.size())).string(), whole);
      if (!whole) continue;  // the disk may have taken all
      stored += look(entry.path(), dataset, parts, wrong);
    } catch (const std::exception& failure) {
      wrong.push_back(fmt::format("{}: {}", name, failure.what()));
    }
  }
  if (!disk_failed && stored != written)
    wrong.push_back(fmt::format("{} images are written, and files have {}", written, stored));
  return wrong;
}

}  // namespace rashpa::simulation
