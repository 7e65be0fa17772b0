#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

namespace weir::http {

// What a connection is at.
enum class Doing : std::uint8_t {
  silent,    // no whole request yet: it may be anybody
  idle,      // between two requests
  busy,      // in the middle of a further request, or of an answer
  listening  // to a stream
};

// The connections that there are, and which of them makes room for a new one, so that strangers that hold
// many take them from each other. One thread.
class Crowd {
 public:
  using Id = std::uint64_t;

  Id enter(std::string peer);
  void turn_to(Id id, Doing doing);
  void leave(Id id) { all_.erase(id); }
  [[nodiscard]] std::size_t size() const { return all_.size(); }

  // The one that has been silent for longest, while the silent are half of those that do not listen or more,
  // or there are no others; else the one that has been idle for longest, then the one that has been busy for
  // longest. The silent keep a half, so that a new client has time for its request even when others hold all
  // connections that they can get. Nothing: all listen.
  [[nodiscard]] std::optional<Id> makes_room() const;
  // For a new listener at `peer`: the oldest listener of the address that has most, if that has more than
  // `peer`.
  [[nodiscard]] std::optional<Id> listener_makes_room(const std::string& peer) const;

 private:
  struct One {
    std::string peer;
    Doing doing = Doing::silent;
    std::uint64_t since = 0;  // which turn that was, of all
  };
  std::unordered_map<Id, One> all_;
  std::uint64_t turns_ = 0;
};

}  // namespace weir::http
