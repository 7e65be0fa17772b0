#include "weir_catch.hpp"
#include <weir/hits.hpp>

#include <span>
#include <vector>

using namespace weir;

TEST_CASE("a hit is decoded as it was encoded, little-endian", "[hit]") {
  std::vector<std::byte> bytes(kHitBytes);
  encode_hit({30, 0x01020304, 27, {}}, bytes.data());
  CHECK(bytes[0] == std::byte{30});
  CHECK(bytes[1] == std::byte{4});
  CHECK(bytes[4] == std::byte{1});
  CHECK(bytes[5] == std::byte{27});
  HitReader reader(bytes);
  const auto hit = reader.next();
  REQUIRE(hit);
  CHECK(hit->channel == 30);
  CHECK(hit->time_ns == 0x01020304);
  CHECK(hit->tot_ns == 27);
  CHECK(hit->waveform.empty());
  CHECK_FALSE(reader.next());
  CHECK_FALSE(reader.malformed());
}

TEST_CASE("waveform hits have 263 and 519 bytes and are read between other hits", "[hit]") {
  const std::vector<std::byte> samples(2 * kWaveformBytes, std::byte{7});
  std::vector<std::byte> bytes(263 + 519 + 6);
  CHECK(encode_waveform_hit({1, 10, 20, std::span(samples).first(kWaveformBytes)}, bytes.data()) == 263);
  CHECK(encode_waveform_hit({2, 11, 21, samples}, bytes.data() + 263) == 519);
  encode_hit({3, 12, 22, {}}, bytes.data() + 263 + 519);
  HitReader reader(bytes);
  const auto one = reader.next();
  const auto two = reader.next();
  const auto three = reader.next();
  REQUIRE((one && two && three));
  CHECK(one->waveform.size() == 256);
  CHECK(two->waveform.size() == 512);
  CHECK(two->channel == 2);
  CHECK(two->waveform[511] == std::byte{7});
  CHECK(three->time_ns == 12);
  CHECK_FALSE(reader.next());
  CHECK_FALSE(reader.malformed());
}

TEST_CASE("a hit that is cut off ends the reading as malformed, at its offset", "[hit]") {
  const std::vector<std::byte> samples(kWaveformBytes);
  std::vector<std::byte> bytes(kHitBytes + 263);
  encode_hit({1, 2, 3, {}}, bytes.data());
  encode_waveform_hit({1, 2, 3, samples}, bytes.data() + kHitBytes);
  for (std::size_t size = kHitBytes + 1; size < bytes.size(); ++size) {
    HitReader reader(std::span<const std::byte>(bytes).first(size));
    CHECK(reader.next());
    CHECK_FALSE(reader.next());
    CHECK(reader.malformed());
    CHECK(reader.offset() == kHitBytes);
    CHECK_FALSE(reader.next());
  }
  bytes[kHitBytes + 6] = std::byte{3};  // three channels: no hit has that many
  HitReader reader(bytes);
  (void)reader.next();
  CHECK_FALSE(reader.next());
  CHECK(reader.malformed());
}
