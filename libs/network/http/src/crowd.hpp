#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

namespace weir::http {

// State of a connection.
enum class Doing : std::uint8_t {
  silent,    // no complete request yet: an unknown client
  idle,      // between two requests
  busy,      // in a further request, or in a response
  listening  // an event stream
};

// The open connections, and the choice of one that is closed to make room for a new one, so that clients with
// many connections displace each other. Not thread-safe.
class Crowd {
 public:
  using Id = std::uint64_t;

  Id enter(std::string peer);
  void turn_to(Id id, Doing doing);
  void leave(Id id) { all_.erase(id); }
  [[nodiscard]] std::size_t size() const { return all_.size(); }

  // Returns the connection to close: the one that has been silent longest, if silent ones are at least half
  // of those without a stream, or if no others exist; else the one idle longest, else the one busy longest.
  // Half of the places stay for silent ones, so that a new client has time for its request even if others
  // hold all the connections that they can get. Returns nothing if all are streams.
  [[nodiscard]] std::optional<Id> makes_room() const;
  // For a new stream to `peer`: returns the oldest stream of the address with the most, if that has more than
  // `peer`.
  [[nodiscard]] std::optional<Id> listener_makes_room(const std::string& peer) const;

 private:
  struct One {
    std::string peer;
    Doing doing = Doing::silent;
    std::uint64_t since = 0;  // sequence number of its last change of state
  };
  std::unordered_map<Id, One> all_;
  std::uint64_t turns_ = 0;
};

}  // namespace weir::http
