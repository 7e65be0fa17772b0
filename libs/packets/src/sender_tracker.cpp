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
    const bool anew = packet.session == 0 && packet.slice > highest_slice_;
    return goes_on(former, packet.sequence) || anew ? watch(packet, sender, now) : Verdict{Standing::former};
  }
  if (packet.session == session_) return take_of_session(packet, sender, now);
  return packet.session == 0 ? watch(packet, sender, now) : restart(packet, sender, true, now);
}

SenderTracker::Verdict SenderTracker::take_of_session(const Packet& packet, const Sender& sender,
                                                      TimeNs now) {
  Member* member = find_member(sender.from);
  if (!may_continue(member, sender, packet.sequence)) return watch(packet, sender, now);
  const Sequence::Arrival arrival = sequence_.arrive(packet.sequence);
  if (arrival == Sequence::Arrival::next || arrival == Sequence::Arrival::reordered) {
    note_taken(member, packet, sender, now);
    return {Standing::taken, arrival};
  }
  if (belongs_elsewhere(member, packet, arrival)) return watch(packet, sender, now);
  return {Standing::taken, arrival};
}

// A packet from an unknown address needs a sequence number close to the current one, so that a second
// front-end is not mixed in. A sender that looks like a restart has to prove it first.
bool SenderTracker::may_continue(const Member* member, const Sender& sender, std::uint32_t sequence) const {
  if (member != nullptr) return true;
  const bool begins_anew =
      candidate_ && candidate_->sender == sender && candidate_->first < Sequence::kStartMax;
  if (begins_anew) return false;
  const std::int64_t ahead = sequence_.distance(sequence);
  return ahead <= kNear && ahead >= -kNear;
}

// Returns whether this packet, which is out of sequence, cannot be a late or repeated one of the current
// life.
bool SenderTracker::belongs_elsewhere(const Member* member, const Packet& packet,
                                      Sequence::Arrival arrival) const {
  if (arrival == Sequence::Arrival::given_up) return false;
  if (packet.slice > highest_slice_) return true;
  if (arrival == Sequence::Arrival::far) return member == nullptr || sequence_.distance(packet.sequence) > 0;
  return member == nullptr || is_ahead(packet.sequence, member->highest);
}

SenderTracker::Verdict SenderTracker::watch(const Packet& packet, const Sender& sender, TimeNs now) {
  const bool other = candidate_ && candidate_->sender != sender;
  if (other && now - candidate_->seen < kSilence) return {Standing::unconfirmed};
  if (!candidate_ || other || packet.sequence - candidate_->first > Sequence::kAheadMax)
    candidate_ = Candidate{sender, packet.sequence, packet.sequence, 0, now, taken_};
  Candidate& candidate = *candidate_;
  if (candidate.run > 0 && !is_ahead(packet.sequence, candidate.last)) return {Standing::unconfirmed};
  candidate.seen = now;
  candidate.last = packet.sequence;
  if (++candidate.run < kConfirm) return {Standing::unconfirmed};
  const bool silent = now - last_taken_ >= kSilence;
  const bool old_life_goes_on = !silent && goes_on(find_former(sender), candidate.first);
  if (taken_ != candidate.taken_before || old_life_goes_on) {
    candidate_.reset();
    keep_latest(excluded_, sender);
    return {Standing::new_second};
  }
  // The current address has never sent numbers so far ahead.
  const bool jump = sender.from == last_from_ && sequence_.distance(candidate.first) > 0;
  if (silent || jump || candidate.first < Sequence::kStartMax) return restart(packet, sender, false, now);
  return {Standing::unconfirmed};
}

SenderTracker::Verdict SenderTracker::restart(const Packet& packet, const Sender& sender, bool from_start,
                                              TimeNs now) {
  bury_life();
  std::erase_if(formers_, [&](const Former& former) {
    return sender.session != 0 ? former.sender.session == sender.session : former.sender == sender;
  });
  members_.clear();
  candidate_.reset();
  previous_ = last_from_;
  session_ = packet.session;
  highest_slice_ = packet.slice;
  sequence_.restart(packet.sequence, from_start);
  note_taken(nullptr, packet, sender, now);
  return {Standing::restarted, Sequence::Arrival::next};
}

// Moves the current life to the earlier ones: as a whole if it has a session number, else by address.
void SenderTracker::bury_life() {
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
  if (member == nullptr) {
    keep_latest(members_, Member{sender.from, packet.sequence});
  } else if (is_ahead(packet.sequence, member->highest)) {
    member->highest = packet.sequence;
  }
  if (candidate_ && candidate_->sender == sender) candidate_.reset();
  highest_slice_ = std::max(highest_slice_, packet.slice);
  last_from_ = sender.from;
  last_taken_ = now;
  ++taken_;
}

SenderTracker::Member* SenderTracker::find_member(const Origin& from) {
  const auto at = std::find_if(members_.begin(), members_.end(),
                               [&](const Member& member) { return member.from == from; });
  return at == members_.end() ? nullptr : &*at;
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
