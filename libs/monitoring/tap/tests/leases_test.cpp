#include "weir_catch.hpp"
#include <weir/tap/leases.hpp>
#include <weir/tap/stream.hpp>

using namespace weir;
using namespace weir::tap;

TEST_CASE("the number of taps is limited, and one that was not renewed makes room") {
  Leases leases(2);
  CHECK(leases.renew("a", 5 * kSecond, 0));
  CHECK(leases.renew("b", 5 * kSecond, kSecond));
  CHECK_FALSE(leases.renew("c", 5 * kSecond, 2 * kSecond));
  CHECK(leases.renew("b", 5 * kSecond, 4 * kSecond));
  CHECK(leases.renew("c", 5 * kSecond, 5 * kSecond));  // the lease of "a" is over
  CHECK_FALSE(leases.renew("a", 5 * kSecond, 6 * kSecond));
  leases.end("c");
  CHECK(leases.renew("a", 5 * kSecond, 6 * kSecond));
  CHECK(leases.count() == 2);
}

TEST_CASE("a stream is found by its name, and a tag names stream and client") {
  for (const TapStream& one : streams()) CHECK(find_stream(one.name) == &one);
  CHECK(find_stream("cooked") == nullptr);
  CHECK(stream_names() == "raw, accepted, default, debug");
  CHECK(tag_prefix("raw", "0123456789abcdef") == "tap.raw.0123456789abcdef.");
  CHECK(good_id("0123456789abcdef"));
  for (const char* bad : {"", "0123456789abcde", "0123456789abcdeF", "0123456789abcde.", "0123456789abcdef0"})
    CHECK_FALSE(good_id(bad));
}
