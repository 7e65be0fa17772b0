// Received frames: fragments, ranges of fragments, and blocks of whole fragments.
#include <weir/assembly/assembler.hpp>
#include <weir/base/assert.hpp>
#include <weir/base/crc32c.hpp>
#include <weir/base/planted.hpp>

#include <algorithm>
#include <cstring>

namespace weir::assembly {
namespace {

template <class T>
void prefetch(const T* object, std::size_t bytes) {
  constexpr std::size_t kCacheLine = 64;
  const auto* at = reinterpret_cast<const std::byte*>(object);
  for (std::size_t offset = 0; offset < bytes; offset += kCacheLine) __builtin_prefetch(at + offset);
}

void put(weir_filter_fragment& entry, const wire::BlockRow& whole, FragmentStatus status,
         const std::byte* data) {
  entry.status = abi_status(status);
  entry.data = data;
  entry.length = entry.total = whole.length;
  entry.crc32c = whole.crc;
}

}  // namespace

// A readout answers in the order of requests, which is the order of opening: its next fragment belongs to the
// same slice or to the one behind. Prefetches that slice's data for this readout: with thousands of slices in
// flight it is not in the cache.
BuiltSlice* Assembler::find_next(SourceIndex source, SliceId id, Attempt attempt) {
  const auto wanted = [&](const BuiltSlice& slice) { return slice.id() == id && slice.attempt() == attempt; };
  BuiltSlice* slice = places_[sources_[source].readout];
  if (slice != nullptr) {
    if (wanted(*slice)) return slice;
    slice = slices_.opened_after(*slice);
  }
  if (slice == nullptr || !wanted(*slice)) slice = slices_.find(id, attempt);
  if (slice != nullptr) expect_next(*slice, source);
  return slice;
}

void Assembler::expect_next(BuiltSlice& slice, SourceIndex source) {
  const std::uint32_t readout = sources_[source].readout;
  places_[readout] = &slice;
  BuiltSlice* next = slices_.opened_after(slice);
  if (next == nullptr) return;
  // A readout's sources follow each other, mostly.
  const std::size_t count = std::min(sources_of(readout).size(), next->table.size() - source);
  prefetch(&next->progress[source], count * sizeof(FragmentProgress));
  prefetch(&next->table[source], count * sizeof(weir_filter_fragment));
  if (const BuiltSlice* after = slices_.opened_after(*next); after != nullptr)
    prefetch(after, BuiltSlice::kHotBytes);
}

Reception Assembler::begin(const wire::FrameHeader& header, std::uint32_t readout) {
  // A range past the end, requested before the fragment's length was known.
  if (header.length == 0 && header.offset > 0 && header.offset == header.total) return {};
  const auto source = index_of(header.source);
  if (!source || sources_[*source].readout != readout) {
    ++counters_.unknown;
    return {};
  }
  BuiltSlice* slice = find_next(*source, header.slice, header.attempt);
  if (slice == nullptr) {
    ++counters_.late;
    return {};
  }
  const FragmentProgress& progress = slice->progress[*source];
  switch (progress.state) {
    case State::requested:
    case State::ahead:
      return place(*slice, *source, header);
    case State::idle:
      ++counters_.unknown;
      return {};
    case State::receiving:
    case State::receiving_ahead:
    case State::here_ahead:
      ++counters_.duplicate;
      return {};
    case State::cancelled:
    case State::receiving_cancelled:
      ++counters_.late;
      counters_.prefetch_wasted_bytes += header.length;
      return {};
    case State::done:
    case State::unnamed:
      break;
  }
  const bool given_up = slice->arrived(*source).status == abi_status(FragmentStatus::missing);
  if (planted(Planted::accept_late) && given_up && header.status != FragmentStatus::missing) {
    ++slice->outstanding;
    return place(*slice, *source, header);
  }
  ++(given_up ? counters_.late : counters_.duplicate);
  return {};
}

Reception Assembler::place(BuiltSlice& slice, SourceIndex source, const wire::FrameHeader& header) {
  FragmentProgress& progress = slice.progress[source];
  const bool ahead = progress.state == State::ahead;
  weir_filter_fragment& entry = ahead ? slice.early[source] : slice.table[source];
  if (header.status != FragmentStatus::missing) {
    if (header.total > settings_.fragment_bytes_max) return refuse(slice, source, MissingReason::too_large);
    // Memory was allocated for the first total, whatever is requested again; and a peer that never sends a
    // fragment would be asked forever.
    const bool same_total = progress.target == nullptr || header.total == entry.total;
    // Pushed and requested ranges may overlap: their bytes are the same.
    const std::uint32_t end = header.offset + header.length;
    const bool advances = end > progress.have || header.total == 0;
    if (header.offset > progress.have || !same_total || !advances) {
      ++(same_total && end <= progress.have && end > 0 ? counters_.duplicate : counters_.unknown);
      return {};
    }
    progress.overlapped = progress.overlapped || header.offset < progress.have;
    if (progress.target == nullptr && header.total > 0) {
      progress.target = slice.memory.allocate(pool_, header.total, slice_bytes_expected_);
      if (progress.target == nullptr) {
        return find_no_memory(slice, source, header);
      }
    }
    entry.total = header.total;
  }
  progress.state = ahead ? State::receiving_ahead : State::receiving;
  ++slice.receiving;
  return {&slice, source, progress.target == nullptr ? nullptr : progress.target + header.offset};
}

// A fragment that found no memory is lost only if its slice has all memory that is in use: otherwise another
// slice gives memory back, and the slice is built then.
Reception Assembler::find_no_memory(BuiltSlice& slice, SourceIndex source, const wire::FrameHeader& header) {
  const bool ahead = slice.progress[source].state == State::ahead;
  const bool alone = pool_.bytes_used() == slice.memory.bytes();
  if (alone || ahead || slice.pushed) {
    slice.refused_bytes += SliceMemory::placed_bytes(header.total);
    return refuse(slice, source, MissingReason::no_buffer);
  }
  ++counters_.late;
  crowd_out(slice);
  return {};
}

Reception Assembler::refuse(BuiltSlice& slice, SourceIndex source, MissingReason reason) {
  if (slice.progress[source].state == State::ahead) {  // a step that needs it requests it again
    cancel_ahead(slice, source);
    ++counters_.late;
    return {};
  }
  mark_missing(slice, source, reason);
  fragment_done(slice, source, slice.last_fragment_ns);
  return {};
}

bool Assembler::finish(const Reception& reception, const wire::FrameHeader& header, TimeNs now_ns) {
  if (reception.slice == nullptr) return false;
  BuiltSlice& slice = *reception.slice;
  FragmentProgress& progress = slice.progress[reception.source];
  WEIR_ASSERT(slice.receiving > 0);
  --slice.receiving;
  const bool released = slice.state() == BuildState::released;
  const bool was_ahead = progress.state == State::receiving_cancelled;
  const bool is_over = progress.state == State::done || progress.state == State::unnamed;
  if (released || was_ahead || is_over) {  // given up meanwhile
    ++counters_.late;
    if (was_ahead) {
      counters_.prefetch_wasted_bytes += header.length;
      progress = FragmentProgress{};
      progress.state = State::cancelled;
    }
    if (released && slice.receiving == 0) free_memory(slice);
    return false;
  }
  const bool ahead = progress.state == State::receiving_ahead;
  progress.state = ahead ? State::ahead : State::requested;
  if (ahead && header.status == FragmentStatus::missing) {
    miss_ahead(slice, reception.source, wire::missing_reason(header));
    return false;
  }
  if (header.status == FragmentStatus::missing) {
    mark_missing(slice, reception.source, wire::missing_reason(header));
    fragment_done(slice, reception.source, now_ns);
    return false;
  }
  progress.have = header.offset + header.length;
  if (progress.have < header.total) {
    if (progress.have < progress.asked) return true;  // the next range is under way
    const std::uint32_t rest = header.total - progress.have;
    const std::uint32_t length = settings_.range_bytes == 0 ? rest : std::min(rest, settings_.range_bytes);
    ranges_wanted_.push_back({&slice, reception.source, progress.have, length});
    return true;
  }
  complete_fragment(slice, reception.source, {header.source, header.total, header.crc, header.status},
                    now_ns);
  return false;
}

void Assembler::complete_fragment(BuiltSlice& slice, SourceIndex source, const wire::BlockRow& whole,
                                  TimeNs now_ns) {
  FragmentProgress& progress = slice.progress[source];
  const bool ahead = progress.state == State::ahead;
  weir_filter_fragment& entry = ahead ? slice.early[source] : slice.table[source];
  FragmentStatus status = whole.status;
  const bool believed = planted(Planted::believe_copy) && slice.fetched;
  const bool checked = settings_.checksums && status != FragmentStatus::corrupt && !believed;
  const auto checksum = [&] {
    return progress.summed == whole.length && !progress.overlapped
               ? progress.crc
               : crc32c(ConstBytes(progress.target, whole.length));
  };
  if (checked && whole.crc != checksum()) {
    if (!progress.asked_again) {
      progress.asked_again = true;
      progress.start_again();
      ++counters_.asked_again;
      ranges_wanted_.push_back({&slice, source, 0, settings_.range_bytes});
      return;
    }
    status = FragmentStatus::corrupt;
  }
  put(entry, whole, status, progress.target);
  ++counters_.received;
  counters_.bytes += whole.length;
  tallies_.receive(source, whole.length, now_ns);
  if (status == FragmentStatus::truncated) ++counters_.truncated;
  if (status == FragmentStatus::suppressed) ++counters_.suppressed;
  if (status == FragmentStatus::out_of_step) ++counters_.out_of_step;
  if (status == FragmentStatus::corrupt) {
    ++counters_.corrupt;
    ++sources_[source].corrupt;
  }
  if (ahead) {
    progress.state = State::here_ahead;
    --slice.ahead;
    counters_.prefetch_bytes += whole.length;
    return;
  }
  slice.payload_bytes += whole.length;
  if (has_flaw(entry)) ++slice.flawed;
  fragment_done(slice, source, now_ns);
}

bool Assembler::look_at_rows(const BuiltSlice* slice, const wire::BlockPart& part, std::uint32_t readout) {
  row_sources_.resize(part.size());
  bool plain = slice != nullptr;
  SourceIndex guess = 0;  // a readout's sources follow each other, mostly
  for (std::size_t i = 0; i < part.size(); ++i) {
    const wire::BlockRow row = part.row(i);
    const bool right = guess < sources_.size() && sources_[guess].id == row.source;
    const SourceIndex source = right ? guess : index_of(row.source).value_or(kNoSource);
    if (source == kNoSource || sources_[source].readout != readout) {
      ++counters_.unknown;
      row_sources_[i] = kNoSource;
      plain = false;
      continue;
    }
    row_sources_[i] = source;
    guess = source + 1;
    if (slice == nullptr) {
      ++counters_.late;
      continue;
    }
    const FragmentProgress& progress = slice->progress[source];
    plain = plain && progress.state == State::requested && progress.target == nullptr &&
            row.length <= settings_.fragment_bytes_max;
  }
  return plain;
}

// Mostly the slice wants all of it: then there is one piece of memory for the payloads, and one copy into it.
BlockReception Assembler::take(const wire::BlockSlice& of, const wire::BlockPart& part, std::uint32_t readout,
                               TimeNs now_ns) {
  taken_.clear();
  BuiltSlice* slice = slice_of(of);
  const bool plain = look_at_rows(slice, part, readout);
  if (slice == nullptr) return {};
  const ConstBytes payloads = part.payloads();
  std::byte* memory = nullptr;
  if (plain && !payloads.empty() && slice->memory.fits(payloads.size())) {
    memory = slice->memory.allocate(pool_, payloads.size(), slice_bytes_expected_);
    if (memory != nullptr) std::memcpy(memory, payloads.data(), payloads.size());
  }
  if (plain && (memory != nullptr || payloads.empty())) {
    expect_next(*slice, row_sources_.front());
    take_rows(*slice, part, memory, now_ns);
    return {slice, taken_};
  }
  std::size_t at = 0;
  for (std::size_t i = 0; i < part.size(); ++i) {
    const wire::BlockRow row = part.row(i);
    if (row_sources_[i] != kNoSource)
      take_row_alone(of, row, payloads.subspan(at, row.length), readout, now_ns);
    at += wire::block_bytes(row.length);
  }
  return {slice, taken_};
}

// Requires: all of them are wanted; the payloads are in `memory`.
void Assembler::take_rows(BuiltSlice& slice, const wire::BlockPart& part, std::byte* memory, TimeNs now_ns) {
  std::uint32_t good = 0;  // present and intact: nearly all
  std::uint64_t bytes = 0;
  std::byte* next = memory;
  for (std::size_t i = 0; i < part.size(); ++i) {
    const wire::BlockRow row = part.row(i);
    const SourceIndex source = row_sources_[i];
    FragmentProgress& progress = slice.progress[source];
    std::byte* const data = row.length == 0 ? nullptr : next;
    next += wire::block_bytes(row.length);
    if (progress.state != State::requested || progress.target != nullptr) {  // it is in the block twice
      ++counters_.duplicate;
      continue;
    }
    if (row.status == FragmentStatus::missing) {
      mark_missing(slice, source, row.reason);
      fragment_done(slice, source, now_ns);
      continue;
    }
    taken_.push_back({source, row.length});
    progress.target = data;
    if (row.status == FragmentStatus::ok &&
        (!settings_.checksums || row.crc == crc32c(ConstBytes(data, row.length)))) {
      put(slice.table[source], row, row.status, data);
      progress.state = State::done;
      tallies_.receive(source, row.length, now_ns);
      ++good;
      bytes += row.length;
    } else {
      slice.table[source].total = row.length;
      complete_fragment(slice, source, row, now_ns);
    }
  }
  if (good == 0) return;
  counters_.received += good;
  counters_.bytes += bytes;
  slice.payload_bytes += bytes;
  slice.last_fragment_ns = now_ns;
  slice.outstanding -= good;
  if (slice.outstanding == 0) completed(slice);
}

void Assembler::take_row_alone(const wire::BlockSlice& of, const wire::BlockRow& row, ConstBytes payload,
                               std::uint32_t readout, TimeNs now_ns) {
  wire::FrameHeader header;
  if (row.status == FragmentStatus::missing) {
    header = wire::missing_fragment(of.slice, of.attempt, row.source, row.reason);
  } else {
    header.type = wire::FrameType::fragment;
    header.status = row.status;
    header.attempt = of.attempt;
    header.slice = of.slice;
    header.source = row.source;
    header.length = header.total = row.length;
    header.crc = row.crc;
  }
  const Reception reception = begin(header, readout);
  if (reception.target != nullptr) std::memcpy(reception.target, payload.data(), payload.size());
  (void)finish(reception, header, now_ns);
  if (reception.slice != nullptr && row.status != FragmentStatus::missing)
    taken_.push_back({reception.source, row.length});
}

void Assembler::part(const Reception& reception, ConstBytes bytes) {
  if (reception.slice == nullptr || !settings_.checksums) return;
  FragmentProgress& progress = reception.slice->progress[reception.source];
  progress.crc = crc32c_extend(progress.crc, bytes);
  progress.summed += static_cast<std::uint32_t>(bytes.size());
}

void Assembler::abandon(const Reception& reception) {
  if (reception.slice == nullptr) return;
  BuiltSlice& slice = *reception.slice;
  WEIR_ASSERT(slice.receiving > 0);
  --slice.receiving;
  FragmentProgress& progress = slice.progress[reception.source];
  // Asked for once more, from the start, when the connection is back.
  if (progress.state == State::receiving) {
    progress.state = State::requested;
    progress.start_again();
  }
  if (progress.state == State::receiving_ahead) cancel_ahead(slice, reception.source);
  if (progress.state == State::receiving_cancelled) {
    progress = FragmentProgress{};
    progress.state = State::cancelled;
  }
  if (slice.state() == BuildState::released && slice.receiving == 0) free_memory(slice);
}

}  // namespace weir::assembly
