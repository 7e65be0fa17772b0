#include "trigger_client.hpp"

#include <algorithm>

namespace weir::sim {
namespace {

constexpr DurationNs kRetry = 20 * kMillisecond;
constexpr std::uint32_t kAgainPermille = 200;
constexpr std::size_t kUnansweredMax = 50;
// Sparse ids: the upper bits count spills, the lower ones events. They share no common factor, because
// filters of scenarios decide by remainders.
constexpr std::uint64_t kSparse = 65'537;

}  // namespace

TriggerClient::TriggerClient(simnet::World& world, const Scenario& scenario, const std::string& farm,
                             const ports::Endpoint& supervisor, std::function<void(const std::string&)> fail)
    : host_(world.add_host("triggers")),
      scenario_(scenario),
      fail_(std::move(fail)),
      random_(scenario.seed ^ 0x69647321),
      every_ns_(std::max<DurationNs>(kMillisecond / 4,
                                     scenario.faults_end_ns / static_cast<DurationNs>(scenario.slices + 1))) {
  self_.role = Role::trigger;
  self_.name = "triggers";
  self_.farm = farm;
  link_.emplace(self_, static_cast<sessions::PeerHandler&>(*this), limits_, counters_, supervisor, kRetry);
  host_.boot([this](TimeNs now_ns) { pass(now_ns); }, [this] { return next_ns_; });
}

TriggerClient::~TriggerClient() {
  host_.crash(simnet::Death::process);
  link_.reset();
}

std::uint64_t TriggerClient::next_id() {
  const std::uint64_t nth = made_++;
  switch (scenario_.ids) {
    case IdOrder::sparse:
      return (nth + 1) * kSparse;
    case IdOrder::descending:
      return 1'000'000 - nth;
    default:
      return nth;
  }
}

void TriggerClient::pass(TimeNs now_ns) {
  link_->tick(host_, now_ns);
  if (now_ns < next_ns_) return;
  next_ns_ = now_ns + every_ns_;
  if (!link_->ready() || unanswered_.size() >= kUnansweredMax) return;
  std::uint64_t id = 0;
  if (!again_.empty()) {
    id = again_.front();
    again_.pop_front();
  } else if (!taken_.empty() && random_.chance(kAgainPermille)) {
    id = taken_[random_.below(taken_.size())];
  } else {
    id = next_id();
  }
  unanswered_.push_back(id);
  v1::Control message;
  message.mutable_trigger()->add_triggers()->set_slice(id);
  link_->peer().send(message);
}

void TriggerClient::on_gone(sessions::Peer&, std::string_view) {
  again_.insert(again_.end(), unanswered_.begin(), unanswered_.end());
  unanswered_.clear();
}

Expected<void, wire::WireError> TriggerClient::on_control(sessions::Peer&, const v1::Control& message) {
  for (const v1::TriggerAnswer::One& answer : message.trigger_answer().answers()) {
    if (unanswered_.empty()) return Unexpected<wire::WireError>(wire::WireError::not_expected);
    const std::uint64_t id = unanswered_.front();
    unanswered_.pop_front();
    if (!answer.taken()) continue;
    if (answer.slice() != id) fail_("trigger " + std::to_string(id) + " is another slice");
    if (std::find(taken_.begin(), taken_.end(), id) != taken_.end())
      fail_("slice " + std::to_string(id) + " was taken twice");
    taken_.push_back(id);
  }
  return {};
}

}  // namespace weir::sim
