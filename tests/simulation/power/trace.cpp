// SPDX-License-Identifier: Apache-2.0
#include "power/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <stdexcept>

namespace rashpa::simulation::power {

namespace {

constexpr std::uint64_t kPage = 4096;

void put_text(std::ostream& out, const std::string& text) {
  const std::uint64_t size = text.size();
  out.write(reinterpret_cast<const char*>(&size), sizeof size);
  out.write(text.data(), static_cast<std::streamsize>(size));
}

std::string get_text(std::istream& in) {
  std::uint64_t size = 0;
  in.read(reinterpret_cast<char*>(&size), sizeof size);
  std::string text(in.good() ? size : 0, ' ');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  return text;
}

/// A file: what is safe, and by number of op what is not.
struct File {
  Content safe;
  std::vector<std::size_t> unsafe;
};

void apply(Content& content, const Op& op) {
  if (op.kind == Op::Kind::resize) {
    if (content.bytes.size() > op.at) content.bytes.resize(op.at);
    content.size = op.at;
    return;
  }
  const std::uint64_t end = op.at + op.bytes.size();
  if (content.bytes.size() < end) content.bytes.resize(end, '\0');
  std::copy(op.bytes.begin(), op.bytes.end(), content.bytes.begin() + static_cast<std::ptrdiff_t>(op.at));
  content.size = std::max(content.size, end);
}

void make_safe(File& file, const Trace& trace, std::uint64_t before) {
  std::size_t done = 0;
  for (; done < file.unsafe.size() && file.unsafe[done] < before; ++done) apply(file.safe, trace[file.unsafe[done]]);
  file.unsafe.erase(file.unsafe.begin(), file.unsafe.begin() + static_cast<std::ptrdiff_t>(done));
}

/// The habit of a disk with what nobody has synced.
enum class Habit : std::uint8_t { forgets_all, keeps_all, pages_by_chance, in_order };

Content content_of(const File& file, const Trace& trace, Dice& dice, Habit habit) {
  if (file.unsafe.empty() || habit == Habit::forgets_all) return file.safe;
  std::vector<Content> versions{file.safe};  // after each op
  const std::size_t most = habit == Habit::in_order ? dice.below(file.unsafe.size() + 1) : file.unsafe.size();
  for (std::size_t i = 0; i < most; ++i) {
    versions.push_back(versions.back());
    apply(versions.back(), trace[file.unsafe[i]]);
  }
  if (habit != Habit::pages_by_chance) return versions.back();
  Content made{.bytes = std::string(versions.back().bytes.size(), '\0'),
               .size = versions[dice.below(versions.size())].size};
  for (std::uint64_t page = 0; page < made.bytes.size(); page += kPage) {
    const std::string& from = versions[dice.chance(0.4) ? versions.size() - 1 : dice.below(versions.size())].bytes;
    if (page >= from.size()) continue;
    const std::size_t bytes = std::min({kPage, made.bytes.size() - page, from.size() - page});
    std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(page), bytes,
                made.bytes.begin() + static_cast<std::ptrdiff_t>(page));
  }
  if (made.bytes.size() > made.size) made.bytes.resize(made.size);
  return made;
}

bool is_name(const Op& op) noexcept {
  return op.kind == Op::Kind::create || op.kind == Op::Kind::rename || op.kind == Op::Kind::link ||
         op.kind == Op::Kind::unlink;
}

void apply_name(std::map<std::string, std::uint32_t>& names, const Op& op) {
  const auto found = names.find(op.name);
  if (op.kind == Op::Kind::create) {
    names[op.name] = op.file;
  } else if (found != names.end()) {
    const std::uint32_t file = found->second;
    if (op.kind != Op::Kind::link) names.erase(found);
    if (op.kind != Op::Kind::unlink) names[op.to] = file;
  }
}

/// All that happened before the power failed, and what of it is safe.
struct Disk {
  std::map<std::uint32_t, File> files;
  std::vector<std::size_t> names;
  std::size_t safe_names = 0;
};

Disk disk_after(const Trace& trace, std::size_t cut, bool strict) {
  Disk disk;
  const auto names_are_safe = [&](std::uint64_t before) {
    const auto end = std::lower_bound(disk.names.begin(), disk.names.end(), before);
    disk.safe_names = std::max(disk.safe_names, static_cast<std::size_t>(end - disk.names.begin()));
  };
  for (std::size_t i = 0; i < cut; ++i) {
    const Op& op = trace[i];
    if (is_name(op)) disk.names.push_back(i);
    switch (op.kind) {
      case Op::Kind::create:
        disk.files[op.file] = {};
        break;
      case Op::Kind::write:
      case Op::Kind::resize:
        disk.files[op.file].unsafe.push_back(i);
        break;
      case Op::Kind::sync:
        make_safe(disk.files[op.file], trace, op.at);
        if (!strict) names_are_safe(op.at);
        break;
      case Op::Kind::sync_names:
        names_are_safe(op.at);
        break;
      case Op::Kind::mark:
        if (op.name != kEarlierDone) break;
        for (auto& [number, file] : disk.files) make_safe(file, trace, i);
        names_are_safe(i);
        break;
      default:
        break;
    }
  }
  return disk;
}

std::string_view name_of(Op::Kind kind) noexcept {
  constexpr std::array<std::string_view, 9> kNames{"create", "write", "resize", "sync", "sync the folder",
                                                   "rename", "link",  "unlink", "mark"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace

void store(const Trace& trace, const std::filesystem::path& file) {
  std::ofstream out(file, std::ios::binary);
  for (const Op& op : trace) {
    out.put(static_cast<char>(op.kind));
    out.write(reinterpret_cast<const char*>(&op.file), sizeof op.file);
    out.write(reinterpret_cast<const char*>(&op.at), sizeof op.at);
    for (const std::string* text : {&op.name, &op.to, &op.bytes}) put_text(out, *text);
  }
}

Trace load(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  Trace trace;
  for (int kind = in.get(); in.good(); kind = in.get()) {
    Op& op = trace.emplace_back();
    op.kind = static_cast<Op::Kind>(kind);
    in.read(reinterpret_cast<char*>(&op.file), sizeof op.file);
    in.read(reinterpret_cast<char*>(&op.at), sizeof op.at);
    for (std::string* text : {&op.name, &op.to, &op.bytes}) *text = get_text(in);
    if (!in.good()) throw std::runtime_error(file.string() + " ends too early");
  }
  return trace;
}

std::string describe(const Op& op) {
  std::string text(name_of(op.kind));
  if (!op.name.empty()) text += " " + op.name;
  if (!op.to.empty()) text += " to " + op.to;
  if (op.kind == Op::Kind::write)
    return fmt::format("{} file {}: {} bytes at {}", text, op.file, op.bytes.size(), op.at);
  if (op.kind == Op::Kind::resize) return fmt::format("{} file {} to {} bytes", text, op.file, op.at);
  if (op.kind == Op::Kind::sync) return fmt::format("{} file {}, begun at op {}", text, op.file, op.at);
  if (op.kind == Op::Kind::mark) return fmt::format("{}, {} images are safe", text, op.at);
  return text;
}

Folder folder_after(const Trace& trace, std::size_t cut, Dice dice, bool strict) {
  const Disk disk = disk_after(trace, cut, strict);
  std::map<std::string, std::uint32_t> names;
  const std::size_t unsafe = disk.names.size() - disk.safe_names;
  const std::size_t kept = disk.safe_names + (dice.chance(0.4) ? unsafe : dice.below(unsafe + 1));
  for (std::size_t i = 0; i < kept; ++i) apply_name(names, trace[disk.names[i]]);
  const auto habit = static_cast<Habit>(dice.chance(0.6) ? 2 : dice.below(4));
  Folder folder;
  for (const auto& [name, number] : names) folder[name] = content_of(disk.files.at(number), trace, dice, habit);
  return folder;
}

Folder whole_folder(const Trace& trace) {
  Disk disk = disk_after(trace, trace.size(), false);
  std::map<std::string, std::uint32_t> names;
  for (const std::size_t i : disk.names) apply_name(names, trace[i]);
  Folder folder;
  for (const auto& [name, number] : names) {
    make_safe(disk.files.at(number), trace, trace.size());
    folder[name] = disk.files.at(number).safe;
  }
  return folder;
}

void write(const Folder& folder, const std::filesystem::path& to) {
  std::filesystem::create_directories(to);
  for (const auto& [name, content] : folder) {
    std::ofstream(to / name, std::ios::binary)
        .write(content.bytes.data(), static_cast<std::streamsize>(content.bytes.size()));
    std::filesystem::resize_file(to / name, content.size);
  }
}

}  // namespace rashpa::simulation::power
