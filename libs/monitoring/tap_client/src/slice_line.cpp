#include <weir/tap_client/slice_line.hpp>

#include <fmt/format.h>

namespace weir::tap_client {

SliceFacts facts_of(const storage::SliceRecordView& record) {
  SliceFacts facts;
  for (std::size_t i = 0; i < record.fragment_count(); ++i) {
    const storage::FragmentRecord fragment = record.fragment(i).record;
    facts.fragments += fragment.kept ? 1 : 0;
    facts.missing += fragment.status == FragmentStatus::missing ? 1 : 0;
  }
  return facts;
}

std::string json_line(const SampledSlice& slice) {
  const storage::SliceHead& head = slice.record.head();
  const SliceFacts facts = facts_of(slice.record);
  const bool complete = (head.flags & storage::slice_flag::incomplete) == 0;
  return fmt::format(
      R"({{"slice":"{}","run":{},"attempt":{},"time_utc_ns":"{}","stream":"{}","dcm":"{}",)"
      R"("complete":{},"fragments":{},"missing":{},"bytes":"{}","decision":"{}","sequence":"{}"}})",
      head.slice.value, head.run.value, head.attempt.value, head.trigger_time, slice.stream, slice.dcm,
      complete, facts.fragments, facts.missing, slice.record.payload_bytes(), name(head.decision),
      slice.head.sequence);
}

}  // namespace weir::tap_client
