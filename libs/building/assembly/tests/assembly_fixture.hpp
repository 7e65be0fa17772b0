#pragma once

#include <weir/assembly/assembler.hpp>
#include <weir/base/assert.hpp>
#include <weir/base/crc32c.hpp>
#include <weir/base/hash.hpp>

#include <algorithm>
#include <cstring>
#include <vector>

// Shared by the tests of the assembler: a pool over plain memory, and frames with predictable contents.
namespace weir::assembly {

inline std::vector<std::byte> content(SliceId slice, SourceId source, std::size_t size) {
  std::vector<std::byte> bytes(size);
  std::uint64_t word = mix64(slice.value * 1'000'003 + source.value);
  for (std::byte& byte : bytes) {
    word = word * 6364136223846793005U + 1442695040888963407U;
    byte = static_cast<std::byte>(word >> 56U);
  }
  return bytes;
}

// Returns the frame with bytes [offset, offset + length) of a fragment; length 0: to the end.
inline wire::FrameHeader range_header(SliceId slice, Attempt attempt, SourceId source, ConstBytes whole,
                                      std::uint32_t offset, std::uint32_t length) {
  const auto total = static_cast<std::uint32_t>(whole.size());
  const std::uint32_t rest = total - offset;
  wire::FrameHeader header;
  header.type = wire::FrameType::fragment;
  header.attempt = attempt;
  header.slice = slice;
  header.source = source;
  header.offset = offset;
  header.length = length == 0 ? rest : std::min(rest, length);
  header.total = total;
  header.crc = crc32c(whole);
  return header;
}

inline wire::FrameHeader whole_header(SliceId slice, Attempt attempt, SourceId source, ConstBytes whole) {
  return range_header(slice, attempt, source, whole, 0, 0);
}

class Fixture {
 public:
  static constexpr std::size_t kPoolBytes = 1U << 20;

  explicit Fixture(AssemblySettings settings = {}, std::vector<SourceInfo> sources = three_sources(),
                   std::size_t pool_bytes = kPoolBytes)
      : memory(pool_bytes), pool(memory), assembler(settings, std::move(sources), pool, slices) {}

  // Sources 10 and 20 at readout 0, source 30 at readout 1.
  static std::vector<SourceInfo> three_sources() {
    return {{SourceId(10), 0}, {SourceId(20), 0}, {SourceId(30), 1}};
  }

  BuiltSlice& open(std::uint64_t id, std::uint16_t attempt = 0, TimeNs now_ns = 0) {
    AssignedSlice assignment;
    assignment.slice = SliceId(id);
    assignment.attempt = Attempt(attempt);
    BuiltSlice& slice = slices.assign(std::move(assignment));
    WEIR_ASSERT(assembler.open(slice, now_ns).has_value());
    return slice;
  }
  BuiltSlice& open_all(std::uint64_t id, std::uint16_t attempt = 0, TimeNs now_ns = 0) {
    BuiltSlice& slice = open(id, attempt, now_ns);
    assembler.want_all(slice);
    assembler.requested(slice, now_ns);
    return slice;
  }

  // One frame and its payload, as a connection receives them. True: the frame was taken.
  bool deliver(const wire::FrameHeader& header, ConstBytes payload, std::uint32_t readout,
               TimeNs now_ns = 0) {
    const Reception reception = assembler.begin(header, readout);
    if (reception.slice != nullptr && header.length > 0) {
      std::memcpy(reception.target, payload.data(), header.length);
      // As large payloads arrive: in parts, for every other slice; or unannounced.
      if (header.slice.value % 2 == 0) {
        const ConstBytes whole(reception.target, header.length);
        assembler.part(reception, whole.first(header.length / 3));
        assembler.part(reception, whole.subspan(header.length / 3));
      }
    }
    assembler.finish(reception, header, now_ns);
    return reception.slice != nullptr;
  }
  bool deliver_ok(const BuiltSlice& slice, SourceIndex source, std::size_t size, TimeNs now_ns = 0) {
    const SourceInfo& info = assembler.sources()[source];
    const auto bytes = content(slice.id(), info.id, size);
    return deliver(whole_header(slice.id(), slice.attempt(), info.id, bytes), bytes, info.readout, now_ns);
  }
  bool deliver_missing(const BuiltSlice& slice, SourceIndex source, MissingReason reason) {
    const SourceInfo& info = assembler.sources()[source];
    return deliver(wire::missing_fragment(slice.id(), slice.attempt(), info.id, reason), {}, info.readout);
  }

