#include <weir/base/assert.hpp>
#include <weir/wire/batch.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

// The input is a payload. An accepted one must equal its own encoding: slice entries byte by byte, a request
// in its meaning (equal consecutive source sets are merged).
namespace {

using namespace weir;
using namespace weir::wire;

std::vector<SourceId> set_of(const RequestView& view, std::uint16_t set) {
  std::vector<SourceId> ids;
  for (std::size_t i = 0; i < view.source_count(set); ++i) ids.push_back(view.source(set, i));
  return ids;
}

void check_same(const RequestView& a, const RequestView& b) {
  WEIR_ASSERT(a.entry_count() == b.entry_count());
  for (std::size_t i = 0; i < a.entry_count(); ++i) {
    RequestEntry left = a.entry(i);
    RequestEntry right = b.entry(i);
    WEIR_ASSERT((left.source_set == kAllSources) == (right.source_set == kAllSources));
    if (left.source_set != kAllSources) {
      WEIR_ASSERT(set_of(a, left.source_set) == set_of(b, right.source_set));
    }
    left.source_set = right.source_set = 0;
    WEIR_ASSERT(left == right);
  }
}

void request_round_trip(ConstBytes payload) {
  const auto view = RequestView::parse(payload);
  if (!view) return;
  WEIR_ASSERT(payload.size() <= kRequestPayloadMax);
  RequestWriter writer;
  std::vector<std::uint16_t> sets;
  for (std::size_t set = 0; set < view->set_count(); ++set) {
    if (writer.full()) return;  // the frame is longer than this writer makes them
    sets.push_back(writer.add_set(set_of(*view, static_cast<std::uint16_t>(set))));
  }
  for (std::size_t i = 0; i < view->entry_count(); ++i) {
    RequestEntry entry = view->entry(i);
    if (entry.source_set != kAllSources) entry.source_set = sets.at(entry.source_set);
    writer.add(entry);
  }
  std::vector<std::byte> out;
  writer.take_frame(out);
  const auto again = RequestView::parse(ConstBytes(out).subspan(kHeaderBytes));
  WEIR_ASSERT(again.has_value());
  check_same(*view, *again);
}

void slice_entries_round_trip(ConstBytes payload) {
  const auto entries = parse_slice_entries(payload);
  if (!entries) return;
  std::vector<std::byte> out;
  append_slice_entries(FrameType::stored, *entries, out);
  if (entries->empty()) {
    WEIR_ASSERT(out.empty());
    return;
  }
  WEIR_ASSERT(out.size() == kHeaderBytes + payload.size());
  WEIR_ASSERT(std::equal(payload.begin(), payload.end(), out.begin() + kHeaderBytes));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ConstBytes payload = std::as_bytes(std::span(data, size));
  request_round_trip(payload);
  slice_entries_round_trip(payload);
  return 0;
}
