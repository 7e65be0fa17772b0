#pragma once

#include <weir/base/bytes.hpp>
#include <weir/base/decision_kind.hpp>
#include <weir/base/expected.hpp>
#include <weir/base/fragment_status.hpp>
#include <weir/base/ids.hpp>
#include <weir/base/time.hpp>
#include <weir/storage/error.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

// A slice as sent by a DCM and as stored in a run file, with identical bytes. FORMAT.md, "Slice record".
namespace weir::storage {

using weir::DecisionKind;

namespace slice_flag {
constexpr std::uint16_t incomplete = 1U << 0;  // a requested fragment is missing or damaged
constexpr std::uint16_t unfiltered = 1U << 1;  // no filter has decided on it
constexpr std::uint16_t poison = 1U << 2;      // ... because it kills filters
}  // namespace slice_flag

// One source's row in the table. Its stored bytes follow the tables, in the order of the rows.
struct FragmentRecord {
  SourceId source;
  FragmentStatus status = FragmentStatus::ok;
  MissingReason reason = MissingReason::none;
  bool kept = false;         // the bytes are in the record; false: stored_length is 0
  bool checksummed = false;  // the checksums are valid (they can be switched off)
  std::uint32_t stored_length = 0;
  std::uint32_t total_length = 0;   // length at the source; 0 if unknown
  std::uint32_t source_crc32c = 0;  // of the whole fragment, computed by the source
  std::uint32_t stored_crc32c =
      0;  // of the stored bytes, computed by the DCM; equal to source_crc32c if there was no error
  bool operator==(const FragmentRecord&) const = default;
};

struct OutputEvent {
  std::uint64_t id = 0;
  ConstBytes bytes;
};

// The numbers of a slice.
struct SliceHead {
  SliceId slice;
  RunNumber run;
  Attempt attempt;
  StoreEpoch epoch;
  UtcNs trigger_time = 0;
  DurationNs duration = 0;
  TriggerType trigger_type;
  NodeIndex dcm;  // the DCM that built it
  std::uint64_t stream_mask = 0;
  std::uint16_t flags = 0;  // slice_flag; unknown bits are kept and ignored
  DecisionKind decision = DecisionKind::filter;
  std::uint32_t prescale = 1;  // one in `prescale` of these is kept
  bool operator==(const SliceHead&) const = default;
};

// The input of the encoder. Refers to the caller's memory.
struct SliceRecord {
  SliceHead head;
  ConstBytes trigger_payload;
  ConstBytes filter_result;
  std::span<const OutputEvent> events;
  std::span<const FragmentRecord> fragments;
};

// Returns the length of the meta part (a multiple of 8), and of the whole record with the fragments' stored
// bytes. Requires: trigger payload, filter result and events together are below 4 GiB less 64 MiB, and
// fragments and events below a million (asserted).
[[nodiscard]] std::uint32_t slice_meta_length(const SliceRecord& record);
[[nodiscard]] std::uint64_t slice_record_length(const SliceRecord& record);

// Appends the meta part to `out`. The whole record is this followed by the stored bytes of each kept
// fragment, in the order of the table and without padding, so that they can be sent from their own memory.
void encode_slice_meta(const SliceRecord& record, std::vector<std::byte>& out);

struct FragmentView {
  FragmentRecord record;
  ConstBytes bytes;
};

// A checked record; refers to its bytes.
class SliceRecordView {
 public:
  [[nodiscard]] const SliceHead& head() const { return head_; }
  [[nodiscard]] std::size_t fragment_count() const { return fragment_count_; }
  [[nodiscard]] FragmentView fragment(std::size_t index) const;
  [[nodiscard]] std::optional<FragmentView> find(SourceId source) const;
  [[nodiscard]] std::size_t event_count() const { return event_count_; }
  [[nodiscard]] OutputEvent event(std::size_t index) const;
  [[nodiscard]] ConstBytes trigger_payload() const { return trigger_payload_; }
  [[nodiscard]] ConstBytes filter_result() const { return filter_result_; }
  [[nodiscard]] ConstBytes bytes() const { return bytes_; }
  [[nodiscard]] std::uint64_t payload_bytes() const { return bytes_.size() - meta_length_; }

 private:
  friend class SliceRecordParser;
  SliceHead head_;
  ConstBytes bytes_;
  ConstBytes trigger_payload_;
  ConstBytes filter_result_;
  std::uint32_t meta_length_ = 0;
  std::uint32_t fragment_count_ = 0;
  std::uint32_t event_count_ = 0;
};

enum class Check : std::uint8_t {
  meta,       // structure, and the checksum of the meta part
  fragments,  // and the checksum of each stored fragment
};

// Parses one whole record. Never reads outside `bytes`, whatever they contain.
[[nodiscard]] Expected<SliceRecordView, StorageError> parse_slice_record(ConstBytes bytes,
                                                                         Check check = Check::meta);

// Returns false if the stored bytes differ from the table's checksum, true if they agree or no checksum
// exists.
[[nodiscard]] bool fragment_is_sound(const FragmentView& fragment);

// Returns the CRC32C of the whole record. Long fragments are not read again: their own checksums are
// combined. Requires: the record was parsed with Check::fragments.
[[nodiscard]] std::uint32_t record_checksum(const SliceRecordView& record);

}  // namespace weir::storage
