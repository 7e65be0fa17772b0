#include "watchers.hpp"

#include <weir/base/assert.hpp>

#include <utility>

namespace weir::supervisor {
namespace {

constexpr std::size_t kUnsentMax = 4U << 20;  // bytes that wait for one of them

}  // namespace

void RunWatchers::add(sessions::Peer& peer) {
  peers_.push_back(&peer);
  watched_ = true;
  if (account_) peer.send(*account_);
}

void RunWatchers::say(const v1::Control& message) const {
  for (sessions::Peer* peer : peers_) {
    if (peer->unsent_bytes() < kUnsentMax) peer->send(message);
  }
}

void RunWatchers::give_account(v1::Control account, bool awaited, TimeNs now_ns) {
  WEIR_ASSERT(!account_);
  account_ = std::move(account);
  for (sessions::Peer* peer : peers_) peer->send(*account_);
  awaited_ = awaited || !peers_.empty();
  const DurationNs patience = peers_.empty() ? kWatcherPatience : kThere;
  until_ns_ = awaited_ ? now_ns + patience : now_ns;
}

void RunWatchers::account_taken(TimeNs now_ns) {
  if (!account_) return;
  awaited_ = false;
  until_ns_ = now_ns;
}

}  // namespace weir::supervisor
