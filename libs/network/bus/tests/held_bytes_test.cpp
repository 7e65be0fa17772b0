#include "../src/held_bytes.hpp"

#include "weir_catch.hpp"

using namespace weir;
using bus::ConnectionKey;
using bus::HeldBytes;

namespace {

constexpr ConnectionKey kOne{0, 10};
constexpr ConnectionKey kOther{1, 11};

}  // namespace

TEST_CASE("connections beyond the limit are refused, and make room when they have closed") {
  HeldBytes held({2, 1000, 100});
  CHECK(held.opened(kOne));
  CHECK(held.opened(kOther));
  CHECK_FALSE(held.opened({0, 12}));
  held.closed({0, 12});
  held.closed(kOne);
  CHECK(held.opened({0, 12}));
}

TEST_CASE("the largest connections end until the rest is within the limit") {
  HeldBytes held({10, 1000, 10'000});
  for (const ConnectionKey key : {kOne, kOther, ConnectionKey{0, 12}}) CHECK(held.opened(key));
  held.read(kOne, 600);
  held.read(kOther, 900);
  held.read({0, 12}, 300);
  CHECK(held.excess() == std::vector<ConnectionKey>{kOther});
  CHECK(held.excess().empty());
}

TEST_CASE(
    "messages of an ended connection count until the hub has taken them, and its successors end meanwhile") {
  HeldBytes held({10, 1000, 800});
  CHECK(held.opened(kOne));
  held.taken(kOne, 10);
  held.read(kOne, 1010);
  held.read(kOne, 1210);
  CHECK(held.excess() == std::vector<ConnectionKey>{kOne});
  CHECK(held.bytes() == 1200);
  held.closed(kOne);
  CHECK(held.bytes() == 1200);
  const ConnectionKey again{kOne.socket, kOne.descriptor + 1};
  for (const ConnectionKey key : {again, kOther}) CHECK(held.opened(key));
  held.read(again, 300);
  held.read(kOther, 50);  // as small as those of a farm's processes
  CHECK(held.excess() == std::vector<ConnectionKey>{again});
  held.taken(kOne, 600);  // its descriptor is closed
  CHECK(held.bytes() == 950);
  held.closed(again);
  held.emptied(kOther.socket);
  CHECK(held.bytes() == 950);
  held.emptied(kOne.socket);
  CHECK(held.bytes() == 50);
}

TEST_CASE("a connection without a whole message has a small limit, whatever the others hold") {
  HeldBytes held({10, 1000, 100});
  CHECK(held.opened(kOne));
  CHECK(held.opened(kOther));
  held.taken(kOther, 50);
  held.read(kOne, 101);
  held.read(kOther, 500);
  CHECK(held.excess() == std::vector<ConnectionKey>{kOne});
}

TEST_CASE("messages that were taken count no more, and frames around them do not add up") {
  HeldBytes held({10, 1000, 1000});
  CHECK(held.opened(kOne));
  std::uint64_t read = 0;
  for (int i = 0; i < 1000; ++i) {
    read += 130;
    held.read(kOne, read);
    held.taken(kOne, 100);
    held.drained(kOne, read);
    CHECK(held.excess().empty());
  }
  CHECK(held.bytes() == 0);
  // A message that never ends, in parts.
  held.read(kOne, read + 1001);
  CHECK(held.excess() == std::vector<ConnectionKey>{kOne});
}

TEST_CASE("answers that a client does not read count") {
  HeldBytes held({10, 1000, 1000});
  CHECK(held.opened(kOne));
  held.taken(kOne, 10);
  held.queued(kOne, 900);
  held.written(kOne, 920);
  CHECK(held.bytes() == 0);
  held.queued(kOne, 1100);
  CHECK(held.bytes() == 1100);
  held.written(kOne, 1520);
  CHECK(held.bytes() == 500);
  held.queued(kOne, 600);
  CHECK(held.excess() == std::vector<ConnectionKey>{kOne});
}

TEST_CASE("a long message is not read if it is the first one, or its connection has ended") {
  HeldBytes held({10, 10'000, 100});
  CHECK(held.opened(kOne));
  CHECK_FALSE(held.taken(kOne, 101));
  CHECK_FALSE(held.taken(kOne, 101));  // no short one has come yet
  CHECK(held.taken(kOne, 100));
  CHECK(held.taken(kOne, 5000));
  held.closed(kOne);
  CHECK_FALSE(held.taken(kOne, 101));
  CHECK(held.taken(kOne, 100));
}
