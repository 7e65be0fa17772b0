#include <weir/packets/sender_tracker.hpp>

#include <algorithm>
#include <cstdio>

namespace weir::packets {
namespace {

bool is_ahead(std::uint32_t a, std::uint32_t b) { return static_cast<std::int32_t>(a - b) > 0; }

template <class T>
void keep_latest(std::vector<T>& list, const T& one) {
  if (list.size() >= SenderTracker::kOriginsMax) list.erase(list.begin());
  list.push_back(one);
}

}  // namespace

std::string to_text(const Origin& origin) {
  const auto& a = origin.address;
  std::string text;
  if (!origin.ipv6) {
    for (std::size_t i = 0; i < 4; ++i) text += (i == 0 ? "" : ".") + std::to_string(a[i]);
    return text + ":" + std::to_string(origin.port);
  }
  for (std::size_t i = 0; i < a.size(); i += 2) {
    std::array<char, 8> group{};
    std::snprintf(group.data(), group.size(), "%x", static_cast<unsigned>(a[i] << 8U | a[i + 1]));
    text += (i == 0 ? "" : ":") + std::string(group.data());
  }
  return "[" + text + "]:" + std::to_string(origin.port);
}

SenderTracker::Verdict SenderTracker::take(const Packet& packet, const Origin& from, TimeNs now) {
  const Sender sender{from, packet.session};
  if (!begun_) {
    begun_ = true;
    session_ = packet.session;
    const Sequence::Arrival arrival = sequence_.arrive(packet.sequence);
    note_taken(nullptr, packet, sender, now);
    return {Standing::taken, arrival};
  }
  if (const auto known = std::find(excluded_.begin(), excluded_.end(), sender); known != excluded_.end()) {
    if (now - last_taken_ < kSilence) return {Standing::second};
    excluded_.erase(known);
    return watch(packet, sender, now);
  }
  if (const Former* former = find_former(sender)) {
    const bool anew = packet.session == 0 && is_later_than_all(packet.slice);
    return goes_on(former, packet.sequence) || anew ? watch(packet, sender, now) : Verdict{Standing::former};
  }
  const bool fits =
      packet.session == session_ || packet.session == renumbered_ || continues_count(packet, from);
  return fits ? take_of_session(packet, sender, now) : watch(packet, sender, now);
}

SenderTracker::Verdict SenderTracker::take_of_session(const Packet& packet, const Sender& sender,
                                                      TimeNs now) {
  Member* member = find_member(sender.from);
  if (!may_continue(member, sender, packet.sequence)) return watch(packet, sender, now);
  const Sequence::Arrival arrival = sequence_.arrive(packet.sequence);
  if (arrival == Sequence::Arrival::next || arrival == Sequence::Arrival::reordered) {
    note_session(packet.session);
    note_taken(member, packet, sender, now);
    return {Standing::taken, arrival};
  }
  if (belongs_elsewhere(member, packet, arrival)) return watch(packet, sender, now);
  return {Standing::taken, arrival};
}

// Returns whether the packet fits the current life in all but its session number.
bool SenderTracker::continues_count(const Packet& packet, const Origin& from) {
  const std::int64_t ahead = sequence_.distance(packet.sequence);
  if (ahead < 0 || ahead > kNear || find_member(from) == nullptr) return false;
  return std::none_of(candidates_.begin(), candidates_.end(),
                      [&](const Candidate& candidate) { return candidate.sender.session == packet.session; });
}

// Adopts a session number that the count continues with, when a second packet in a row has it.
void SenderTracker::note_session(std::uint32_t session) {
  if (session == session_) return renumbered_.reset();
  if (renumbered_ != session) {
    renumbered_ = session;
    return;
  }
  if (session_ != 0) {
    Former life{{last_from_, session_}, members_.front().highest};
    for (const Member& member : members_)
      if (is_ahead(member.highest, life.highest)) life.highest = member.highest;
    keep_latest(formers_, life);
  }
  session_ = session;
  renumbered_.reset();
}

// A packet from an unknown address needs a sequence number close to the current one, so that a second
// front-end is not mixed in. A sender that looks like a restart has to prove it first.
bool SenderTracker::may_continue(const Member* member, const Sender& sender, std::uint32_t sequence) const {
  if (member != nullptr) return true;
  const Candidate* candidate = find_candidate(sender);
  if (candidate != nullptr && candidate->first < Sequence::kStartMax) return false;
  const std::int64_t ahead = sequence_.distance(sequence);
  return ahead <= kNear && ahead >= -kNear;
}

// Returns whether this packet, which is out of sequence, cannot be a late or repeated one of the current
// life.
bool SenderTracker::belongs_elsewhere(const Member* member, const Packet& packet,
                                      Sequence::Arrival arrival) const {
  if (arrival == Sequence::Arrival::given_up) return false;
  if (is_later_than_all(packet.slice)) return true;
  if (arrival == Sequence::Arrival::far) return member == nullptr || sequence_.distance(packet.sequence) > 0;
  return member == nullptr || is_ahead(packet.sequence, member->highest);
}

SenderTracker::Verdict SenderTracker::watch(const Packet& packet, const Sender& sender, TimeNs now) {
  const bool unknown = is_unknown_session(packet.session);
  auto at = std::find_if(candidates_.begin(), candidates_.end(), [&](const Candidate& one) {
    return unknown ? one.sender.session == sender.session : one.sender == sender;
  });
  const Candidate fresh{sender, packet.sequence, packet.sequence, packet.sequence, 0, 0, 0, taken_, taken_};
  if (at == candidates_.end()) {
    keep_latest(candidates_, fresh);
    at = candidates_.end() - 1;
  } else if (taken_ - at->taken_last > kForgetAfter) {
    *at = fresh;
  }
  Candidate& candidate = *at;
  if (unknown) return watch_session(candidate, packet, sender);
  if (candidate.run > 0 && !ascends(candidate, packet.sequence)) {
    const bool anew = candidate.run == 1 || candidate.misfits >= kMisfitsMax;
    if (!anew || packet.sequence == candidate.last) return {Standing::unconfirmed};
    candidate = fresh;
  }
  const std::uint32_t expected = candidate.run == 0 ? packet.sequence : candidate.last + 1;
  candidate.taken_last = taken_;
  candidate.before = candidate.run == 0 ? packet.sequence : candidate.last;
  candidate.last = packet.sequence;
  ++candidate.run;
  if (in_life_ == 1 && candidate.run >= kConfirmSession && taken_ == candidate.taken_before)
    return restart(sender, expected);
  if (candidate.run < kConfirm) return {Standing::unconfirmed};
  const bool silent = now - last_taken_ >= kSilence;
  const bool old_life_goes_on = !silent && goes_on(find_former(sender), candidate.first);
  if (taken_ != candidate.taken_before || old_life_goes_on) return exclude(sender);
  // The current address has never sent numbers so far ahead.
  const bool jump = sender.from == last_from_ && sequence_.distance(candidate.first) > 0;
  if (silent || jump || candidate.first < Sequence::kStartMax) return restart(sender, expected);
  return {Standing::unconfirmed};
}

// Returns whether the number continues those of the candidate. One that does not may be damaged, and so may
// the one before, if this number continues the others.
bool SenderTracker::ascends(Candidate& candidate, std::uint32_t sequence) {
  const auto continues = [&](std::uint32_t last) {
    return is_ahead(sequence, last) && sequence - last <= Sequence::kAheadMax;
  };
  if (continues(candidate.last)) {
    candidate.misfits = 0;
    return true;
  }
  if (candidate.run > 1 && continues(candidate.before)) {
    candidate.last = sequence;
  } else {
    ++candidate.misfits;
  }
  return false;
}

// Packets of a life that ends come between the first ones of the next: these begin it when two follow each
// other. Two front-ends send side by side for longer.
SenderTracker::Verdict SenderTracker::watch_session(Candidate& candidate, const Packet& packet,
                                                    const Sender& sender) {
  if (candidate.run > 0 && packet.sequence == candidate.last) return {Standing::unconfirmed};
  candidate.in_a_row = taken_ == candidate.taken_last ? candidate.in_a_row + 1 : 1;
  candidate.taken_last = taken_;
  candidate.last = packet.sequence;
  ++candidate.run;
  if (candidate.in_a_row >= kConfirmSession) {
    const std::int64_t ahead = sequence_.distance(candidate.first);
    const bool counts_on = ahead >= 0 && ahead <= static_cast<std::int64_t>(Sequence::kSkipMax);
    return restart(sender, counts_on ? std::optional(candidate.first) : std::nullopt);
  }
  const auto between = static_cast<std::int64_t>(taken_ - candidate.taken_before);
  if (candidate.run >= kConfirm && between >= kConfirm) return exclude(sender);
  return {Standing::unconfirmed, Sequence::Arrival::next, true};
}

SenderTracker::Verdict SenderTracker::exclude(const Sender& sender) {
  candidates_.clear();
  keep_latest(excluded_, sender);
  return {Standing::new_second};
}

SenderTracker::Verdict SenderTracker::restart(const Sender& sender, std::optional<std::uint32_t> first) {
  bury_life();
  std::erase_if(formers_, [&](const Former& former) {
    return sender.session != 0 ? former.sender.session == sender.session : former.sender == sender;
  });
  members_.clear();
  candidates_.clear();
  renumbered_.reset();
  previous_ = last_from_;
  session_ = sender.session;
  highest_ = latest_ = SliceId(0);
  sequence_.restart(first);
  Verdict verdict{Standing::restarted};
  verdict.of_one = in_life_ == 1;
  in_life_ = 0;
  return verdict;
}

// Moves the current life to the earlier ones: as a whole if it has a session number, else by address.
void SenderTracker::bury_life() {
  if (members_.empty()) return;
  Former life{{last_from_, session_}, members_.front().highest};
  for (const Member& member : members_) {
    if (session_ != 0) {
      if (is_ahead(member.highest, life.highest)) life.highest = member.highest;
    } else {
      keep_latest(formers_, Former{{member.from, 0}, member.highest});
    }
  }
  if (session_ != 0) keep_latest(formers_, life);
}

void SenderTracker::note_taken(Member* member, const Packet& packet, const Sender& sender, TimeNs now) {
  const bool certain = sequence_.has_reached(sequence_.place());
  if (member == nullptr) {
    keep_latest(members_, Member{sender.from, packet.sequence});
  } else if (certain && is_ahead(packet.sequence, member->highest)) {
    member->highest = packet.sequence;
  }
  if (certain) {
    std::erase_if(candidates_, [&](const Candidate& candidate) { return candidate.sender == sender; });
    ++taken_;
  }
  note_slice(packet.slice);
  last_from_ = sender.from;
  last_taken_ = now;
  ++in_life_;
}

// A slice far ahead of the others may be damaged: it is forgotten when kConfirm packets stay below it.
void SenderTracker::note_slice(SliceId slice) {
  if (slice >= latest_) {
    highest_ = latest_;
    latest_ = slice;
    below_latest_ = 0;
    return;
  }
  highest_ = std::max(highest_, slice);
  if (++below_latest_ < kConfirm) return;
  latest_ = highest_;
  below_latest_ = 0;
}

SenderTracker::Member* SenderTracker::find_member(const Origin& from) {
  const auto at = std::find_if(members_.begin(), members_.end(),
                               [&](const Member& member) { return member.from == from; });
  return at == members_.end() ? nullptr : &*at;
}

const SenderTracker::Candidate* SenderTracker::find_candidate(const Sender& sender) const {
  const auto at = std::find_if(candidates_.begin(), candidates_.end(),
                               [&](const Candidate& candidate) { return candidate.sender == sender; });
  return at == candidates_.end() ? nullptr : &*at;
}

bool SenderTracker::is_unknown_session(std::uint32_t session) const {
  return session != 0 && session != session_ && find_former({{}, session}) == nullptr;
}

// With a session number, only that counts, because a front-end may send from any address. If several match,
// the latest is returned.
const SenderTracker::Former* SenderTracker::find_former(const Sender& sender) const {
  const auto at = std::find_if(formers_.rbegin(), formers_.rend(), [&](const Former& former) {
    return former.sender.session == sender.session &&
           (sender.session != 0 || former.sender.from == sender.from);
  });
  return at == formers_.rend() ? nullptr : &*at;
}

// Returns whether an earlier life, which was ended too early, continues its count.
bool SenderTracker::goes_on(const Former* former, std::uint32_t sequence) {
  return former != nullptr && is_ahead(sequence, former->highest);
}

}  // namespace weir::packets
