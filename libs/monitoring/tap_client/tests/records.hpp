#pragma once

#include <weir/base/crc32c.hpp>
#include <weir/storage/slice_record.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace weir::tap_client::test {

// Makes a whole record with two fragments of these bytes.
inline std::vector<std::byte> make_record(std::uint64_t slice, std::uint32_t run, std::size_t bytes) {
  const std::vector<std::byte> payload(bytes, std::byte{static_cast<unsigned char>(slice)});
  std::vector<storage::FragmentRecord> fragments(2);
  for (std::uint32_t i = 0; i < 2; ++i) {
    fragments[i].source = SourceId(i + 1);
    fragments[i].kept = fragments[i].checksummed = true;
    fragments[i].stored_length = fragments[i].total_length = static_cast<std::uint32_t>(bytes);
    fragments[i].source_crc32c = fragments[i].stored_crc32c = crc32c(payload);
  }
  storage::SliceRecord record;
  record.head.slice = SliceId(slice);
  record.head.run = RunNumber(run);
  record.head.decision = storage::DecisionKind::undecided;
  record.fragments = fragments;
  std::vector<std::byte> out;
  storage::encode_slice_meta(record, out);
  for (int i = 0; i < 2; ++i) out.insert(out.end(), payload.begin(), payload.end());
  return out;
}

}  // namespace weir::tap_client::test
