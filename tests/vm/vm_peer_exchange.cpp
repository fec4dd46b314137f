// SPDX-License-Identifier: Apache-2.0
#include "vm_peer_exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <span>
#include <thread>

#include "rashpa/core/error.hpp"
#include "rashpa/core/time/clock.hpp"

namespace rashpa::vm {

namespace {

void give_one(const std::string& path, std::span<const ExchangedEnd> ends) {
  const std::string partial = path + ".partial";
  std::ofstream file(partial);
  file << ends.size() << '\n';
  for (const auto& [end, p] : ends) {
    file << fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {}\n", end.address, end.port, end.qpn, end.rkey,
                        end.credit_offset, end.psn, p.pixels_offset, p.slot_bytes, p.slots, p.first_line_offset,
                        p.pitch, p.line_bytes, p.lines, p.records_offset);
  }
  file.close();
  if (!file) throw FileError(fmt::format("vm_peer: cannot write {}; is the folder there?", partial));
  std::filesystem::rename(partial, path);
}

std::vector<ExchangedEnd> take_one(const std::string& path, std::int64_t until) {
  while (!std::filesystem::exists(path)) {
    if (now_ns() > until) throw FileError(fmt::format("vm_peer: {} did not come; did the other side start?", path));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // wait: in bounded time
  }
  std::ifstream file(path);
  std::size_t count = 0;
  file >> count;
  std::vector<ExchangedEnd> ends(count <= 256 ? count : 0);
  for (auto& [end, p] : ends) {
    file >> end.address >> end.port >> end.qpn >> end.rkey >> end.credit_offset >> end.psn >> p.pixels_offset >>
        p.slot_bytes >> p.slots >> p.first_line_offset >> p.pitch >> p.line_bytes >> p.lines >> p.records_offset;
  }
  if (!file || ends.empty()) throw FileError(fmt::format("vm_peer: {} holds no ends", path));
  return ends;
}

}  // namespace

void give(const std::vector<std::string>& prefixes, const std::string& suffix, const std::vector<ExchangedEnd>& ends) {
  const std::size_t share = ends.size() / prefixes.size();
  for (std::size_t i = 0; i < prefixes.size(); ++i) {
    give_one(prefixes[i] + suffix, std::span(ends).subspan(i * share, share));
  }
}

std::vector<ExchangedEnd> take(const std::vector<std::string>& prefixes, const std::string& suffix, double timeout_s) {
  const std::int64_t until = now_ns() + static_cast<std::int64_t>(timeout_s * 1e9);
  std::vector<ExchangedEnd> ends;
  for (const std::string& prefix : prefixes) {
    for (const ExchangedEnd& end : take_one(prefix + suffix, until)) ends.push_back(end);
  }
  return ends;
}

bool there(const std::vector<std::string>& prefixes, const std::string& suffix) {
  return std::all_of(prefixes.begin(), prefixes.end(),
                     [&](const std::string& prefix) { return std::filesystem::exists(prefix + suffix); });
}

}  // namespace rashpa::vm
