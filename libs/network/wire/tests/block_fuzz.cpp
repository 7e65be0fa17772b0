#include <weir/base/assert.hpp>
#include <weir/base/crc32c.hpp>
#include <weir/wire/block.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

// The input has two bytes with the number of rows, one with the number of further slices, and a payload. Its
// entries and rows get a correct checksum. An accepted block must equal its own encoding, except for the
// padding between the payloads.
namespace {

using namespace weir;
using namespace weir::wire;

void round_trip(const FrameHeader& header, const BlockView& view) {
  BlockWriter writer;
  std::size_t rows = 0;
  std::size_t slices = 0;
  view.for_each_slice([&](const BlockSlice& of, const BlockPart& part) {
    ++slices;
    WEIR_ASSERT(part.size() > 0);
    rows += part.size();
    writer.begin(of);
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < part.size(); ++i) {
      const BlockRow row = part.row(i);
      WEIR_ASSERT(row.length <= kBlockFragmentMax && bytes + row.length <= part.payloads().size());
      WEIR_ASSERT((row.status == FragmentStatus::missing) == (row.reason != MissingReason::none));
      bytes += block_bytes(row.length);
      WEIR_ASSERT(writer.takes(row.length));
      writer.add(row);
    }
    WEIR_ASSERT(bytes == part.payloads().size());
  });
  WEIR_ASSERT(rows == block_head(header).rows && slices == block_head(header).further_slices + 1);
  WEIR_ASSERT(writer.frame_bytes() == kHeaderBytes + header.length);
  std::vector<std::byte> head(writer.head_bytes());
  writer.write_head(head);
  const auto again = decode_header(ConstBytes(head).first<kHeaderBytes>(), 0);
  WEIR_ASSERT(again.has_value() && *again == header);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  const ConstBytes payload = std::as_bytes(std::span(data, size)).subspan(3);
  const std::size_t rows = data[0] + 256U * data[1];
  const std::size_t further = data[2];
  FrameHeader header;
  header.type = FrameType::block;
  header.slice = SliceId(5);
  header.source = SourceId(static_cast<std::uint32_t>(rows));
  header.offset = 9;
  header.total = static_cast<std::uint32_t>(further);
  header.length = static_cast<std::uint32_t>(payload.size());
  const std::size_t head = rows * kBlockRowBytes + further * kBlockSliceBytes;
  header.crc = crc32c(payload.first(std::min(payload.size(), head)));
  std::vector<std::byte> bytes(kHeaderBytes);
  encode_header(header, std::span(bytes).first<kHeaderBytes>());
  const auto decoded = decode_header(ConstBytes(bytes).first<kHeaderBytes>(), 0);
  const auto view = BlockView::parse(header, payload);
  if (!decoded || !view) return 0;
  round_trip(*decoded, *view);
  return 0;
}
