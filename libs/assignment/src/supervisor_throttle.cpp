// Who is how full, and what that does to the triggers.
#include <weir/assignment/reasons.hpp>
#include <weir/assignment/supervisor_machine.hpp>

#include <algorithm>
#include <utility>

namespace weir::assignment {

void SupervisorMachine::throttle(Role role, NodeIndex node, bool on, std::string_view reason, double level) {
  const bool known =
      role == Role::dcm ? dcms_.live(node) : (role == Role::readout ? readouts_ : writers_).live(node);
  if (!known) {
    ++ledger_.strangers;
    return;
  }
  const double bounded = level > 0 ? std::min(level, 1.0) : 0;  // a peer may say anything
  throttles_.set({role, node, on, bounded, std::string(reason)});
  if (role == Role::writer) writers_.set_full(node, on);
  renew_level();
}

bool SupervisorMachine::counts(const ThrottleBoard::Entry& entry) const {
  return parts_.takes_part(entry.role, entry.node) && (entry.role != Role::writer || !writers_.has_room());
}

bool SupervisorMachine::throttled() const {
  if (!throttles_.any_on()) return false;
  const auto entries = throttles_.entries();
  return std::any_of(entries.begin(), entries.end(),
                     [this](const ThrottleBoard::Entry& entry) { return entry.on && counts(entry); });
}

// None: there is no writer, or one that is not full at all.
const ThrottleBoard::Entry* SupervisorMachine::emptiest_writer() const {
  const ThrottleBoard::Entry* emptiest = nullptr;
  for (std::size_t i = 0; i < settings_.writers; ++i) {
    const NodeIndex writer(static_cast<std::uint16_t>(i));
    if (!writers_.live(writer) || !parts_.takes_part(Role::writer, writer)) continue;
    const auto entries = throttles_.entries();
    const auto own =
        std::find_if(entries.begin(), entries.end(), [writer](const ThrottleBoard::Entry& entry) {
          return entry.role == Role::writer && entry.node == writer;
        });
    if (own == entries.end()) return nullptr;
    if (emptiest == nullptr || own->level < emptiest->level) emptiest = &*own;
  }
  return emptiest;
}

void SupervisorMachine::renew_level() {
  board_level_ = 0;
  fullest_.reset();
  if (throttles_.entries().empty()) return;
  const auto look = [this](const ThrottleBoard::Entry& entry) {
    if (entry.level <= board_level_) return;
    board_level_ = entry.level;
    fullest_ = {entry.reason, NodeRef{entry.role, entry.node}, 0};
  };
  for (const ThrottleBoard::Entry& entry : throttles_.entries()) {
    if (entry.role != Role::writer && parts_.takes_part(entry.role, entry.node)) look(entry);
  }
  if (const ThrottleBoard::Entry* writer = emptiest_writer()) look(*writer);
}

double SupervisorMachine::level() const {
  if (source_->waits_for_room()) return board_level_;
  const double pending = static_cast<double>(pending_.size()) / static_cast<double>(settings_.pending_max);
  return std::max(board_level_, pending);
}

std::vector<HoldUp> SupervisorMachine::throttled_by() const {
  std::vector<HoldUp> held_up;
  if (clock_.paused()) held_up.push_back({std::string(name(Reason::run_paused)), std::nullopt, 1});
  for (const ThrottleBoard::Entry& entry : throttles_.entries()) {
    if (entry.on && counts(entry)) held_up.push_back({entry.reason, NodeRef{entry.role, entry.node}, 1});
  }
  const double lost = 1 - gate_.share(level());
  if (!held_up.empty() || lost <= 0) return held_up;
  HoldUp fullest{std::string(name(Reason::slices_pending)), std::nullopt, lost};
  if (fullest_ && level() <= board_level_) fullest = *fullest_;
  fullest.share = lost;
  held_up.push_back(std::move(fullest));
  return held_up;
}

}  // namespace weir::assignment
