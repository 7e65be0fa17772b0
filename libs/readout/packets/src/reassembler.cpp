#include <weir/base/assert.hpp>
#include <weir/packets/reassembler.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace weir::packets {

Reassembler::Reassembler(RunNumber run, std::span<const SourceId> sources, const ReassemblyLimits& limits)
    : run_(run), limits_(limits), sources_(sources.size()) {
  for (std::size_t i = 0; i < sources.size(); ++i) sources_[i].id = sources[i];
}

std::uint64_t Reassembler::packets_lost() const {
  std::uint64_t lost = 0;
  for (const Source& source : sources_) lost += source.sender.sequence().lost();
  return lost;
}

Reassembler::Source* Reassembler::find(SourceId id) {
  if (sources_.empty()) return nullptr;
  // Ids without gaps are the common case.
  const std::uint32_t guess = id.value - sources_.front().id.value;
  if (guess < sources_.size() && sources_[guess].id == id) return &sources_[guess];
  const auto at = std::lower_bound(sources_.begin(), sources_.end(), id,
                                   [](const Source& source, SourceId wanted) { return source.id < wanted; });
  return at != sources_.end() && at->id == id ? &*at : nullptr;
}

void Reassembler::take(ConstBytes datagram, const Origin& from, TimeNs now, ReassemblySink& sink) {
  ++counters_.packets;
  const auto packet = parse(datagram);
  if (!packet) {
    ++counters_.malformed[static_cast<std::size_t>(packet.error())];
    return;
  }
  if (packet->run.value != 0 && packet->run != run_) {
    ++counters_.other_run;
    return;
  }
  Source* source = find(packet->source);
  if (source == nullptr) {
    ++counters_.unknown_source;
    return;
  }
  ++source->losses.reached;
  take_packet(*source, *packet, datagram, from, now, sink);
}

void Reassembler::take_packet(Source& source, const Packet& packet, ConstBytes datagram, const Origin& from,
                              TimeNs now, ReassemblySink& sink) {
  SenderTracker::Verdict verdict = source.sender.take(packet, from, now);
  if (verdict.standing == SenderTracker::Standing::restarted) {
    if (!verdict.of_one) {
      ++counters_.restarts;
      sink.restarted(source.id, source.sender.previous(), from);
    }
    begin_life(source, now, sink);
    replay_held(source, now, sink);
    verdict = source.sender.take(packet, from, now);
  }
  if (!admit(source, verdict, datagram, packet, from, sink)) return;
  ++source.taken;
  const std::uint64_t place = source.sender.sequence().place();
  const bool is_mark = packet.type == PacketType::mark;
  const bool ends = is_mark || packet.closes;
  weigh_doubted(source, packet.slice, place, ends, now);
  if (is_mark) {
    ++counters_.marks;
  } else {
    take_data(source, packet, now, sink);
  }
  if (ends) {
    const bool timed = is_mark && packet.stamp.has_time;
    take_mark(source, {packet.slice,
                       place + 1,
                       now + limits_.gap_ns,
                       {},
                       timed ? std::optional(packet.stamp.time) : std::nullopt});
  }
  settle_marks(source, now, sink);
}

// Returns whether the packet is new and belongs to the current front-end.
bool Reassembler::admit(Source& source, const SenderTracker::Verdict& verdict, ConstBytes datagram,
                        const Packet& packet, const Origin& from, ReassemblySink& sink) {
  using Standing = SenderTracker::Standing;
  using Arrival = Sequence::Arrival;
  switch (verdict.standing) {
    case Standing::former:
      count_loss(source, PacketLoss::stale, counters_.stale);
      return false;
    case Standing::restarted:
    case Standing::unconfirmed:
      if (verdict.hold) {
        hold(source, datagram, packet, from);
      } else {
        count_loss(source, PacketLoss::unconfirmed, counters_.unconfirmed);
      }
      return false;
    case Standing::new_second:
      sink.second_sender(source.id, source.sender.current(), from);
      [[fallthrough]];
    case Standing::second:
      count_loss(source, PacketLoss::second_sender, counters_.second_sender);
      return false;
    case Standing::taken:
      break;
  }
  if (verdict.arrival == Arrival::next || verdict.arrival == Arrival::reordered) {
    source.stale_run = 0;
    counters_.reordered += verdict.arrival == Arrival::reordered ? 1 : 0;
    if (!source.held.empty() && source.taken - source.held.back().taken >= kHeldMax)
      drop_held(source, source.held.size());
    return true;
  }
  count_stale(source, verdict.arrival == Arrival::stale);
  return false;
}

