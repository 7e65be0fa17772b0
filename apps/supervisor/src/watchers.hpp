#pragma once

#include <weir/sessions/peer.hpp>
#include <weir/v1/control.pb.h>

#include <optional>
#include <vector>

namespace weir::supervisor {

// The clients that watch the run, and whether they have its account: each says that it has. Its connection
// may break on the way, and this process may die, or have slept for as long as it was patient: until then the
// next one gives it again.
class Watchers {
 public:
  static constexpr DurationNs kWatcherPatience = 10 * kSecond;  // while a client cannot connect
  static constexpr DurationNs kThere = kSecond;                 // ... for one that is there

  // It is given the account, if there is one.
  void add(sessions::Peer& peer);
  void remove(sessions::Peer& peer) { std::erase(peers_, &peer); }
  // Perhaps there was one: a client may be slower to come back than the run is to end.
  void expect() { watched_ = true; }
  [[nodiscard]] bool is_empty() const { return peers_.empty(); }
  [[nodiscard]] bool was_one() const { return watched_; }

  // But to those who have not taken what was said before.
  void say(const v1::Control& message) const;
  // To all. `awaited`: a client that may not have come yet is to have it.
  void give_account(v1::Control account, bool awaited, TimeNs now_ns);
  // A client has it.
  void account_taken(TimeNs now_ns);
  [[nodiscard]] bool have_account() const { return account_.has_value(); }
  [[nodiscard]] bool wait_no_longer(TimeNs now_ns) const { return account_ && now_ns >= until_ns_; }
  // No client has said that it has it.
  [[nodiscard]] bool account_awaited() const { return awaited_; }

 private:
  std::vector<sessions::Peer*> peers_;
  bool watched_ = false;
  std::optional<v1::Control> account_;
  bool awaited_ = false;
  TimeNs until_ns_ = 0;
};

}  // namespace weir::supervisor
