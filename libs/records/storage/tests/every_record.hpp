#pragma once

#include "store_fixture.hpp"

#include <array>
#include <vector>

namespace weir::storage::test {

// One of each kind of slice.
inline std::vector<Buffer> one_of_each_kind() {
  std::vector<Buffer> records;
  records.push_back(make_record({.slice = 3, .sources = 3, .fragment_bytes = 17}));
  records.push_back(make_record({.slice = 1, .sources = 1, .fragment_bytes = 64, .streams = 6}));
  records.push_back(make_record({.slice = 3, .attempt = 1, .epoch = 2, .sources = 1, .fragment_bytes = 5}));

  const Buffer payload = pattern(33, 99);
  FragmentRecord corrupt = whole_fragment(SourceId(70'000), payload);
  corrupt.status = FragmentStatus::corrupt;
  corrupt.source_crc32c ^= 0xff;
  FragmentRecord missing;
  missing.source = SourceId(2);
  missing.status = FragmentStatus::missing;
  missing.reason = MissingReason::deadline;
  FragmentRecord not_kept = whole_fragment(SourceId(3), payload);
  not_kept.kept = false;
  not_kept.stored_length = 0;
  const std::array table = {corrupt, missing, not_kept};
  const Buffer trigger = text("muon");
  const Buffer result = text("3 clusters");
  const Buffer event = pattern(11, 5);
  const std::array events = {OutputEvent{1000, event}, OutputEvent{1001, {}}};
  SliceRecord rich;
  rich.head =
      head_of({.slice = 0x0123'4567'89ab'cdef, .attempt = 2, .epoch = 4, .streams = 0x8000'0000'0000'0003});
  rich.head.trigger_type = TriggerType(9);
  rich.head.dcm = NodeIndex(2);
  rich.head.flags = slice_flag::incomplete | slice_flag::unfiltered | slice_flag::poison;
  rich.head.decision = DecisionKind::poison;
  rich.head.prescale = 100;
  rich.trigger_payload = trigger;
  rich.filter_result = result;
  rich.events = events;
  rich.fragments = table;
  Buffer bytes;
  encode_slice_meta(rich, bytes);
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  records.push_back(bytes);
  return records;
}

}  // namespace weir::storage::test
