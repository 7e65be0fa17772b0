#include <weir/base/crc32c.hpp>
#include <weir/storage/slice_record.hpp>

#include <cstdlib>
#include <vector>

// The input is a slice record. It is read unchanged, and once more with a correct checksum, so that the
// fuzzer gets past it.
namespace {

using namespace weir;
using namespace weir::storage;

std::size_t sink = 0;

void use(ConstBytes bytes) {
  for (const std::byte b : bytes) sink += std::to_integer<std::size_t>(b);
}

void read_record(ConstBytes bytes) {
  const auto view = parse_slice_record(bytes, Check::fragments);
  const auto meta = parse_slice_record(bytes, Check::meta);
  if (view && !meta) std::abort();
  if (!meta) return;
  std::vector<FragmentRecord> table;
  std::vector<OutputEvent> events;
  for (std::size_t i = 0; i < meta->fragment_count(); ++i) {
    const FragmentView fragment = meta->fragment(i);
    use(fragment.bytes);
    sink += name(fragment.record.status).size() + name(fragment.record.reason).size();
    table.push_back(fragment.record);
    (void)meta->find(fragment.record.source);
  }
  for (std::size_t i = 0; i < meta->event_count(); ++i) {
    events.push_back(meta->event(i));
    use(events.back().bytes);
  }
  use(meta->trigger_payload());
  use(meta->filter_result());
  sink += name(meta->head().decision).size();
  const SliceRecord record{meta->head(), meta->trigger_payload(), meta->filter_result(), events, table};
  if (slice_record_length(record) != bytes.size()) std::abort();
  std::vector<std::byte> again;
  encode_slice_meta(record, again);
  if (!parse_slice_record([&] {
        again.insert(again.end(), bytes.begin() + static_cast<std::ptrdiff_t>(again.size()), bytes.end());
        return ConstBytes(again);
      }())) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ConstBytes bytes(reinterpret_cast<const std::byte*>(data), size);
  read_record(bytes);
  constexpr std::size_t kMetaLengthAt = 16;
  constexpr std::size_t kHeadLength = 96;
  if (size < kHeadLength) return 0;
  std::vector<std::byte> good(bytes.begin(), bytes.end());
  const std::uint32_t meta_length = load_le<std::uint32_t>(good.data() + kMetaLengthAt);
  if (meta_length < kHeadLength || meta_length > size) return 0;
  store_le(good.data(), crc32c(ConstBytes(good).subspan(4, meta_length - 4)));
  read_record(good);
  return 0;
}
