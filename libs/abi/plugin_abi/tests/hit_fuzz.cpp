#include <weir/base/assert.hpp>
#include <weir/hits.hpp>

// For any input the reader stays inside the bytes and accounts for each of them.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weir;
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  HitReader reader(bytes);
  std::size_t used = 0;
  while (const auto hit = reader.next()) {
    used += hit->waveform.empty() ? kHitBytes : kHitBytes + 1 + hit->waveform.size();
    for (const std::byte sample : hit->waveform) WEIR_ASSERT(&sample >= bytes.data());
    WEIR_ASSERT(reader.offset() == used && used <= size);
  }
  WEIR_ASSERT(reader.malformed() == (used != size));
  return 0;
}
