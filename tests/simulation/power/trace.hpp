// SPDX-License-Identifier: Apache-2.0
#pragma once
/// All that a run asked of its disk, in order, and a disk as it may be when the power fails in between.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "world.hpp"

namespace rashpa::simulation::power {

/// One call, or a mark that the hand has set.
struct Op {
  enum class Kind : std::uint8_t {
    create,      ///< `file` gets `name`
    write,       ///< `bytes` at `at`
    resize,      ///< to `at` bytes
    sync,        ///< of `file`: what was done to it before op `at` is safe
    sync_names,  ///< of the folder: names that were given before op `at` are safe
    rename,      ///< `name` becomes `to`
    link,        ///< `name` is also `to`
    unlink,
    mark,  ///< `name` says of what, `at` how many images are safe, `bytes` which
  };
  Kind kind = Kind::mark;
  std::uint32_t file = 0;
  std::uint64_t at = 0;
  std::string name{}, to{};
  std::string bytes{};
};
using Trace = std::vector<Op>;

void store(const Trace& trace, const std::filesystem::path& file);
/// Throws std::runtime_error when it is none.
Trace load(const std::filesystem::path& file);
/// One line, as it is told to people.
std::string describe(const Op& op);

/// Marks of a run.
inline constexpr const char* kEarlierDone = "the earlier run is on the disk";
inline constexpr const char* kBegins = "begins";
inline constexpr const char* kPut = "a stack was put";
inline constexpr const char* kSettled = "settled";
inline constexpr const char* kClosed = "closed";
inline constexpr const char* kConverts = "is being converted";
inline constexpr const char* kConverted = "converted";

/// The content of a file: bytes, and zeros behind them up to its size.
struct Content {
  std::string bytes{};
  std::uint64_t size = 0;
};
/// Names and contents of a folder.
using Folder = std::map<std::string, Content>;

/// The folder after a loss of power behind the first `cut` ops, as the dice want it. Of each page of 4 KiB that no sync
/// has made safe, any version since the last sync may be there; of a size likewise; of names, those up to a moment.
/// `strict`: names are safe by a sync of their folder alone, and not by that of any file.
Folder folder_after(const Trace& trace, std::size_t cut, Dice dice, bool strict);
/// Without a loss of power.
Folder whole_folder(const Trace& trace);
void write(const Folder& folder, const std::filesystem::path& to);

}  // namespace rashpa::simulation::power