// Keeps a copy of a packet until the next ones tell whether its session number begins a new life.
void Reassembler::hold(Source& source, ConstBytes datagram, const Packet& packet, const Origin& from) {
  auto& held = source.held;
  if (!held.empty() && held.back().session != packet.session) drop_held(source, held.size());
  if (held.size() >= kHeldMax) drop_held(source, 1);
  if (bytes_held_ + datagram.size() > limits_.bytes_max / kHeldShare)
    return count_loss(source, PacketLoss::unconfirmed, counters_.unconfirmed);
  bytes_held_ += datagram.size();
  held.push_back({{datagram.begin(), datagram.end()}, packet.session, from, source.taken});
}

void Reassembler::drop_held(Source& source, std::size_t count) {
  const auto end = source.held.begin() + static_cast<std::ptrdiff_t>(count);
  for (auto at = source.held.begin(); at != end; ++at) {
    WEIR_ASSERT(at->datagram.size() <= bytes_held_);
    bytes_held_ -= at->datagram.size();
    count_loss(source, PacketLoss::unconfirmed, counters_.unconfirmed);
  }
  source.held.erase(source.held.begin(), end);
}

void Reassembler::drop_held() {
  for (Source& source : sources_) drop_held(source, source.held.size());
}

// Takes the first packets of a life that has been confirmed.
void Reassembler::replay_held(Source& source, TimeNs now, ReassemblySink& sink) {
  if (!source.held.empty() && source.held.back().session != source.sender.session())
    return drop_held(source, source.held.size());
  const std::vector<Held> held = std::exchange(source.held, {});
  for (const Held& one : held) {
    WEIR_ASSERT(one.datagram.size() <= bytes_held_);
    bytes_held_ -= one.datagram.size();
    const auto packet = parse(one.datagram);
    take_packet(source, *packet, one.datagram, one.from, now, sink);
  }
}

// Drops unfinished fragments of the previous life: a fragment may not mix the bytes of two lives.
void Reassembler::begin_life(Source& source, TimeNs now, ReassemblySink& sink) {
  for (const auto& [slice, begun] : source.begun) bytes_begun_ -= begun.memory.size;
  counters_.fragments_lost += source.begun.size();
  source.begun.clear();
  source.doubted.clear();
  for (Mark& mark : source.marks) mark.until = now;
  settle_marks(source, now, sink);
  source.sender.sequence().note_loss();
}

// Counts a packet out of sequence. A repeated one counts as a loss only if the front-end sends nothing else.
void Reassembler::count_stale(Source& source, bool seen) {
  ++counters_.stale;
  if (seen && ++source.stale_run <= kStaleRunMax) return;
  ++source.losses.lost[static_cast<std::size_t>(PacketLoss::stale)];
}

void Reassembler::count_loss(Source& source, PacketLoss loss, std::uint64_t& counter) {
  ++counter;
  ++source.losses.lost[static_cast<std::size_t>(loss)];
}