  // One block, of fragments that are whole or missing.
  struct Row {
    wire::BlockRow row;
    std::vector<std::byte> bytes;
  };
  Row whole_row(SliceId slice, SourceIndex source, std::size_t size) const {
    const SourceId id = assembler.sources()[source].id;
    Row made{{}, content(slice, id, size)};
    made.row.source = id;
    made.row.length = static_cast<std::uint32_t>(size);
    made.row.crc = crc32c(made.bytes);
    return made;
  }
  Row missing_row(SourceIndex source, MissingReason reason) const {
    Row made;
    made.row.source = assembler.sources()[source].id;
    made.row.status = FragmentStatus::missing;
    made.row.reason = reason;
    return made;
  }
  BlockReception deliver_block(SliceId slice, Attempt attempt, std::uint32_t slot,
                               const std::vector<Row>& rows, std::uint32_t readout, TimeNs now_ns = 0) {
    wire::BlockWriter writer;
    const wire::BlockSlice of{slice, attempt, slot};
    writer.begin(of);
    for (const Row& row : rows) writer.add(row.row);
    std::vector<std::byte> frame(writer.head_bytes());
    writer.write_head(frame);
    for (const Row& row : rows) {
      frame.insert(frame.end(), row.bytes.begin(), row.bytes.end());
      frame.resize(frame.size() + wire::block_bytes(row.bytes.size()) - row.bytes.size(), std::byte{0x55});
    }
    const auto header = wire::decode_header(ConstBytes(frame).first<wire::kHeaderBytes>(), 0);
    WEIR_ASSERT(header.has_value());
    const auto view = wire::BlockView::parse(*header, ConstBytes(frame).subspan(wire::kHeaderBytes));
    WEIR_ASSERT(view.has_value());
    BlockReception reception;
    view->for_each_slice([&](const wire::BlockSlice& slice_of, const wire::BlockPart& part) {
      reception = assembler.take(slice_of, part, readout, now_ns);
    });
    return reception;
  }
  BlockReception deliver_block(const BuiltSlice& slice, const std::vector<Row>& rows, std::uint32_t readout,
                               TimeNs now_ns = 0) {
    return deliver_block(slice.id(), slice.attempt(), static_cast<std::uint32_t>(slice.slot), rows, readout,
                         now_ns);
  }

  // For a completed slice with a filter that needs more.
  void next_step(BuiltSlice& slice) {
    slices.change(slice, BuildState::filtering);
    assembler.next_step(slice);
  }

  std::vector<BuiltSlice*> completed() {
    std::vector<BuiltSlice*> out;
    assembler.take_completed(out);
    return out;
  }
  std::vector<std::uint64_t> completed_ids() {
    std::vector<std::uint64_t> ids;
    for (const BuiltSlice* slice : completed()) ids.push_back(slice->id().value);
    return ids;
  }
  [[nodiscard]] std::uint64_t missing(MissingReason reason) const {
    return assembler.counters().missing[static_cast<std::size_t>(reason)];
  }
  [[nodiscard]] std::uint64_t missing_all() const {
    std::uint64_t sum = 0;
    for (const std::uint64_t n : assembler.counters().missing) sum += n;
    return sum;
  }
  [[nodiscard]] const FragmentCounters& counters() const { return assembler.counters(); }

  std::vector<std::byte> memory;
  BufferPool pool;
  SliceTable slices;
  Assembler assembler;
};

// True if the table refers to exactly the bytes of content().
inline bool holds_content(const BuiltSlice& slice, SourceIndex source) {
  const weir_filter_fragment& entry = slice.table[source];
  const auto expected = content(slice.id(), SourceId(entry.source), entry.total);
  return entry.length == entry.total &&
         (entry.length == 0 || std::memcmp(entry.data, expected.data(), entry.length) == 0);
}

}  // namespace weir::assembly
