#include "roster.hpp"

#include <weir/base/assert.hpp>

#include <algorithm>
#include <limits>

namespace weir::supervisor {
namespace {

constexpr std::size_t kBuriedMax = 10'000;
constexpr std::size_t kBuriedSourcesMax = 1'000'000;  // rows of sources, of all buried reports
constexpr double kUnknownUs = std::numeric_limits<double>::infinity();

double or_unknown(double base_us) { return base_us > 0 ? base_us : kUnknownUs; }

// Returns the shortest round trip that this DCM has measured at its port.
double base_us_of(const RosterMember& dcm) {
  const auto base_us = reports::gauge_of(dcm.report, "shaper.base_us");
  return !dcm.has_report || !base_us ? kUnknownUs : or_unknown(*base_us);
}

assignment::DcmLedger dcm_ledger(const v1::Report& report) {
  assignment::DcmLedger ledger;
  ledger.index = NodeIndex(static_cast<std::uint16_t>(report.index()));
  ledger.name = report.name();
  ledger.final = report.final();
  ledger.assigned = reports::counter_of(report, "dcm.assigned");
  ledger.rejected = reports::sum_of(report, "rejected");
  ledger.stored = reports::sum_of(report, "stored");
  ledger.discarded = reports::sum_of(report, "discarded");
  ledger.forwarded = reports::sum_of(report, "forwarded");
  ledger.unheard = reports::counter_of(report, "dcm.unheard");
  ledger.requested = reports::counter_of(report, "fragments.requested");
  ledger.received = reports::counter_of(report, "fragments.received");
  for (std::size_t i = 0; i < ledger.missing.size(); ++i) {
    ledger.missing[i] =
        reports::counter_of(report, "fragments.missing.", name(static_cast<MissingReason>(i)));
  }
  ledger.cancelled = reports::counter_of(report, "fragments.cancelled");
  ledger.prefetched = reports::counter_of(report, "prefetch.fragments");
  ledger.prefetch_used = reports::counter_of(report, "prefetch.used");
  ledger.prefetch_unused = reports::counter_of(report, "prefetch.unused");
  ledger.late = reports::counter_of(report, "fragments.late");
  ledger.duplicate = reports::counter_of(report, "fragments.duplicate");
  ledger.unknown = reports::counter_of(report, "fragments.unknown");
  ledger.corrupt = reports::counter_of(report, "fragments.corrupt");
  ledger.fetch_sent = reports::counter_of(report, "fetch.fragments_sent");
  ledger.fetch_arrived = reports::counter_of(report, "fetch.fragments");
  ledger.fetch_broken =
      reports::counter_of(report, "fetch.broken") + reports::counter_of(report, "fetch.from_readouts");
  return ledger;
}

assignment::WriterLedger writer_ledger(const v1::Report& report) {
  assignment::WriterLedger ledger;
  ledger.index = NodeIndex(static_cast<std::uint16_t>(report.index()));
  ledger.name = report.name();
  ledger.final = report.final();
  ledger.live = reports::sum_of(report, "live");
  ledger.dead = reports::counter_of(report, "writer.dead_copies");
  ledger.files_compared = reports::counter_of(report, "writer.files_compared");
  ledger.files_left = reports::counter_of(report, "writer.files_left");
  ledger.lost = reports::counter_of(report, "writer.slices_lost");
  return ledger;
}

assignment::ReadoutLedger readout_ledger(const v1::Report& report) {
  assignment::ReadoutLedger ledger;
  ledger.index = NodeIndex(static_cast<std::uint16_t>(report.index()));
  ledger.name = report.name();
  ledger.final = report.final();
  ledger.produced = reports::counter_of(report, "fragments.produced");
  ledger.cleared = reports::counter_of(report, "fragments.cleared");
  ledger.held = reports::counter_of(report, "fragments.held");
  for (const auto& [reason, count] : reports::by_reason(report, "fragments.dropped."))
    ledger.dropped.emplace_back(reason, count);
  return ledger;
}

void add(LedgerInput& input, const v1::Report& report) {
  switch (report.role()) {
    case v1::ROLE_DCM:
      input.dcms.push_back(dcm_ledger(report));
      break;
    case v1::ROLE_READOUT:
      input.readouts.push_back(readout_ledger(report));
      break;
    default:
      break;
  }
}

}  // namespace

bool RosterMember::meet(Incarnation process) {
  constexpr std::size_t kMetMax = 64;
  if (std::find(met.begin(), met.end(), process) != met.end()) return true;
  if (met.size() == kMetMax) met.erase(met.begin());
  met.push_back(process);
  return false;
}

RosterMember& Roster::plan(Role role, NodeIndex index, const std::string& name, const std::string& port) {
  WEIR_ASSERT(members_.size() < kNoPlace);
  const auto place = static_cast<std::uint32_t>(members_.size());
  RosterMember& member = members_.emplace_back();
  member.role = role;
  member.index = index;
  member.name = name;
  member.port = port;
  std::vector<std::uint32_t>& places = places_.at(static_cast<std::size_t>(role));
  if (places.size() <= index.value) places.resize(index.value + std::size_t{1}, kNoPlace);
  if (places[index.value] == kNoPlace) places[index.value] = place;
  by_name_.try_emplace(name, place);
  return member;
}

std::uint32_t Roster::place_of(Role role, NodeIndex index) const {
  const auto number = static_cast<std::size_t>(role);
  if (number >= places_.size() || index.value >= places_[number].size()) return kNoPlace;
  ++steps_;
  WEIR_ASSERT(places_[number][index.value] == kNoPlace || places_[number][index.value] < members_.size());
  return places_[number][index.value];
}

RosterMember* Roster::find(Role role, NodeIndex index) {
  const std::uint32_t place = place_of(role, index);
  return place == kNoPlace ? nullptr : &members_[place];
}

const RosterMember* Roster::find(Role role, NodeIndex index) const {
  const std::uint32_t place = place_of(role, index);
  return place == kNoPlace ? nullptr : &members_[place];
}

std::string Roster::name_of(Role role, NodeIndex index) const {
  const RosterMember* member = find(role, index);
  return member == nullptr ? assignment::plain_name(role, index) : member->name;
}

RosterMember* Roster::find(const sessions::Peer& peer) {
  if (peer.tag >= members_.size()) return nullptr;
  ++steps_;
  RosterMember& member = members_[peer.tag];
  return member.peer == &peer ? &member : nullptr;
}

RosterMember* Roster::find(const std::string& name) {
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) return nullptr;
  ++steps_;
  return &members_[found->second];
}

