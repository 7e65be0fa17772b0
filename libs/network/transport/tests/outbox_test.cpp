#include "outbox.hpp"

#include "broken_invariant.hpp"
#include "weir_catch.hpp"
#include <weir/base/hash.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace weir::transport {
namespace {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(mix64(seed)) {}
  std::uint64_t below(std::uint64_t limit) { return (state_ = mix64(state_)) % limit; }

 private:
  std::uint64_t state_;
};

std::vector<std::byte> noise(Random& random, std::size_t size) {
  std::vector<std::byte> bytes(size);
  std::uint32_t word = static_cast<std::uint32_t>(random.below(1U << 31));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>((word = word * 1664525U + 1013904223U) >> 24U);
  return bytes;
}

std::vector<std::byte> front(const Outbox& outbox, std::size_t entries) {
  std::vector<iovec> list(entries);
  list.resize(outbox.gather(list));
  std::vector<std::byte> bytes;
  for (const iovec& piece : list) {
    const auto* data = static_cast<const std::byte*>(piece.iov_base);
    bytes.insert(bytes.end(), data, data + piece.iov_len);
  }
  return bytes;
}

std::size_t entries(const Outbox& outbox) {
  std::array<iovec, 256> list{};
  return outbox.gather(list);
}

std::shared_ptr<std::vector<std::byte>> shared(std::size_t size) {
  return std::make_shared<std::vector<std::byte>>(size, std::byte{7});
}

}  // namespace

TEST_CASE("an outbox gives the bytes that went in, in their order, however they went in and leave") {
  const auto seed = static_cast<std::uint64_t>(GENERATE(range(1, 9)));
  CAPTURE(seed);
  Random random(seed);
  Outbox outbox;
  std::vector<std::byte> model;
  std::vector<std::weak_ptr<const void>> owners;
  const std::size_t kSizes[] = {40, 400, 4000, 70'000};

  for (int i = 0; i < 600; ++i) {
    const std::size_t size = random.below(kSizes[random.below(4)]);
    const auto bytes = noise(random, size);
    switch (random.below(6)) {
      case 0:
        outbox.append(bytes);
        break;
      case 1: {
        const Bytes room = outbox.reserve(size);
        REQUIRE(room.size() == size);
        std::copy(bytes.begin(), bytes.end(), room.begin());
        break;
      }
      case 2: {
        const auto owner = std::make_shared<std::vector<std::byte>>(bytes);
        outbox.append_reference(*owner, owner);
        owners.push_back(owner);
        break;
      }
      default: {
        const auto seen = front(outbox, 1 + random.below(300));
        REQUIRE(seen.size() <= model.size());
        REQUIRE(std::equal(seen.begin(), seen.end(), model.begin()));
        const std::size_t leaves = random.below(seen.size() + 1);
        outbox.consume(random.below(5) == 0 ? seen.size() : leaves);
        model.erase(model.begin(), model.end() - static_cast<std::ptrdiff_t>(outbox.size()));
        continue;
      }
    }
    model.insert(model.end(), bytes.begin(), bytes.end());
    REQUIRE(outbox.size() == model.size());
    REQUIRE(outbox.empty() == model.empty());
  }

  while (!outbox.empty()) {
    const auto seen = front(outbox, 1024);
    REQUIRE(!seen.empty());
    REQUIRE(std::equal(seen.begin(), seen.end(), model.begin()));
    model.erase(model.begin(), model.begin() + static_cast<std::ptrdiff_t>(seen.size()));
    outbox.consume(seen.size());
  }
  CHECK(model.empty());
  for (const auto& owner : owners) CHECK(owner.expired());
}

TEST_CASE("an owner is released when its last byte has left") {
  Outbox outbox;
  const auto owner = shared(1000);
  outbox.append_reference(*owner, owner);
  outbox.append_reference(*owner, owner);
  CHECK(owner.use_count() == 3);
  outbox.consume(999);
  CHECK(owner.use_count() == 3);
  outbox.consume(1);
  CHECK(owner.use_count() == 2);
  outbox.clear();
  CHECK(owner.use_count() == 1);
  CHECK(outbox.empty());
}

TEST_CASE("many small pieces are one entry, and a small reference is copied") {
  Outbox outbox;
  const auto owner = shared(Outbox::kCopyMax);
  const std::array<std::byte, 32> header{};
  for (int i = 0; i < 50; ++i) {
    outbox.append(header);
    outbox.append_reference(*owner, owner);
  }
  CHECK(entries(outbox) == 1);
  CHECK(owner.use_count() == 1);

  outbox.consume(100);
  outbox.append(header);
  CHECK(entries(outbox) == 1);
}

TEST_CASE("a large piece costs two entries with its header, and is not copied") {
  Outbox outbox;
  const auto owner = shared(Outbox::kCopyMax + 1);
  const std::array<std::byte, 32> header{};
  for (int i = 0; i < 10; ++i) {
    outbox.append(header);
    outbox.append_reference(*owner, owner);
  }
  CHECK(entries(outbox) == 20);
  std::array<iovec, 2> list{};
  CHECK(outbox.gather(list) == 2);
  CHECK(list[1].iov_base == owner->data());
}

TEST_CASE("bytes without an owner are referred to as well") {
  static const std::vector<std::byte> forever(2000, std::byte{1});
  Outbox outbox;
  outbox.append_reference(forever, nullptr);
  std::array<iovec, 1> list{};
  CHECK(outbox.gather(list) == 1);
  CHECK(list[0].iov_base == forever.data());
  outbox.consume(2000);
  CHECK(outbox.empty());
}

TEST_CASE("empty data adds no entry") {
  Outbox outbox;
  outbox.append({});
  outbox.append_reference({}, nullptr);
  CHECK(outbox.reserve(0).empty());
  CHECK(outbox.empty());
  CHECK(entries(outbox) == 0);
}

TEST_CASE("more bytes than were appended cannot be sent") {
  const auto broken = [] {
    Outbox outbox;
    outbox.append(std::vector<std::byte>(10));
    outbox.consume(11);
  };
  CHECK_THAT(weir::test::broken_invariant(broken),
             Catch::Matchers::ContainsSubstring("broken invariant: bytes <= bytes_"));
}

}  // namespace weir::transport
