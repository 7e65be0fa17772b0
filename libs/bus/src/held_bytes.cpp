#include "held_bytes.hpp"

#include <algorithm>

namespace weir::bus {

std::uint64_t HeldBytes::Connection::held() const {
  if (ends) return 0;
  const std::uint64_t in = read > taken ? read - taken : 0;
  const std::uint64_t out = queued > written ? queued - written : 0;
  return in + out;
}

HeldBytes::Connection* HeldBytes::find(ConnectionKey key) {
  const auto found = connections_.find(key);
  return found == connections_.end() ? nullptr : &found->second;
}

bool HeldBytes::opened(ConnectionKey key) {
  Connection& fresh = connections_[key] = {};  // an older one with this descriptor has ended
  fresh.ends = connections_.size() > limits_.connections_max;
  return !fresh.ends;
}

void HeldBytes::read(ConnectionKey key, std::uint64_t bytes) {
  if (Connection* one = find(key)) one->read = std::max(one->read, bytes);
}

void HeldBytes::taken(ConnectionKey key, std::uint64_t bytes) {
  Connection* one = find(key);
  if (one == nullptr) return;
  one->has_sent = true;
  one->taken += bytes;
}

void HeldBytes::drained(ConnectionKey key, std::uint64_t bytes_read) {
  Connection* one = find(key);
  if (one == nullptr) return;
  one->read = std::max(one->read, bytes_read);
  one->taken = one->read;
}

void HeldBytes::queued(ConnectionKey key, std::uint64_t bytes) {
  if (Connection* one = find(key)) one->queued += bytes;
}

void HeldBytes::written(ConnectionKey key, std::uint64_t bytes) {
  Connection* one = find(key);
  if (one == nullptr) return;
  one->written = std::max(one->written, bytes);
  if (one->queued <= one->written) one->queued = one->written;
}

std::vector<ConnectionKey> HeldBytes::excess() {
  std::vector<ConnectionKey> found;
  const auto end = [&](ConnectionKey key, Connection& one) {
    one.ends = true;
    found.push_back(key);
  };
  for (auto& [key, one] : connections_) {
    if (!one.has_sent && one.held() > limits_.first_bytes_max) end(key, one);
  }
  for (std::uint64_t sum = bytes(); sum > limits_.bytes_max; sum = bytes()) {
    const auto largest = std::max_element(
        connections_.begin(), connections_.end(),
        [](const auto& left, const auto& right) { return left.second.held() < right.second.held(); });
    end(largest->first, largest->second);
  }
  return found;
}

std::uint64_t HeldBytes::bytes() const {
  std::uint64_t sum = 0;
  for (const auto& [key, one] : connections_) sum += one.held();
  return sum;
}

std::vector<ConnectionKey> HeldBytes::keys() const {
  std::vector<ConnectionKey> keys;
  for (const auto& [key, one] : connections_) keys.push_back(key);
  return keys;
}

}  // namespace weir::bus
