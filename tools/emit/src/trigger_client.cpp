#include "trigger_client.hpp"

#include <unistd.h>

namespace weir::emit {
namespace {

constexpr DurationNs kRetry = 100 * kMillisecond;

sessions::PeerInfo identity(const std::string& farm) {
  sessions::PeerInfo self;
  self.role = Role::trigger;
  self.name = "emit";
  self.farm = farm;
  self.incarnation = Incarnation(static_cast<std::uint64_t>(::getpid()) + 1);
  return self;
}

}  // namespace

TriggerClient::TriggerClient(const std::string& farm, const ports::Endpoint& supervisor,
                             std::shared_ptr<const ports::Authenticator> authenticator)
    : self_(identity(farm)),
      limits_{.authenticator = std::move(authenticator)},
      link_(self_, *this, limits_, counters_, supervisor, kRetry) {}

void TriggerClient::offer(const std::vector<source::Trigger>& triggers) {
  if (triggers.empty() || !link_.ready()) return;
  v1::Control message;
  for (const source::Trigger& trigger : triggers) {
    v1::TriggerOffer::One& one = *message.mutable_trigger()->add_triggers();
    one.set_slice(trigger.slice.value);
    one.set_time_ns(trigger.time);
    one.set_type(trigger.type.value);
  }
  offered_ += triggers.size();
  link_.peer().send(message);
}

void TriggerClient::on_ready(sessions::Peer& peer) {
  run_ = peer.info().run;
  trouble_.clear();
}

void TriggerClient::on_gone(sessions::Peer& peer, std::string_view why) {
  trouble_ = why;
  refused_ = !was_taken_ && peer.was_refused();
  if (!was_taken_ && !refused_) return;
  over_ = was_taken_;
  link_.stop();
}

Expected<void, wire::WireError> TriggerClient::on_control(sessions::Peer&, const v1::Control& message) {
  for (const v1::TriggerAnswer::One& answer : message.trigger_answer().answers()) {
    ++answered_;
    if (!was_taken_ && answer.busy() == "not_running") {
      first_ = false;
      continue;
    }
    if (!was_taken_) first_ = true;
    was_taken_ = true;
    if (answer.taken()) {
      ++taken_;
    } else {
      ++vetoed_[answer.busy()];
      over_ = over_ || answer.busy() == "draining";
    }
  }
  return {};
}

}  // namespace weir::emit
