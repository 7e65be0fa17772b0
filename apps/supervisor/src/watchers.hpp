#pragma once

#include <weir/sessions/peer.hpp>
#include <weir/v1/control.pb.h>

#include <optional>
#include <vector>

namespace weir::supervisor {

// The clients that watch the run; each acknowledges the account. If its connection breaks, this process dies
// or exceeds its patience, the next process sends the account again.
class RunWatchers {
 public:
  static constexpr DurationNs kWatcherPatience = 10 * kSecond;  // while a client cannot connect
  static constexpr DurationNs kThere = kSecond;                 // ... for a connected client

  // It is given the account, if there is one.
  void add(sessions::Peer& peer);
  void remove(sessions::Peer& peer) { std::erase(peers_, &peer); }
  // A client may exist that reconnects more slowly than the run ends.
  void expect() { watched_ = true; }
  [[nodiscard]] bool is_empty() const { return peers_.empty(); }
  [[nodiscard]] bool was_one() const { return watched_; }

  // Sends a message to the clients that keep up with earlier ones.
  void say(const v1::Control& message) const;
  // Sends the account to all clients. `awaited`: a client that may connect later must receive it.
  void give_account(v1::Control account, bool awaited, TimeNs now_ns);
  // A client has acknowledged the account.
  void account_taken(TimeNs now_ns);
  [[nodiscard]] bool have_account() const { return account_.has_value(); }
  [[nodiscard]] bool wait_no_longer(TimeNs now_ns) const { return account_ && now_ns >= until_ns_; }
  // True until a client has acknowledged it.
  [[nodiscard]] bool account_awaited() const { return awaited_; }

 private:
  std::vector<sessions::Peer*> peers_;
  bool watched_ = false;
  std::optional<v1::Control> account_;
  bool awaited_ = false;
  TimeNs until_ns_ = 0;
};

}  // namespace weir::supervisor