void Reassembler::take_data(Source& source, const Packet& packet, TimeNs now, ReassemblySink& sink) {
  if (source.passed && packet.slice <= *source.passed) {
    return count_loss(source, PacketLoss::late, counters_.late);
  }
  if (packet.total > limits_.fragment_bytes_max || packet.total > limits_.bytes_max) {
    return count_loss(source, PacketLoss::too_large, counters_.too_large);
  }
  auto at = source.begun.find(packet.slice);
  if (at == source.begun.end()) {
    if (!make_room(source, packet.total, sink)) {
      ++counters_.fragments_lost;
      return sink.lost(source.id, packet.slice);
    }
    at = source.begun.try_emplace(packet.slice).first;
    at->second.memory = {std::make_unique_for_overwrite<std::byte[]>(packet.total), packet.total,
                         packet.stamp};
    bytes_begun_ += packet.total;
  }
  Begun& begun = at->second;
  if (begun.memory.size != packet.total || !add_part(begun, packet)) {
    return count_loss(source, PacketLoss::inconsistent, counters_.inconsistent);
  }
  begun.truncated = begun.truncated || packet.truncated;
  if (!begun.memory.stamp.any()) begun.memory.stamp = packet.stamp;
  begun.last = now;
  const bool whole = packet.total == 0 || (begun.parts.size() == 1 && begun.parts[0].first == 0 &&
                                           begun.parts[0].second == packet.total);
  if (!whole) return;
  FragmentMemory memory = std::move(begun.memory);
  const bool truncated = begun.truncated;
  source.begun.erase(at);
  WEIR_ASSERT(memory.size <= bytes_begun_);
  bytes_begun_ -= memory.size;
  ++counters_.fragments;
  counters_.bytes += memory.size;
  sink.whole(source.id, packet.slice, std::move(memory), truncated);
}

// Returns false if the part overlaps with an earlier one, or if the fragment is in too many pieces.
bool Reassembler::add_part(Begun& begun, const Packet& packet) {
  const std::uint32_t from = packet.offset;
  const auto to = static_cast<std::uint32_t>(from + packet.payload.size());
  auto& parts = begun.parts;
  const auto next =
      std::upper_bound(parts.begin(), parts.end(), from,
                       [](std::uint32_t value, const auto& part) { return value < part.first; });
  const bool behind = next != parts.begin();
  if (behind && std::prev(next)->second > from) return false;
  if (next != parts.end() && next->first < to) return false;
  const bool joins_left = behind && std::prev(next)->second == from;
  const bool joins_right = next != parts.end() && next->first == to;
  if (!joins_left && !joins_right && parts.size() >= kPartsMax) return false;
  if (!packet.payload.empty()) {
    std::memcpy(begun.memory.bytes.get() + from, packet.payload.data(), packet.payload.size());
  }
  if (joins_left && joins_right) {
    std::prev(next)->second = next->second;
    parts.erase(next);
  } else if (joins_left) {
    std::prev(next)->second = to;
  } else if (joins_right) {
    next->first = from;
  } else {
    parts.insert(next, {from, to});
  }
  return true;
}

// Gives up the fragment with the oldest last packet if that makes room, and returns whether the new one fits.
// A packet with a damaged total must not cost several fragments besides its own.
bool Reassembler::make_room(Source& source, std::uint32_t size, ReassemblySink& sink) {
  const auto older = [](const auto& a, const auto& b) { return a.second.last < b.second.last; };
  const auto fits = [&](std::uint64_t freed) {
    return bytes_begun_ - freed + bytes_held_ + size <= limits_.bytes_max;
  };
  Source* owner = nullptr;
  std::map<SliceId, Begun>::iterator oldest;
  if (source.begun.size() >= limits_.slices_max) {
    owner = &source;
    oldest = std::min_element(source.begun.begin(), source.begun.end(), older);
  } else if (fits(0)) {
    return true;
  } else {
    for (Source& each : sources_) {
      const auto one = std::min_element(each.begun.begin(), each.begun.end(), older);
      if (one == each.begun.end() || (owner != nullptr && !older(*one, *oldest))) continue;
      owner = &each;
      oldest = one;
    }
  }
  if (owner == nullptr || !fits(oldest->second.memory.size)) return false;
  give_up(*owner, oldest, sink);
  return true;
}

void Reassembler::give_up(Source& source, std::map<SliceId, Begun>::iterator begun, ReassemblySink& sink) {
  const SliceId slice = begun->first;
  WEIR_ASSERT(begun->second.memory.size <= bytes_begun_);
  bytes_begun_ -= begun->second.memory.size;
  source.begun.erase(begun);
  ++counters_.fragments_lost;
  sink.lost(source.id, slice);
}