void Roster::connected(RosterMember& member, sessions::Peer& peer) {
  WEIR_ASSERT(&member >= members_.data() && &member < members_.data() + members_.size());
  peer.tag = static_cast<std::uint64_t>(&member - members_.data());
  member.peer = &peer;
}

bool Roster::take_report(RosterMember& member, const v1::Report& report) {
  const double before = base_us_of(member);
  member.report = report;
  member.report.set_name(member.name);  // the name is known from the hello
  member.report.set_role(static_cast<v1::Role>(member.role));
  member.report.set_index(member.index.value);
  member.report.set_incarnation(member.incarnation.value);
  member.has_report = true;
  const double after = base_us_of(member);
  if (member.role != Role::dcm || before == after || member.share_sent.members <= 1) return false;
  // Values above the shortest have no effect.
  return std::min(before, after) <= or_unknown(member.share_sent.base_us);
}

std::map<std::string_view, DcmPortShare> Roster::port_shares() const {
  std::map<std::string_view, DcmPortShare> shares;
  for (const RosterMember& member : members_) {
    ++steps_;
    if (member.role != Role::dcm || member.peer == nullptr) continue;
    DcmPortShare& share = shares[member.port];
    ++share.members;
    const double base_us = std::min(base_us_of(member), or_unknown(share.base_us));
    share.base_us = base_us == kUnknownUs ? 0 : base_us;
  }
  return shares;
}

void Roster::bury(RosterMember& member) {
  const bool counts = !member.report.final() || member.role != Role::writer;
  if (member.has_report && counts) keep(member.report);
  member.has_report = false;
  member.report.Clear();
}

