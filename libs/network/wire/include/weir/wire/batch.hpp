#pragma once

#include <weir/base/assert.hpp>
#include <weir/base/bytes.hpp>
#include <weir/base/expected.hpp>
#include <weir/base/ids.hpp>
#include <weir/wire/frame.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// Payloads of frames with entries for many slices: request, cancel, stored (FORMAT.md, "Batches").
namespace weir::wire {

constexpr std::size_t kBatchHeadBytes = 8;
constexpr std::size_t kRequestEntryBytes = 24;
constexpr std::size_t kSliceEntryBytes = 16;

// Means all sources of the readout in a request entry.
constexpr std::uint16_t kAllSources = 0xffff;
// Entries per frame; a sender begins another frame beyond it.
constexpr std::size_t kBatchEntriesMax = 4096;
constexpr std::size_t kSourceSetsMax = 1024;
constexpr std::size_t kSetSourcesMax = 64 * 1024;             // ids in one set
constexpr std::size_t kFrameSourcesMax = 2 * kSetSourcesMax;  // ids in all sets of one frame
// The resulting longest payloads of a request, and of a cancel or stored frame.
constexpr std::size_t kRequestPayloadMax =
    kBatchHeadBytes + 4 * (kSourceSetsMax + kFrameSourcesMax) + kRequestEntryBytes * kBatchEntriesMax;
constexpr std::size_t kSliceEntriesPayloadMax = kBatchHeadBytes + kSliceEntryBytes * kBatchEntriesMax;

struct RequestEntry {
  SliceId slice;
  Attempt attempt;
  std::uint16_t source_set = kAllSources;  // index into the frame's source sets
  std::uint32_t offset = 0;                // first byte wanted of each fragment
  std::uint32_t length = 0;                // in bytes, at most; 0: to the end
  std::uint32_t slot = 0;                  // the slice's place in the DCM; returned in answering blocks
  bool operator==(const RequestEntry&) const = default;
};

// Gathers the entries of one pass and returns whole frames.
class RequestWriter {
 public:
  // Returns the set's index in the frame of the next add(). Equal consecutive sets share one entry. Requires:
  // at most kSetSourcesMax ids, and a frame that is not full (else take it first).
  [[nodiscard]] std::uint16_t add_set(std::span<const SourceId> sources);
  // Requires: at most kBatchEntriesMax per frame.
  void add(const RequestEntry& entry) {
    WEIR_ASSERT(entries_.size() < kBatchEntriesMax);
    entries_.push_back(entry);
  }
  // Returns true if another entry with a set of its own would not fit.
  [[nodiscard]] bool full() const {
    return entries_.size() >= kBatchEntriesMax || set_sizes_.size() >= kSourceSetsMax ||
           set_sources_.size() > kFrameSourcesMax - kSetSourcesMax;
  }
  [[nodiscard]] bool empty() const { return entries_.empty(); }
  // Appends header and payload to `out` and empties the writer.
  void take_frame(std::vector<std::byte>& out);

 private:
  std::vector<RequestEntry> entries_;
  std::vector<SourceId> set_sources_;
  std::vector<std::uint32_t> set_sizes_;
};

// A received request, checked as a whole before its first entry is used. Refers to the payload.
class RequestView {
 public:
  [[nodiscard]] static Expected<RequestView, WireError> parse(ConstBytes payload);

  [[nodiscard]] std::size_t entry_count() const { return entry_count_; }
  [[nodiscard]] RequestEntry entry(std::size_t index) const;
  [[nodiscard]] std::size_t set_count() const { return sets_.size(); }
  [[nodiscard]] std::size_t source_count(std::uint16_t set) const {
    return sets_[set].size() / sizeof(std::uint32_t);
  }
  [[nodiscard]] SourceId source(std::uint16_t set, std::size_t index) const;

 private:
  std::vector<ConstBytes> sets_;
  ConstBytes entries_;
  std::size_t entry_count_ = 0;
};

// (slice, attempt, store epoch): the entry of cancel (epoch 0) and stored frames.
struct CopyId {
  SliceId slice;
  Attempt attempt;
  StoreEpoch epoch;
  bool operator==(const CopyId&) const = default;
};

// Appends one or more frames of `type` with all entries.
void append_slice_entries(FrameType type, std::span<const CopyId> entries, std::vector<std::byte>& out);
[[nodiscard]] Expected<std::vector<CopyId>, WireError> parse_slice_entries(ConstBytes payload);

// Appends a frame with a complete payload.
void append_frame(FrameType type, ConstBytes payload, std::vector<std::byte>& out);

}  // namespace weir::wire
