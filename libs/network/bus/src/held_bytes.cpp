#include "held_bytes.hpp"

#include <weir/base/assert.hpp>

#include <algorithm>
#include <utility>

namespace weir::bus {

std::uint64_t HeldBytes::Connection::held() const {
  const std::uint64_t out = queued > written ? queued - written : 0;
  return incoming() + (ends ? 0 : out);
}

HeldBytes::Connection* HeldBytes::find(ConnectionKey key) {
  const auto found = connections_.find(key);
  return found == connections_.end() ? nullptr : &found->second;
}

bool HeldBytes::opened(ConnectionKey key) {
  closed(key);  // an older one with this descriptor
  Connection& fresh = connections_[key];
  fresh.ends = connections_.size() > limits_.connections_max;
  return !fresh.ends;
}

void HeldBytes::closed(ConnectionKey key) {
  const auto found = connections_.find(key);
  if (found == connections_.end()) return;
  left_behind_[key.socket] += found->second.incoming();
  connections_.erase(found);
}

void HeldBytes::read(ConnectionKey key, std::uint64_t bytes) {
  if (Connection* one = find(key)) one->read = std::max(one->read, bytes);
}

bool HeldBytes::taken(ConnectionKey key, std::uint64_t bytes) {
  const bool is_short = bytes <= limits_.first_bytes_max;
  Connection* one = find(key);
  if (one == nullptr) {
    const auto left = left_behind_.find(key.socket);
    if (left != left_behind_.end()) left->second -= std::min(left->second, bytes);
    return is_short;
  }
  one->taken += bytes;
  one->has_sent = one->has_sent || is_short;
  return is_short || (one->has_sent && !one->ends);
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
    if (!one.ends && !one.has_sent && one.held() > limits_.first_bytes_max) end(key, one);
  }
  std::uint64_t sum = bytes();
  if (sum <= limits_.bytes_max) return found;
  std::vector<std::pair<std::uint64_t, ConnectionKey>> largest;
  for (const auto& [key, one] : connections_) {
    if (!one.ends && one.held() > limits_.first_bytes_max / kSmallShare)
      largest.emplace_back(one.held(), key);
  }
  std::sort(largest.rbegin(), largest.rend());
  // The hub still takes the messages of ended connections; new ones end until it has.
  for (const auto& [held, key] : largest) {
    if (sum <= limits_.bytes_max) break;
    WEIR_ASSERT(held <= sum);
    sum -= held;
    end(key, connections_.at(key));
  }
  return found;
}

std::uint64_t HeldBytes::bytes() const {
  std::uint64_t sum = 0;
  for (const auto& [key, one] : connections_) sum += one.held();
  for (const auto& [socket, left] : left_behind_) sum += left;
  return sum;
}

std::vector<ConnectionKey> HeldBytes::keys() const {
  std::vector<ConnectionKey> keys;
  for (const auto& [key, one] : connections_) keys.push_back(key);
  return keys;
}

}  // namespace weir::bus
