#include "weir_catch.hpp"
#include <weir/tap/sample.hpp>

using namespace weir;
using namespace weir::tap;

namespace {

std::vector<std::byte> sample_of(const SampleHead& head, std::size_t record_bytes) {
  std::vector<std::byte> bytes;
  encode_sample_head(head, bytes);
  bytes.resize(bytes.size() + record_bytes, std::byte{7});
  return bytes;
}

}  // namespace

TEST_CASE("a sample's head is read as it was written, with the record behind it") {
  const SampleHead head{1, 0x0102030405060708, 3, 4};
  const auto bytes = sample_of(head, 5);
  REQUIRE(bytes.size() == kSampleHeadLength + 5);
  const auto read = parse_sample(bytes);
  REQUIRE(read);
  CHECK(read->head == head);
  CHECK(read->record.size() == 5);
}

TEST_CASE("a longer head of the same version is passed over") {
  auto bytes = sample_of({1, 2, 3, 4}, 16);
  bytes[6] = std::byte{kSampleHeadLength + 8};
  const auto read = parse_sample(bytes);
  REQUIRE(read);
  CHECK(read->record.size() == 8);
}

TEST_CASE("malformed samples are rejected, wherever they are cut") {
  const auto good = sample_of({1, 2, 3, 4}, 0);
  for (std::size_t length = 0; length < good.size(); ++length)
    CHECK_FALSE(parse_sample(ConstBytes(good).first(length)));
  for (const std::size_t at : {0U, 3U, 4U, 5U, 6U, 7U}) {
    auto bad = good;
    bad[at] = std::byte{0xff};
    CHECK_FALSE(parse_sample(bad));
  }
  auto short_head = good;
  short_head[6] = std::byte{kSampleHeadLength - 1};
  CHECK_FALSE(parse_sample(short_head));
}
