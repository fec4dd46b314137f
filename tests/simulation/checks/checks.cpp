// SPDX-License-Identifier: Apache-2.0
#include "checks/checks.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rashpa::simulation {

namespace {

constexpr std::int64_t kMs = 1'000'000;
constexpr std::uint64_t kNobody = UINT64_MAX;

std::string_view name_of(Completeness fate) noexcept {
  constexpr std::string_view kNames[] = {"open", "complete", "partial", "missing"};
  return kNames[static_cast<std::size_t>(fate)];
}

std::uint64_t count_of(const std::vector<Completeness>& fates, Completeness which) noexcept {
  return static_cast<std::uint64_t>(std::count(fates.begin(), fates.end(), which));
}

void expect_equal(std::vector<std::string>& wrong, std::string_view what, std::uint64_t is, std::uint64_t should) {
  if (is != should) wrong.push_back(fmt::format("{}: {}, and not {}", what, is, should));
}

}  // namespace

std::uint64_t silent_from(const std::vector<const PathLog*>& logs, std::uint32_t stack) noexcept {
  std::uint64_t first = kNobody;
  for (const PathLog* log : logs) {
    for (std::uint64_t begin = 0; log != nullptr && begin + stack <= log->harmed.size(); begin += stack) {
      const auto at = log->harmed.begin() + static_cast<std::ptrdiff_t>(begin);
      if (std::all_of(at, at + stack, [](bool harmed) { return harmed; })) first = std::min(first, begin);
    }
  }
  return first;
}

std::int64_t longest_of_calm(const Scenario& scenario) noexcept {
  std::int64_t put_ns = 0;
  for (const SinkHabit& sink : scenario.sinks) put_ns += sink.put_ns;
  const auto images = static_cast<std::int64_t>(scenario.frames);
  const double span = scenario.rate_hz > 0 ? static_cast<double>(images) * 1e9 / scenario.rate_hz : 0;
  return static_cast<std::int64_t>(span) + images * (put_ns + 8 * scenario.network.delay_ns + kMs) + 60 * kMs;
}

Promised promised_of(const Scenario& scenario, std::int64_t disturbed_ns, bool aborted, bool in_error, bool killed) {
  Promised promised;
  const bool reliable = scenario.roce.transport == link::Transport::rc;
  const bool waits = scenario.flow == link::Flow::credits && scenario.on_full == transfer::OnFull::pause;
  const bool in_order = scenario.network.duplicate == 0 && scenario.network.reorder == 0;
  const bool in_time = disturbed_ns < scenario.deadline_ms * kMs / 4;
  // A lost packet holds up its source for a while, and others of the same image.
  constexpr std::int64_t kHeldUpMs = 250;
  const NetworkFaults& network = scenario.network;
  const bool held_up = network.drop > 0 || network.corrupt > 0 || network.drop_answers > 0;
  promised.harmed_is_found = !reliable && scenario.roce.records;  // a record is part of an image that has one
  promised.unharmed_arrives =
      !reliable && waits && in_order && in_time && !aborted && (!held_up || scenario.deadline_ms >= kHeldUpMs);
  constexpr std::int64_t kRepeatedMs = 9'000;
  promised.all_arrives = reliable && waits && in_time && scenario.deadline_ms > kRepeatedMs && !aborted && !in_error &&
                         !killed && !scenario.has(Deed::stop);
  return promised;
}

std::vector<std::string> books_wrong(const receiver::Status& status, const std::vector<Completeness>& fates,
                                     const std::vector<Decision>& decisions) {
  std::vector<std::string> wrong;
  const receiver::BufferStatus& buffer = status.buffers[0];
  const Books& books = buffer.books;
  if (!books.arrivals_balance()) {
    wrong.push_back(fmt::format("the books do not add up: {} complete, {} partial, {} missing of {} expected",
                                books.complete, books.partial, books.missing, books.expected));
  }
  if (!books.balanced()) {
    wrong.push_back(fmt::format(
        "the decisions do not add up: {} complete and {} partial, {} accepted, {} vetoed, {} errored, {} written",
        books.complete, books.partial, books.accepted, books.vetoed, books.errored, books.written));
  }
  expect_equal(wrong, "images that are open at the end", count_of(fates, Completeness::open), 0);
  expect_equal(wrong, "images in the table of fates", fates.size(), books.expected);
  expect_equal(wrong, "complete images in the table", count_of(fates, Completeness::complete), books.complete);
  expect_equal(wrong, "partial images in the table", count_of(fates, Completeness::partial), books.partial);
  expect_equal(wrong, "accepted images in the table",
               static_cast<std::uint64_t>(std::count(decisions.begin(), decisions.end(), Decision::accepted)),
               books.accepted);
  for (const receiver::DtpStatus& dtp : buffer.dtps) {
    expect_equal(wrong, fmt::format("images in the books of DTP {}", dtp.id),
                 dtp.counts.complete + dtp.counts.partial + dtp.counts.missing, books.expected);
  }
  if (books.complete < books.expected && status.first_incomplete.empty()) {
    wrong.emplace_back("images are not complete, and nobody says which was the first");
  }
  return wrong;
}

std::vector<std::string> sink_wrong(const Findings& found, const Books& books) {
  std::vector<std::string> wrong;
  for (std::size_t i = 0; i < found.wrong.size() && i < 3; ++i) wrong.push_back(found.wrong[i]);
  if (!found.closed) wrong.emplace_back("a sink was never closed");
  // Stacks of which nothing has come at the end of a run are given to nobody: sinks know them by their absence.
  if (found.images > books.expected) wrong.emplace_back("a sink has seen more images than there are");
  if (found.images < books.complete + books.partial) wrong.emplace_back("a sink has not seen all images that came");
  expect_equal(wrong, "images that a sink has kept by its own books", found.books.written, found.kept);
  if (!found.books.balanced()) wrong.emplace_back("the books that a sink was closed with do not add up");
  return wrong;
}

std::vector<std::string> fates_wrong(const Scenario& scenario, const Promised& promised,
                                     const std::vector<Completeness>& fates, const std::vector<const PathLog*>& logs) {
  std::vector<std::string> wrong;
  const std::uint64_t silent = logs.size() > 1 ? silent_from(logs, scenario.stack) : kNobody;
  for (std::uint64_t image = 0; image < fates.size() && wrong.size() < 3; ++image) {
    bool all_sent = true;
    bool harmed = false;
    for (const PathLog* log : logs) {
      all_sent = all_sent && log != nullptr && image < log->images;
      harmed = harmed || (log != nullptr && image < log->harmed.size() && log->harmed[image]);
    }
    const bool complete = fates[image] == Completeness::complete;
    if (complete && !all_sent) {
      wrong.push_back(fmt::format("image {} is complete, and was not sent", image));
    } else if (complete && harmed && promised.harmed_is_found) {
      wrong.push_back(fmt::format("image {} is complete, and the network lost something of it", image));
    } else if (!complete && all_sent && !harmed && promised.unharmed_arrives && image < silent) {
      wrong.push_back(fmt::format("image {} is {}, and all of it was sent and arrived", image, name_of(fates[image])));
    } else if (!complete && all_sent && promised.all_arrives) {
      wrong.push_back(
          fmt::format("image {} is {}, and a reliable connection brought it", image, name_of(fates[image])));
    }
  }
  return wrong;
}

}  // namespace rashpa::simulation
