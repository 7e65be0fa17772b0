#pragma once

#include <weir/assembly/built_slice.hpp>

#include <span>
#include <vector>

namespace weir::dcm {

// The record's meta part and its payloads, for an accepted slice under this epoch.
struct Record {
  std::vector<std::byte> meta;
  std::vector<ConstBytes> payloads;
  std::uint64_t bytes = 0;
};
struct RecordContext {
  RunNumber run;
  NodeIndex dcm;
  bool checksums = true;
  bool undecided = false;                 // the filter has not seen it
  bool for_burst = false;                 // all raw data, whatever the filter named and decided to keep
  std::span<const std::uint32_t> only{};  // wanted sources, sorted; empty: all
};
// Returns the streams of an accepted slice.
[[nodiscard]] std::uint64_t streams_of(const assembly::BuiltSlice& slice);
[[nodiscard]] Record make_record(const assembly::BuiltSlice& slice, StoreEpoch epoch,
                                 const RecordContext& context);
// True if the record is within its length limit, and so is its part without payloads.
[[nodiscard]] bool fits_a_record(const assembly::BuiltSlice& slice);

}  // namespace weir::dcm
