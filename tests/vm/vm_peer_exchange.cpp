#include "vm_peer_exchange.hpp"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "rashpa/core/clock.hpp"
#include "rashpa/core/error.hpp"

namespace rashpa::vm {

bool there(const std::string& path) { return std::filesystem::exists(path); }

void give(const std::string& path, const std::vector<ExchangedEnd>& ends) {
  const std::string partial = path + ".partial";
  std::ofstream file(partial);
  file << ends.size() << '\n';
  for (const auto& [end, p] : ends) {
    file << fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {}\n", end.address, end.port, end.qpn, end.rkey,
                        end.credit_offset, p.pixels_offset, p.slot_bytes, p.slots, p.first_line_offset, p.pitch,
                        p.line_bytes, p.lines, p.records_offset);
  }
  file.close();
  if (!file) throw FileError(fmt::format("vm_peer: cannot write {}; is the folder there?", partial));
  std::filesystem::rename(partial, path);
}

std::vector<ExchangedEnd> take(const std::string& path, double timeout_s) {
  const std::int64_t until = now_ns() + static_cast<std::int64_t>(timeout_s * 1e9);
  while (!there(path)) {
    if (now_ns() > until) throw FileError(fmt::format("vm_peer: {} did not come; did the other side start?", path));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  std::ifstream file(path);
  std::size_t count = 0;
  file >> count;
  std::vector<ExchangedEnd> ends(count <= 256 ? count : 0);
  for (auto& [end, p] : ends) {
    file >> end.address >> end.port >> end.qpn >> end.rkey >> end.credit_offset >> p.pixels_offset >> p.slot_bytes >>
        p.slots >> p.first_line_offset >> p.pitch >> p.line_bytes >> p.lines >> p.records_offset;
  }
  if (!file || ends.empty()) throw FileError(fmt::format("vm_peer: {} holds no ends", path));
  return ends;
}

}  // namespace rashpa::vm