// Returns whether an earlier mark ends this slice too.
bool Reassembler::is_covered(const Source& source, SliceId slice) {
  return (source.passed && slice <= *source.passed) ||
         (!source.marks.empty() && slice <= source.marks.back().slice);
}

// Returns whether a mark of this slice ends others without a mark of their own, one excepted. A single one of
// them may be damaged.
bool Reassembler::skips_slices(const Source& source, SliceId slice) {
  const std::optional<SliceId> last =
      source.marks.empty() ? source.passed : std::optional(source.marks.back().slice);
  const std::uint64_t expected = last ? last->value + 1 : 0;
  return slice.value > expected && slice.value - expected > 1;
}

void Reassembler::take_mark(Source& source, const Mark& mark) {
  // Slices of marks ascend with the sequence: a mark from before the last one tells nothing new, or is wrong.
  if (is_covered(source, mark.slice) || mark.place < source.last_mark) return;
  const bool certain = mark.confirmed_by || !skips_slices(source, mark.slice);
  if (!certain || !source.sender.sequence().has_reached(mark.place - 1)) {
    if (source.doubted.size() >= kDoubtedMax) source.doubted.erase(source.doubted.begin());
    source.doubted.push_back(mark);
    return;
  }
  source.last_mark = mark.place;
  if (source.marks.size() >= kMarksMax) {
    source.marks.back() = mark;
  } else {
    source.marks.push_back(mark);
  }
}

// Compares doubted marks with a packet that its front-end sent later: its slice is higher, or the mark is
// wrong.
void Reassembler::weigh_doubted(Source& source, SliceId slice, std::uint64_t place, bool ends, TimeNs now) {
  if (source.doubted.empty() || !source.sender.sequence().has_reached(place)) return;
  std::erase_if(source.doubted, [&](Mark& mark) {
    if (place < mark.place) return false;
    if (slice < mark.slice || (slice == mark.slice && !ends)) return true;
    if (!mark.confirmed_by) {
      mark.confirmed_by = place;
      mark.until = now + limits_.gap_ns;
    }
    return false;
  });
}

// Takes marks that are no longer in doubt. A packet that comes late can still refute one, so that the packets
// up to the confirming one must be there.
void Reassembler::promote_doubted(Source& source, TimeNs now) {
  const Sequence& sequence = source.sender.sequence();
  const auto is_certain = [&](const Mark& mark) {
    if (!sequence.has_reached(mark.place - 1)) return false;
    if (!skips_slices(source, mark.slice)) return true;
    return mark.confirmed_by && (sequence.complete_before(*mark.confirmed_by) || now >= mark.until);
  };
  std::erase_if(source.doubted, [&](const Mark& mark) {
    if (is_covered(source, mark.slice)) return true;
    if (!is_certain(mark)) return false;
    take_mark(source, mark);
    return true;
  });
}

// A mark takes effect when all packets before it have arrived or are given up.
void Reassembler::settle_marks(Source& source, TimeNs now, ReassemblySink& sink) {
  if (!source.doubted.empty()) promote_doubted(source, now);
  while (!source.marks.empty()) {
    const Mark mark = source.marks.front();
    if (!source.sender.sequence().complete_before(mark.place) && now < mark.until) return;
    source.marks.pop_front();
    const bool gap = source.sender.sequence().give_up_before(mark.place);
    while (!source.begun.empty() && source.begun.begin()->first <= mark.slice) {
      give_up(source, source.begun.begin(), sink);
    }
    source.passed = mark.slice;
    sink.passed(source.id, mark.slice, gap);
    if (mark.time) sink.time_passed(source.id, *mark.time, gap);
  }
}

void Reassembler::tick(TimeNs now, ReassemblySink& sink) {
  for (Source& source : sources_) {
    settle_marks(source, now, sink);
    for (auto at = source.begun.begin(); at != source.begun.end();) {
      const auto here = at++;
      if (here->second.last + limits_.gap_ns <= now) give_up(source, here, sink);
    }
  }
}

}  // namespace weir::packets
