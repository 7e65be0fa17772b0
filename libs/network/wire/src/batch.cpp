#include <weir/base/assert.hpp>
#include <weir/wire/batch.hpp>

#include <algorithm>

namespace weir::wire {
namespace {

std::byte* grow(std::vector<std::byte>& out, std::size_t bytes) {
  const std::size_t before = out.size();
  out.resize(before + bytes);
  return out.data() + before;
}

void finish_frame(FrameType type, std::vector<std::byte>& out, std::size_t frame_begin) {
  const ConstBytes payload = ConstBytes(out).subspan(frame_begin + kHeaderBytes);
  encode_header(payload_header(type, payload),
                std::span<std::byte, kHeaderBytes>(&out[frame_begin], kHeaderBytes));
}

Unexpected<WireError> bad_payload() { return Unexpected<WireError>(WireError::bad_payload); }

}  // namespace

std::uint16_t RequestWriter::add_set(std::span<const SourceId> sources) {
  WEIR_ASSERT(!full() && sources.size() <= kSetSourcesMax);
  const std::size_t last = set_sizes_.empty() ? 0 : set_sizes_.back();
  if (!set_sizes_.empty() && last == sources.size() &&
      std::equal(sources.begin(), sources.end(), set_sources_.end() - static_cast<std::ptrdiff_t>(last))) {
    return static_cast<std::uint16_t>(set_sizes_.size() - 1);
  }
  set_sizes_.push_back(static_cast<std::uint32_t>(sources.size()));
  set_sources_.insert(set_sources_.end(), sources.begin(), sources.end());
  return static_cast<std::uint16_t>(set_sizes_.size() - 1);
}

void RequestWriter::take_frame(std::vector<std::byte>& out) {
  const std::size_t begin = out.size();
  const std::size_t set_bytes = 4 * (set_sizes_.size() + set_sources_.size());
  std::byte* at =
      grow(out, kHeaderBytes + kBatchHeadBytes + set_bytes + kRequestEntryBytes * entries_.size()) +
      kHeaderBytes;
  store_le(at, static_cast<std::uint32_t>(set_sizes_.size()));
  store_le(at + 4, static_cast<std::uint32_t>(entries_.size()));
  at += kBatchHeadBytes;
  std::size_t next_source = 0;
  for (const std::uint32_t size : set_sizes_) {
    store_le(at, size);
    at += 4;
    for (std::uint32_t i = 0; i < size; ++i, at += 4) store_le(at, set_sources_[next_source++].value);
  }
  for (const RequestEntry& entry : entries_) {
    store_le(at, entry.slice.value);
    store_le(at + 8, entry.attempt.value);
    store_le(at + 10, entry.source_set);
    store_le(at + 12, entry.offset);
    store_le(at + 16, entry.length);
    store_le(at + 20, entry.slot);
    at += kRequestEntryBytes;
  }
  WEIR_ASSERT(next_source == set_sources_.size() && at == out.data() + out.size());
  finish_frame(FrameType::request, out, begin);
  entries_.clear();
  set_sources_.clear();
  set_sizes_.clear();
}

Expected<RequestView, WireError> RequestView::parse(ConstBytes payload) {
  if (payload.size() < kBatchHeadBytes) return bad_payload();
  const std::size_t set_count = load_le<std::uint32_t>(payload.data());
  RequestView view;
  view.entry_count_ = load_le<std::uint32_t>(payload.data() + 4);
  if (set_count > kSourceSetsMax || view.entry_count_ > kBatchEntriesMax) return bad_payload();
  ConstBytes rest = payload.subspan(kBatchHeadBytes);
  view.sets_.reserve(set_count);
  std::size_t sources = 0;
  for (std::size_t i = 0; i < set_count; ++i) {
    if (rest.size() < 4) return bad_payload();
    const std::size_t bytes = std::size_t{4} * load_le<std::uint32_t>(rest.data());
    sources += bytes / 4;
    if (rest.size() - 4 < bytes || bytes > 4 * kSetSourcesMax || sources > kFrameSourcesMax)
      return bad_payload();
    view.sets_.push_back(rest.subspan(4, bytes));
    rest = rest.subspan(4 + bytes);
  }
  if (rest.size() != view.entry_count_ * kRequestEntryBytes) return bad_payload();
  view.entries_ = rest;
  for (std::size_t i = 0; i < view.entry_count_; ++i) {
    const RequestEntry entry = view.entry(i);
    if (entry.source_set != kAllSources && entry.source_set >= set_count) return bad_payload();
  }
  return view;
}

RequestEntry RequestView::entry(std::size_t index) const {
  WEIR_ASSERT(index < entry_count_);
  const std::byte* at = entries_.data() + index * kRequestEntryBytes;
  return {SliceId(load_le<std::uint64_t>(at)), Attempt(load_le<std::uint16_t>(at + 8)),
          load_le<std::uint16_t>(at + 10),     load_le<std::uint32_t>(at + 12),
          load_le<std::uint32_t>(at + 16),     load_le<std::uint32_t>(at + 20)};
}

SourceId RequestView::source(std::uint16_t set, std::size_t index) const {
  return SourceId(load_le<std::uint32_t>(sets_[set].data() + index * 4));
}

void append_slice_entries(FrameType type, std::span<const CopyId> entries, std::vector<std::byte>& out) {
  while (!entries.empty()) {
    const auto some = entries.first(std::min(entries.size(), kBatchEntriesMax));
    const std::size_t begin = out.size();
    std::byte* at = grow(out, kHeaderBytes + kBatchHeadBytes + kSliceEntryBytes * some.size()) + kHeaderBytes;
    store_le(at, static_cast<std::uint32_t>(some.size()));
    store_le(at + 4, std::uint32_t{0});
    at += kBatchHeadBytes;
    for (const CopyId& entry : some) {
      store_le(at, entry.slice.value);
      store_le(at + 8, entry.attempt.value);
      store_le(at + 10, entry.epoch.value);
      store_le(at + 12, std::uint32_t{0});
      at += kSliceEntryBytes;
    }
    WEIR_ASSERT(at == out.data() + out.size());
    finish_frame(type, out, begin);
    entries = entries.subspan(some.size());
  }
}

Expected<std::vector<CopyId>, WireError> parse_slice_entries(ConstBytes payload) {
  if (payload.size() < kBatchHeadBytes) return bad_payload();
  const std::size_t count = load_le<std::uint32_t>(payload.data());
  if (count > kBatchEntriesMax || load_le<std::uint32_t>(payload.data() + 4) != 0 ||
      payload.size() != kBatchHeadBytes + count * kSliceEntryBytes) {
    return bad_payload();
  }
  std::vector<CopyId> entries(count);
  const std::byte* at = payload.data() + kBatchHeadBytes;
  for (CopyId& entry : entries) {
    if (load_le<std::uint32_t>(at + 12) != 0) return bad_payload();
    entry = {SliceId(load_le<std::uint64_t>(at)), Attempt(load_le<std::uint16_t>(at + 8)),
             StoreEpoch(load_le<std::uint16_t>(at + 10))};
    at += kSliceEntryBytes;
  }
  return entries;
}

void append_frame(FrameType type, ConstBytes payload, std::vector<std::byte>& out) {
  const std::size_t begin = out.size();
  std::byte* at = grow(out, kHeaderBytes + payload.size());
  std::copy(payload.begin(), payload.end(), at + kHeaderBytes);
  finish_frame(type, out, begin);
}

}  // namespace weir::wire