void Roster::unbury(RosterMember& member) {
  std::erase_if(buried_, [&](v1::Report& report) {
    if (report.name() != member.name || report.incarnation() != member.incarnation.value) return false;
    // It is the last one if the process dies before the next.
    member.report = std::move(report);
    member.has_report = true;
    return true;
  });
  count_buried();
}

void Roster::keep(const v1::Report& report) {
  const bool fits = buried_.size() < kBuriedMax;
  (fits ? buried_totals_ : beyond_totals_).add(report, true);
  if (!fits) {
    forgot_sources_ = true;
    return;
  }
  buried_.push_back(report);
  buried_sources_ += static_cast<std::size_t>(report.sources().source_size());
  if (buried_sources_ <= kBuriedSourcesMax) return;
  buried_.back().clear_sources();
  WEIR_ASSERT(buried_.size() <= kBuriedMax);
  forgot_sources_ = true;
}

void Roster::count_buried() {
  buried_totals_ = {};
  buried_sources_ = 0;
  for (const v1::Report& report : buried_) {
    buried_totals_.add(report, true);
    buried_sources_ += static_cast<std::size_t>(report.sources().source_size());
  }
}

reports::FragmentTotals Roster::totals() const {
  reports::FragmentTotals totals = buried_totals_;
  totals.add(beyond_totals_);
  for (const RosterMember& member : members_) {
    if (member.has_report) totals.add(member.report, false);
  }
  return totals;
}

void Roster::recall(const v1::Report& report) {
  RosterMember* member =
      find(static_cast<Role>(report.role()), NodeIndex(static_cast<std::uint16_t>(report.index())));
  const bool last = member != nullptr && member->incarnation.value == report.incarnation();
  // The same process has reported again.
  std::erase_if(buried_, [&](const v1::Report& other) {
    return other.name() == report.name() && other.incarnation() == report.incarnation();
  });
  count_buried();
  if (last && report.final()) {
    member->report = report;
    member->has_report = true;
    return;
  }
  if (report.final() && report.role() == v1::ROLE_WRITER) return;
  keep(report);
}

bool Roster::complete() const {
  return std::all_of(members_.begin(), members_.end(),
                     [](const RosterMember& member) { return member.peer != nullptr || member.absent; });
}

std::string Roster::absent() const {
  std::string names;
  for (const RosterMember& member : members_) {
    if (member.peer == nullptr && !member.absent) names += (names.empty() ? "" : ", ") + member.name;
  }
  return names;
}

std::string Roster::not_begun() const {
  std::string names;
  for (const RosterMember& member : members_) {
    const bool answers = member.role == Role::readout || member.role == Role::dcm;
    if (answers && member.peer != nullptr && !member.begun)
      names += (names.empty() ? "" : ", ") + member.name;
  }
  return names;
}

bool Roster::all_final() const {
  return std::all_of(members_.begin(), members_.end(), [](const RosterMember& member) {
    return member.peer == nullptr || (member.has_report && member.report.final());
  });
}

bool Roster::is_one_away() const {
  return std::any_of(members_.begin(), members_.end(), [](const RosterMember& member) {
    return member.was_there && member.peer == nullptr && !(member.has_report && member.report.final());
  });
}

// A restarted writer reports the contents of its disk for all its processes, so its earlier reports do not
// count. A writer lost for good is represented by its index alone.
void add_writer(LedgerInput& input, const RosterMember& member) {
  if (member.has_report && member.report.final()) {
    input.writers.push_back(writer_ledger(member.report));
  } else if (member.was_there) {
    assignment::WriterLedger lost;
    lost.index = member.index;
    lost.name = member.name;
    lost.final = false;
    input.writers.push_back(lost);
  }
}

LedgerInput ledger_input(const Roster& roster) {
  LedgerInput input;
  for (const v1::Report& report : roster.buried()) add(input, report);
  for (const RosterMember& member : roster.members()) {
    if (member.role == Role::writer) {
      add_writer(input, member);
    } else if (member.has_report) {
      add(input, member.report);
    }
  }
  return input;
}

}  // namespace weir::supervisor
