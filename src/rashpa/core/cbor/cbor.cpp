// SPDX-License-Identifier: Apache-2.0
#include "rashpa/core/cbor/cbor.hpp"

#include <bit>

namespace rashpa {

void Cbor::big_endian(std::uint64_t value, unsigned size) {
  for (unsigned i = size; i-- > 0;) out_.push_back(static_cast<std::byte>(value >> 8 * i));
}

// The shortest form.
void Cbor::head(unsigned major, std::uint64_t value) {
  const unsigned type = major << 5U;
  if (value < 24) {
    out_.push_back(static_cast<std::byte>(type | value));
    return;
  }
  const unsigned power = value <= 0xFF ? 0 : value <= 0xFFFF ? 1 : value <= 0xFFFF'FFFF ? 2 : 3;
  out_.push_back(static_cast<std::byte>(type | (24U + power)));
  big_endian(value, 1U << power);
}

void Cbor::integer(std::int64_t value) {
  value >= 0 ? head(0, static_cast<std::uint64_t>(value)) : head(1, ~static_cast<std::uint64_t>(value));
}

void Cbor::real(double value) {
  out_.push_back(std::byte{0xFB});
  big_endian(std::bit_cast<std::uint64_t>(value), 8);
}

void Cbor::text(std::string_view value) {
  head(3, value.size());
  append(std::as_bytes(std::span(value)));
}

// The number of entries is written when it is known, in the form of two bytes.
Cbor::Map::Map(Cbor& cbor) : cbor_(cbor), at_(cbor.out_.size()) {
  cbor_.out_.push_back(std::byte{0xB9});
  cbor_.big_endian(0, 2);
}

Cbor::Map::~Map() {
  cbor_.out_[at_ + 1] = static_cast<std::byte>(entries_ >> 8U);
  cbor_.out_[at_ + 2] = static_cast<std::byte>(entries_);
}

Cbor& Cbor::Map::key(std::string_view name) {
  ++entries_;
  cbor_.text(name);
  return cbor_;
}

}  // namespace rashpa
