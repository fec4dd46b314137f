// SPDX-License-Identifier: Apache-2.0
#include "rashpa/sink/raw/block_writes.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace rashpa::sink {

BlockWrites::BlockWrites(std::unique_ptr<BlockWriter> writer, unsigned in_flight, Failed failed)
    : requests_(in_flight), failed_(std::move(failed)), writer_(std::move(writer)) {
  free_.reserve(in_flight);
  for (std::uint64_t token = 0; token < in_flight; ++token) free_.push_back(token);
  ended_.reserve(BlockWriter::kMostSyncs);
}

void BlockWrites::write(int file, const std::byte* data, std::size_t bytes, std::uint64_t offset, unsigned* owner) {
  while (bytes > 0) {
    look();
    while (free_.empty()) wait();
    const std::size_t part = std::min(bytes, kLargestWrite);
    const std::uint64_t token = free_.back();
    free_.pop_back();
    requests_[token] = {.what = {.file = file, .data = data, .bytes = part, .offset = offset, .token = token},
                        .owner = owner,
                        .marked = marked_};
    if (owner != nullptr) *owner += 1;
    writer_->submit(requests_[token].what);
    data += part;
    bytes -= part;
    offset += part;
  }
}

void BlockWrites::sync(int file, std::uint64_t token) {
  syncs_ += 1;
  writer_->submit({.file = file, .data = nullptr, .bytes = 0, .offset = 0, .token = token | kSync});
}

bool BlockWrites::finished_sync(Sync& sync) {
  look();
  if (ended_.empty()) return false;
  sync = ended_.back();
  ended_.pop_back();
  return true;
}

void BlockWrites::wait() {
  writer_->wait();
  look();
}

void BlockWrites::drain() {
  look();
  while (free_.size() < requests_.size()) wait();
}

void BlockWrites::look() {
  BlockAnswer answer;
  while (writer_->take(answer)) end(answer);
}

void BlockWrites::end(const BlockAnswer& answer) {
  if ((answer.token & kSync) != 0) {
    syncs_ -= 1;
    ended_.push_back({.token = answer.token & ~kSync, .error = answer.error});
    return;
  }
  Request& request = requests_[answer.token];
  if (answer.error == EINTR || answer.error == EAGAIN) return writer_->submit(request.what);
  if (answer.error == 0 && answer.bytes > 0 && answer.bytes < request.what.bytes) {  // the rest, too
    request.what.data += answer.bytes;
    request.what.bytes -= answer.bytes;
    request.what.offset += answer.bytes;
    return writer_->submit(request.what);
  }
  if (answer.error != 0 || answer.bytes == 0) {
    failed_(request.what.file, request.what.offset, request.what.bytes, answer.error != 0 ? answer.error : EIO);
  }
  if (request.owner != nullptr) *request.owner -= 1;
  if (request.marked < marked_) before_mark_ -= 1;
  free_.push_back(answer.token);
}

}  // namespace rashpa::sink
