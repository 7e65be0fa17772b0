#include <weir/tap/sample.hpp>

#include <cstring>

namespace weir::tap {
namespace {

constexpr char kMagic[] = {'W', 'T', 'A', 'P'};
constexpr std::size_t kVersionAt = 4, kLengthAt = 6, kNumbersAt = 8;

}  // namespace

void encode_sample_head(const SampleHead& head, std::vector<std::byte>& out) {
  const std::size_t begin = out.size();
  out.resize(begin + kSampleHeadLength);
  std::byte* at = out.data() + begin;
  std::memcpy(at, kMagic, sizeof kMagic);
  store_le(at + kVersionAt, kSampleVersion);
  store_le(at + kLengthAt, static_cast<std::uint16_t>(kSampleHeadLength));
  at += kNumbersAt;
  for (const std::uint64_t number : {head.numbering, head.sequence, head.dropped, head.seen}) {
    store_le(at, number);
    at += sizeof number;
  }
}

static_assert(kNumbersAt + 4 * sizeof(std::uint64_t) == kSampleHeadLength);

std::optional<Sample> parse_sample(ConstBytes bytes) {
  if (bytes.size() < kSampleHeadLength || std::memcmp(bytes.data(), kMagic, sizeof kMagic) != 0 ||
      load_le<std::uint16_t>(bytes.data() + kVersionAt) != kSampleVersion) {
    return std::nullopt;
  }
  const std::size_t length = load_le<std::uint16_t>(bytes.data() + kLengthAt);
  if (length < kSampleHeadLength || length > bytes.size()) return std::nullopt;
  const auto number = [&](std::size_t index) {
    return load_le<std::uint64_t>(bytes.data() + kNumbersAt + index * sizeof(std::uint64_t));
  };
  return Sample{{number(0), number(1), number(2), number(3)}, bytes.subspan(length)};
}

}  // namespace weir::tap
