#include <weir/base/assert.hpp>
#include <weir/packets/reassembler.hpp>

#include <algorithm>
#include <cstring>

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
  if (!admit(*source, *packet, from, now, sink)) return;
  const std::uint64_t place = source->sender.sequence().place();
  if (packet->type == PacketType::mark) {
    ++counters_.marks;
    take_mark(*source, packet->slice, place, now, sink);
  } else {
    take_data(*source, *packet, now, sink);
    if (packet->closes) take_mark(*source, packet->slice, place + 1, now, sink);
  }
  settle_marks(*source, now, sink);
}

// Returns whether the packet is new and belongs to the current front-end.
bool Reassembler::admit(Source& source, const Packet& packet, const Origin& from, TimeNs now,
                        ReassemblySink& sink) {
  using Standing = SenderTracker::Standing;
  using Arrival = Sequence::Arrival;
  ++source.losses.reached;
  const SenderTracker::Verdict verdict = source.sender.take(packet, from, now);
  switch (verdict.standing) {
    case Standing::former:
      count_loss(source, PacketLoss::stale, counters_.stale);
      return false;
    case Standing::unconfirmed:
      count_loss(source, PacketLoss::unconfirmed, counters_.unconfirmed);
      return false;
    case Standing::new_second:
      sink.second_sender(source.id, source.sender.current(), from);
      [[fallthrough]];
    case Standing::second:
      count_loss(source, PacketLoss::second_sender, counters_.second_sender);
      return false;
    case Standing::restarted:
      sink.restarted(source.id, source.sender.previous(), from);
      begin_life(source, now, sink);
      break;
    case Standing::taken:
      break;
  }
  if (verdict.arrival == Arrival::next || verdict.arrival == Arrival::reordered) {
    source.stale_run = 0;
    counters_.reordered += verdict.arrival == Arrival::reordered ? 1 : 0;
    return true;
  }
  count_stale(source, verdict.arrival == Arrival::stale);
  return false;
}

// Drops unfinished fragments of the previous life: a fragment may not mix the bytes of two lives.
void Reassembler::begin_life(Source& source, TimeNs now, ReassemblySink& sink) {
  ++counters_.restarts;
  for (const auto& [slice, begun] : source.begun) bytes_begun_ -= begun.memory.size;
  counters_.fragments_lost += source.begun.size();
  source.begun.clear();
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
    make_room(source, packet.total, sink);
    at = source.begun.try_emplace(packet.slice).first;
    at->second.memory = {std::make_unique_for_overwrite<std::byte[]>(packet.total), packet.total};
    bytes_begun_ += packet.total;
  }
  Begun& begun = at->second;
  if (begun.memory.size != packet.total || !add_part(begun, packet)) {
    return count_loss(source, PacketLoss::inconsistent, counters_.inconsistent);
  }
  begun.truncated = begun.truncated || packet.truncated;
  begun.last = now;
  const bool whole = packet.total == 0 || (begun.parts.size() == 1 && begun.parts[0].first == 0 &&
                                           begun.parts[0].second == packet.total);
  if (!whole) return;
  FragmentMemory memory = std::move(begun.memory);
  const bool truncated = begun.truncated;
  source.begun.erase(at);
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

void Reassembler::make_room(Source& source, std::uint32_t size, ReassemblySink& sink) {
  const auto older = [](const auto& a, const auto& b) { return a.second.last < b.second.last; };
  if (source.begun.size() >= limits_.slices_max) {
    give_up(source, std::min_element(source.begun.begin(), source.begun.end(), older), sink);
  }
  while (bytes_begun_ + size > limits_.bytes_max) {
    Source* owner = nullptr;
    std::map<SliceId, Begun>::iterator oldest;
    for (Source& each : sources_) {
      const auto one = std::min_element(each.begun.begin(), each.begun.end(), older);
      if (one == each.begun.end() || (owner != nullptr && !older(*one, *oldest))) continue;
      owner = &each;
      oldest = one;
    }
    WEIR_ASSERT(owner != nullptr);  // bytes are counted when a fragment is begun
    give_up(*owner, oldest, sink);
  }
}

void Reassembler::give_up(Source& source, std::map<SliceId, Begun>::iterator begun, ReassemblySink& sink) {
  const SliceId slice = begun->first;
  bytes_begun_ -= begun->second.memory.size;
  source.begun.erase(begun);
  ++counters_.fragments_lost;
  sink.lost(source.id, slice);
}

void Reassembler::take_mark(Source& source, SliceId slice, std::uint64_t place, TimeNs now, ReassemblySink&) {
  if (source.passed && slice <= *source.passed) return;
  if (!source.marks.empty() && slice <= source.marks.back().slice) return;
  if (source.marks.size() >= kMarksMax) {
    source.marks.back() = {slice, place, now + limits_.gap_ns};
  } else {
    source.marks.push_back({slice, place, now + limits_.gap_ns});
  }
}

// A mark takes effect when all packets before it have arrived or are given up.
void Reassembler::settle_marks(Source& source, TimeNs now, ReassemblySink& sink) {
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
