#include "front_end_check.hpp"

#include <weir/pieces.hpp>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <set>

namespace weir::sim {
namespace {

using Slip = emulation::SlipKind;

constexpr std::uint64_t kMany = 30;        // misfits by which a source is named
constexpr std::uint64_t kFar = 40;         // slices that are no loss or change of order
constexpr std::uint64_t kSeenWithin = 30;  // slices
constexpr DurationNs kHostsApart = 150 * kMillisecond;
constexpr DurationNs kNamedWithin = kSecond;
constexpr std::uint64_t kNamedWithinSlices = 100;
constexpr std::uint32_t kJudges = 3;                   // sources, to find the one that differs
constexpr DurationNs kClocksApart = 2 * kMillisecond;  // of hosts

std::string place(const storage::SliceRecordView& slice, const storage::FragmentView& fragment) {
  return "slice " + std::to_string(slice.head().slice.value) + " source " +
         std::to_string(fragment.record.source.value) + ": ";
}

}  // namespace

std::string FrontEndCheck::describe() const {
  constexpr const char* kKinds[] = {"none", "dummies", "trigger", "number", "time"};
  constexpr const char* kPolicies[] = {"mark", "mask", "realign"};
  std::string text = std::string("(") + kKinds[static_cast<std::size_t>(plan_.kind)];
  if (plan_.slipped != 0) {
    text += ", source " + std::to_string(plan_.slipped) + " slips: " + std::string(name(plan_.slip)) +
            " at " + std::to_string(plan_.slips_at) + ", " +
            kPolicies[static_cast<std::size_t>(plan_.policy)];
  }
  text += ", " + std::to_string(plan_.counter_bits) + " bits";
  if (plan_.late_source != 0)
    text += ", source " + std::to_string(plan_.late_source) + " joins at " + std::to_string(plan_.joins_at);
  return text + ") ";
}

std::string FrontEndCheck::fragment(const storage::SliceRecordView& slice,
                                    const storage::FragmentView& fragment) {
  if (fragment.record.status == FragmentStatus::missing ||
      fragment.record.status == FragmentStatus::not_requested)
    return {};
  return plan_.kind == FrontEnds::time ? window_fragment(slice, fragment) : event_fragment(slice, fragment);
}

bool FrontEndCheck::is_content(std::uint32_t source, std::uint64_t event, ConstBytes bytes) {
  if (plan_.kind == FrontEnds::dummies)
    return verifier_.verify(RunNumber(1), SourceId(source), SliceId(event), bytes).has_value();
  return std::ranges::equal(front_ends_.content(source, event), bytes);
}

std::optional<std::uint64_t> FrontEndCheck::event_of(std::uint32_t source, std::uint64_t slice,
                                                     ConstBytes bytes) {
  if (is_content(source, slice, bytes)) return slice;
  // One that joins late with a narrow counter may be taken for another number while the farm is behind.
  const bool narrow = source == plan_.late_source && plan_.counter_bits <= 16;
  const std::uint64_t last = front_ends_.happened();
  // Data that are late by most of a narrow counter's range stand for a later number.
  const std::uint64_t range = plan_.counter_bits <= 16 ? 1ULL << plan_.counter_bits : UINT64_MAX;
  for (std::uint64_t event = slice; plan_.kind == FrontEnds::number && event >= range;) {
    event -= range;
    if (plan_.is_late(source, event) && is_content(source, event, bytes)) return event;
  }
  // Without a readout the farm stands still, and its front-ends count on: their counters wrap unseen, all
  // alike.
  const bool wrapped = plan_.kind == FrontEnds::number && plan_.counter_bits <= 16 && no_readout_was_left();
  const bool strange = source == plan_.slipped || narrow || wrapped;
  if (plan_.kind != FrontEnds::number) {
    if (strange && slice > 0 && is_content(source, slice - 1, bytes)) return slice - 1;
    return std::nullopt;
  }
  const std::uint64_t from = wrapped ? 0 : narrow ? plan_.joins_at : plan_.slips_at;
  for (std::uint64_t event = from; strange && event <= last; ++event) {
    const auto number = plan_.number(source, event);
    if (number && plan_.counter_of(source, *number) == plan_.counter_of(source, slice) &&
        is_content(source, event, bytes))
      return event;
    if (plan_.counter_bits > 16 && event > slice + plan_.slips_at + plan_.jump) break;
  }
  // With two sources the wrong one may be realigned. Events of one source may have equal bytes: the nearest.
  const bool realigned = plan_.policy == SlipPolicy::realign && plan_.slipped != 0 && !knows_the_right_one();
  for (std::uint64_t away = 1; realigned && away <= std::max(slice, last); ++away) {
    if (away <= slice && is_content(source, slice - away, bytes)) return slice - away;
    if (is_content(source, slice + away, bytes)) return slice + away;
  }
  return std::nullopt;
}

bool FrontEndCheck::is_disturbed() const {
  return std::ranges::any_of(scenario_.faults, [](const Fault& fault) {
    const auto concerns = [](const std::string& who) {
      return who.starts_with("readout") || who == "supervisor";
    };
    return concerns(fault.who) || concerns(fault.other);
  });
}

bool FrontEndCheck::knows_the_right_one() const {
  if (scenario_.readouts * scenario_.sources < kJudges) return false;
  return !is_disturbed() &&
         scenario_.world.tail_max + scenario_.world.delay_max + plan_.delay_max_ns < plan_.skew_ns &&
         plan_.lost_permille == 0 && plan_.late_permille == 0 && plan_.late_source == 0;
}

std::string FrontEndCheck::slice(const storage::SliceRecordView& slice) {
  behind_ = std::max(behind_, slice.head().slice.value + 1);
  if (plan_.kind == FrontEnds::dummies)
    front_ends_.remember_trigger(slice.head().slice.value, slice.head().trigger_time);
  if (plan_.kind != FrontEnds::number || plan_.tolerance_ns == 0) return {};
  std::set<std::uint64_t> events;
  bool marked = false;
  for (std::size_t i = 0; i < slice.fragment_count(); ++i) {
    const storage::FragmentView fragment = slice.fragment(i);
    const FragmentStatus status = fragment.record.status;
    if (status == FragmentStatus::missing || status == FragmentStatus::not_requested ||
        status == FragmentStatus::corrupt || !fragment.record.kept)
      continue;
    marked = marked || status == FragmentStatus::out_of_step;
    if (const auto event = event_of(fragment.record.source.value, slice.head().slice.value, fragment.bytes))
      events.insert(*event);
  }
  if (events.size() < 2 || marked) return {};
  return "slice " + std::to_string(slice.head().slice.value) + ": " + describe() +
         "has data of several events, and no mark";
}

bool FrontEndCheck::is_seen() const {
  if (plan_.slipped == 0 && plan_.late_source == 0) return false;
  return (plan_.counters && plan_.kind != FrontEnds::number) ||
         (plan_.tolerance_ns > 0 && (plan_.slip == Slip::lag || plan_.kind == FrontEnds::number));
}

std::string FrontEndCheck::event_fragment(const storage::SliceRecordView& slice,
                                          const storage::FragmentView& fragment) {
  const std::uint64_t id = slice.head().slice.value;
  const std::uint32_t source = fragment.record.source.value;
  const auto event = event_of(source, id, fragment.bytes);
  if (!event) return place(slice, fragment) + describe() + "its bytes are those of another event";
  const bool marked = fragment.record.status == FragmentStatus::out_of_step;
  const bool mixed = *event != id;
  bool wrong = mixed;
  if (plan_.kind != FrontEnds::number && plan_.slip != Slip::lag) wrong = plan_.slips(source, id);
  if (plan_.kind == FrontEnds::trigger && plan_.slip == Slip::lag)
    wrong = mixed && shows_by_time(source, *event, id);
  if (!is_seen()) wrong = false;
  if (plan_.kind == FrontEnds::number && !knows_the_right_one()) return {};
  if (marked == wrong) return {};
  // The first counters of a readout that starts again are taken for right.
  const bool by_counter = plan_.kind != FrontEnds::number && plan_.slip != Slip::lag;
  if (source == plan_.slipped && (by_counter || plan_.tolerance_ns == 0) && a_readout_died()) return {};
  return place(slice, fragment) + describe() +
         (marked ? "is marked out of step, and is not" : "is out of step, and not marked");
}

// Two triggers that are closer than the tolerance have the same time.
bool FrontEndCheck::shows_by_time(std::uint32_t source, std::uint64_t event, std::uint64_t slice) const {
  const UtcNs own = front_ends_.trigger_time(event);
  const DurationNs off = own + plan_.noise(source, event) - front_ends_.trigger_time(slice);
  return own != 0 && std::abs(off) > plan_.tolerance_ns / kMicrosecond * kMicrosecond;
}

std::string FrontEndCheck::window_fragment(const storage::SliceRecordView& slice,
                                           const storage::FragmentView& fragment) {
  const std::uint32_t source = fragment.record.source.value;
  const auto pieces = FragmentPieces::read(fragment.bytes);
  if (!pieces) return place(slice, fragment) + describe() + "its bytes are no pieces";
  if (pieces->time_ns() != slice.head().trigger_time)
    return place(slice, fragment) + describe() + "has another time than its slice";
  const UtcNs begin = pieces->time_ns() - pieces->before_ns();
  const UtcNs end = pieces->time_ns() + pieces->duration_ns() + pieces->after_ns();
  const std::vector<TimeNs>& begins = front_ends_.begins(source);
  const UtcNs zero = SimFrontEnds::utc(0);
  // The pieces that begin less than their greatest length before the window.
  const DurationNs back = begin - zero - 4 * plan_.period_ns;
  std::uint64_t event = back <= 0 ? 0 : static_cast<std::uint64_t>(back / plan_.period_ns);
  std::multiset<std::pair<UtcNs, std::uint64_t>> expected;
  std::set<std::pair<UtcNs, std::uint64_t>> optional;
  for (;; ++event) {
    const TimeNs moment = front_ends_.moment(source, event);
    const UtcNs time = SimFrontEnds::utc(moment);
    if (time >= end) break;
    if (time + std::max<DurationNs>(1, plan_.length(source, event)) <= begin) continue;
    const TimeNs arrives = moment + plan_.delay(source, event);
    if (begins.empty() || arrives <= begins.front() || plan_.is_late(source, event)) {
      optional.emplace(time, event);
    } else {
      expected.emplace(time, event);
    }
  }
  bool whole = true;
  std::size_t found = 0;
  for (const FragmentPiece& piece : *pieces) {
    const UtcNs time = pieces->time_ns() + piece.offset_ns;
    const auto here = std::find_if(expected.begin(), expected.end(), [&](const auto& one) {
      return one.first == time && is_content(source, one.second, piece.bytes);
    });
    const bool late = std::any_of(optional.begin(), optional.end(), [&](const auto& one) {
      return one.first == time && is_content(source, one.second, piece.bytes);
    });
    if (here == expected.end() && !late)
      return place(slice, fragment) + describe() + "has a piece that is not of its window";
    found += here == expected.end() ? 0 : 1;
  }
  whole = found == expected.size();
  const bool ok = fragment.record.status == FragmentStatus::ok;
  if (fragment.record.status == FragmentStatus::truncated && keeps_all_from(source, begin))
    return place(slice, fragment) + describe() + "is truncated, and nothing of it was lost";
  if (whole || !ok) return {};
  // A readout that joins compares windows with its own clock, and cannot know of pieces longer than others.
  const DurationNs near = kClocksApart + (plan_.long_pieces ? 4 * plan_.period_ns : 0);
  const bool close = std::ranges::any_of(begins, [&](TimeNs one) {
    const DurationNs after = begin - SimFrontEnds::utc(one);
    return after >= -kClocksApart && after <= near;
  });
  if (close) return {};
  return place(slice, fragment) + describe() + "lacks " + std::to_string(expected.size() - found) + " of " +
         std::to_string(expected.size()) + " pieces of a window at " + std::to_string(begin - zero) + " to " +
         std::to_string(end - zero) + ", and is not marked; its readout began at" +
         std::accumulate(begins.begin(), begins.end(), std::string(),
                         [](const std::string& all, TimeNs one) { return all + " " + std::to_string(one); });
}

bool FrontEndCheck::keeps_all_from(std::uint32_t source, UtcNs begin) {
  // Windows of events may need data that a full ring has freed.
  const bool whole_plan =
      scenario_.clock_slice_ns > 0 && plan_.lost_permille == 0 && plan_.late_permille == 0;
  if (!whole_plan || a_readout_died() || scenario_.world.flips) return false;
  if (in_all("pieces.dropped.ring_full") + in_all("readout.windows_forced") > 0) return false;
  const std::vector<TimeNs>& begins = front_ends_.begins(source);
  return begins.size() == 1 && begin > SimFrontEnds::utc(begins.front()) + kClocksApart + 4 * plan_.period_ns;
}

bool FrontEndCheck::explains(std::uint64_t slice, const storage::FragmentRecord& missing) const {
  if (missing.reason == MissingReason::masked) return plan_.policy == SlipPolicy::mask && plan_.slipped != 0;
  // Front-ends that count continue while run control has removed their readout.
  if (plan_.kind == FrontEnds::number && missing.reason == MissingReason::deadline &&
      (was_removed(missing.source) || preceded_begin(missing.source, slice)))
    return true;
  // Windows that are announced late find a ring that was too short for so long.
  const bool supervised = std::ranges::none_of(scenario_.faults, [](const Fault& fault) {
    return fault.who == "supervisor" || fault.other == "supervisor";
  });
  return !plan_.is_calm() || (plan_.kind == FrontEnds::time && !supervised);
}

bool FrontEndCheck::was_removed(SourceId source) const {
  const std::string readout = "readout-" + std::to_string((source.value - 1) / scenario_.sources);
  return std::ranges::any_of(scenario_.faults, [&](const Fault& fault) {
    return fault.kind == FaultKind::drain && fault.who == readout;
  });
}

bool FrontEndCheck::preceded_begin(SourceId source, std::uint64_t number) const {
  const std::vector<TimeNs>& begins = front_ends_.begins(source.value);
  const TimeNs arrives = front_ends_.moment(source.value, number) + plan_.delay(source.value, number);
  return begins.empty() || arrives <= begins.front();
}

bool FrontEndCheck::no_readout_was_left() const {
  const auto was_away = [&](const std::string& readout) {
    return std::ranges::any_of(scenario_.faults, [&](const Fault& fault) {
      return fault.who == readout || fault.other == readout || fault.who == "supervisor";
    });
  };
  for (std::uint32_t i = 0; i < scenario_.readouts; ++i) {
    if (!was_away("readout-" + std::to_string(i))) return false;
  }
  return a_readout_died();
}

bool FrontEndCheck::a_readout_died() const {
  return std::any_of(scenario_.faults.begin(), scenario_.faults.end(), [](const Fault& fault) {
    const bool ends = fault.kind == FaultKind::kill || fault.kind == FaultKind::lose_machine ||
                      fault.kind == FaultKind::drain;
    return ends && fault.who.starts_with("readout");
  });
}

std::string FrontEndCheck::account() const {
  if (std::string problem = slip_named(); !problem.empty()) return problem;
  if (std::string problem = numbers_given(); !problem.empty()) return problem;
  return pieces_balance();
}

std::uint64_t FrontEndCheck::in_all(const std::string& counter) const {
  std::uint64_t sum = 0;
  for (const v1::Report& report : account_.nodes()) {
    const auto found = report.counters().find(counter);
    if (found != report.counters().end()) sum += found->second;
  }
  return sum;
}

std::uint64_t FrontEndCheck::misfits() const { return in_all("readout.out_of_step"); }

std::string FrontEndCheck::numbers_given() const {
  if (!plan_.tidy) return {};
  if (const std::uint64_t nobodys = in_all("numbers.nobodys"); nobodys > 0)
    return describe() + std::to_string(nobodys) + " number(s) were passed over, and each front-end sent them";
  const auto offered = account_.counters().find("offered");
  if (const std::uint64_t all = offered == account_.counters().end() ? 0 : offered->second; behind_ > all)
    return describe() + "slice " + std::to_string(behind_ - 1) + " is stored, and " + std::to_string(all) +
           " numbers were offered";
  if (plan_.late_source == 0) return {};
  // A farm that waits for times is behind its front-ends, and may place the counter.
  const DurationNs behind = plan_.tolerance_ns > 0 ? 3 * plan_.skew_ns : 0;
  const std::uint64_t half = 1ULL << (plan_.counter_bits - 1);
  if (plan_.joins_at <= half + static_cast<std::uint64_t>(behind / plan_.period_ns)) return {};
  const std::string refused = "source " + std::to_string(plan_.late_source) + ": counter ";
  const bool named = std::ranges::any_of(account_.faults_text(), [&](const std::string& fault) {
    return fault.find(refused) != fault.npos && fault.find("cannot be placed") != fault.npos;
  });
  if (named) return {};
  return describe() + "source " + std::to_string(plan_.late_source) +
         " was placed, though its counter stands for several numbers";
}

bool FrontEndCheck::has_named() const {
  const std::string name = "source " + std::to_string(plan_.slipped) + " out of step ";
  return std::ranges::any_of(account_.faults_text(),
                             [&](const std::string& fault) { return fault.starts_with(name); });
}

bool FrontEndCheck::jumps_far() const {
  if (plan_.kind != FrontEnds::number || plan_.counter_bits <= 16) return false;
  const std::uint64_t off = plan_.slip == Slip::restart ? plan_.slips_at : plan_.jump;
  const std::uint64_t left = scenario_.slices - plan_.slips_at;
  if ((plan_.slip != Slip::restart && plan_.slip != Slip::jump) || off <= kFar || left < kSeenWithin)
    return false;
  // Ahead of slices that begin later than all differences of clocks, and before the farm gets there.
  const DurationNs needs = plan_.tolerance_ns > 0 ? 0 : plan_.skew_ns + kHostsApart;
  const auto lasts = static_cast<DurationNs>(std::min(off, left) - kSeenWithin / 2) * plan_.period_ns;
  return plan_.slip == Slip::restart ? lasts > kSecond : lasts > needs;
}

bool FrontEndCheck::has_to_name() const {
  if (!has_slip() || a_readout_died()) return false;
  if (plan_.kind == FrontEnds::number && !knows_the_right_one()) return false;
  // Slices that are announced late come all at once, and their fragments in any order.
  if (plan_.kind == FrontEnds::trigger && is_disturbed()) return false;
  return misfits() >= kMany || jumps_far();
}

std::optional<SlipDelay> FrontEndCheck::slip_delay() const {
  const bool pauses = std::ranges::any_of(scenario_.faults,
                                          [](const Fault& fault) { return fault.kind == FaultKind::pause; });
  if (!has_to_name() || front_ends_.named_at() == 0 || is_disturbed() || pauses) return std::nullopt;
  const TimeNs named = front_ends_.named_at();
  if (plan_.kind == FrontEnds::number) {
    const DurationNs after = named - front_ends_.moment(plan_.slipped, plan_.slips_at);
    return SlipDelay{after, front_ends_.triggers_between(plan_.slips_at, named)};
  }
  const UtcNs begun = front_ends_.trigger_time(plan_.slips_at);
  if (begun == 0) return std::nullopt;  // a slice that was not stored
  return SlipDelay{SimFrontEnds::utc(named) - begun, front_ends_.triggers_between(plan_.slips_at, named)};
}

std::string FrontEndCheck::slip_named() const {
  const std::string name = "source " + std::to_string(plan_.slipped) + " out of step ";
  bool named = false;
  for (const std::string& fault : account_.faults_text()) {
    if (fault.find("out of step") == fault.npos) continue;
    const bool narrow =
        plan_.counter_bits <= 16 && fault.starts_with("source " + std::to_string(plan_.late_source) + " ");
    const bool unsure = plan_.kind == FrontEnds::number && !knows_the_right_one();
    const bool right = (plan_.slipped != 0 && (fault.starts_with(name) || unsure)) || narrow;
    if (!right) return describe() + "a wrong fault: " + fault;
    named = true;
  }
  if (const auto delay = slip_delay();
      delay && delay->time_ns > kNamedWithin && delay->slices > kNamedWithinSlices)
    return describe() + "is named after " + std::to_string(delay->time_ns / kMillisecond) + " ms and " +
           std::to_string(delay->slices) + " slices";
  const bool unexplained = !has_slip() && misfits() >= kMany && plan_.kind != FrontEnds::number;
  if (named || (!has_to_name() && !unexplained)) return {};
  return describe() + "no fault names source " + std::to_string(plan_.slipped) + "; " +
         std::to_string(misfits()) + " fragment(s) do not fit";
}

std::string FrontEndCheck::pieces_balance() const {
  for (const v1::Report& report : account_.nodes()) {
    const auto count = [&](const std::string& key) {
      const auto found = report.counters().find("pieces." + key);
      return found == report.counters().end() ? 0 : found->second;
    };
    std::uint64_t gone = count("placed") + count("unplaced") + count("held");
    for (const auto& [key, value] : report.counters()) {
      if (key.starts_with("pieces.dropped.")) gone += value;
    }
    if (count("received") != gone)
      return report.name() + ": " + std::to_string(count("received")) + " pieces received, " +
             std::to_string(gone) + " accounted for";
  }
  return {};
}

}  // namespace weir::sim
