#include "crowd.hpp"

#include <weir/base/assert.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace weir::http {

Crowd::Id Crowd::enter(std::string peer) {
  const Id id = ++turns_;
  all_[id] = {std::move(peer), Doing::silent, id};
  return id;
}

void Crowd::turn_to(Id id, Doing doing) {
  const auto found = all_.find(id);
  if (found == all_.end()) return;
  WEIR_ASSERT(found->second.doing != Doing::listening);  // a stream ends with its connection
  found->second.doing = doing;
  found->second.since = ++turns_;
}

std::optional<Crowd::Id> Crowd::makes_room() const {
  struct Oldest {
    std::optional<Id> id;
    std::uint64_t since = 0;
    std::size_t count = 0;
  };
  std::array<Oldest, 4> oldest;
  for (const auto& [id, one] : all_) {
    WEIR_ASSERT(static_cast<std::size_t>(one.doing) < oldest.size());
    Oldest& of = oldest[static_cast<std::size_t>(one.doing)];
    ++of.count;
    if (of.id && of.since < one.since) continue;
    of.id = id;
    of.since = one.since;
  }
  const Oldest& silent = oldest[static_cast<std::size_t>(Doing::silent)];
  const Oldest& idle = oldest[static_cast<std::size_t>(Doing::idle)];
  const Oldest& busy = oldest[static_cast<std::size_t>(Doing::busy)];
  if (silent.count > 0 && silent.count >= idle.count + busy.count) return silent.id;
  return idle.id ? idle.id : busy.id;
}

std::optional<Crowd::Id> Crowd::listener_makes_room(const std::string& peer) const {
  std::map<std::string, std::size_t> listeners;
  for (const auto& [id, one] : all_) {
    if (one.doing == Doing::listening) ++listeners[one.peer];
  }
  std::size_t most = 0;
  for (const auto& [address, count] : listeners) most = std::max(most, count);
  const auto own = listeners.find(peer);
  if (most <= (own == listeners.end() ? 0 : own->second)) return std::nullopt;
  std::optional<Id> chosen;
  std::uint64_t since = 0;
  for (const auto& [id, one] : all_) {
    if (one.doing != Doing::listening || listeners[one.peer] != most) continue;
    if (chosen && since < one.since) continue;
    chosen = id;
    since = one.since;
  }
  return chosen;
}

}  // namespace weir::http
