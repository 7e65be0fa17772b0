#include "../src/text_responder.hpp"

#include "weir_catch.hpp"

using namespace weir;
using namespace weir::supervisor;
using assignment::NumberedAnswer;

namespace {

// A farm that takes two triggers of three.
struct Desk {
  explicit Desk(std::optional<security::FarmKeys> keys = std::nullopt, std::uint64_t claim = 1)
      : responder(
            TextSettings{"bench", RunNumber(7), std::move(keys), claim}, answered,
            [this](const assignment::TriggerOffer& trigger) -> slice_rows::OfferResult {
              payload = trigger.payload.size();
              const std::uint64_t id = offered++;
              return id % 3 == 2 ? slice_rows::OfferResult{false, {}, slice_rows::VetoReason::throttled}
                                 : slice_rows::OfferResult{true, SliceId(id)};
            },
            [this](const NumberedAnswer& answer) { noted.push_back(answer); }) {}

  std::string tcp(std::string_view line) { return responder.respond(line, false); }
  std::string udp(std::string_view line) { return responder.respond(line, true); }
  std::uint64_t refused(TextRefusal why) {
    return responder.counters().refused[static_cast<std::size_t>(why)];
  }

  assignment::AnsweredTriggers answered;
  std::uint64_t offered = 0;
  std::size_t payload = 0;
  std::vector<NumberedAnswer> noted;
  TextResponder responder;
};

security::FarmKeys keys_of(const char* digit) {
  const std::string secret = std::string(64, *digit);
  return *security::parse_trigger_keys("weir-trigger-keys 1\nkey one " + secret + "\n", "trigger.key");
}

}  // namespace

TEST_CASE("lines are offered one by one, and unnumbered ones each time") {
  Desk desk;
  CHECK(desk.tcp("hello") == "weir-trigger 1 farm=bench run=7\n");
  CHECK(desk.tcp("trigger data=0011") == "taken 0\n");
  CHECK(desk.payload == 2);
  CHECK(desk.tcp("trigger") == "taken 1\n");
  CHECK(desk.tcp("trigger") == "busy throttled\n");
  CHECK(desk.tcp("") == "");
  CHECK(desk.tcp("trigger?").starts_with("error request"));
  CHECK(desk.offered == 3);
  CHECK(desk.noted.empty());
  CHECK(desk.refused(TextRefusal::line) == 1);
}

TEST_CASE("a repeat has the first answer, taken or busy, and is offered once") {
  Desk desk;
  for (int n = 1; n <= 9; ++n) {
    const std::string line = "trigger client=tlu session=5 n=" + std::to_string(n);
    const std::string first = desk.udp(line);
    CHECK(first.starts_with(n % 3 == 0 ? "busy throttled n=" : "taken "));
    for (int i = 0; i < 3; ++i) CHECK((i == 1 ? desk.tcp(line) : desk.udp(line)) == first);
  }
  CHECK(desk.offered == 9);
  CHECK(desk.noted.size() == 9);
  CHECK(desk.responder.counters().repeated == 27);
}

TEST_CASE("UDP requires numbers, because the network repeats datagrams") {
  Desk desk;
  CHECK(desk.udp("trigger") == "error number: UDP requires client=, session= and n=\n");
  CHECK(desk.udp("trigger client=tlu session=5 n=1") == "taken 0 n=1 session=5\n");
  CHECK(desk.udp("trigger client=tlu session=4 n=1").starts_with("error old"));
  CHECK(desk.offered == 1);
  CHECK(desk.refused(TextRefusal::number) == 1);
  CHECK(desk.refused(TextRefusal::old) == 1);
}

TEST_CASE("with a key only proved lines are offered, and a recorded one proves nothing in another run") {
  const security::FarmKeys keys = keys_of("a");
  Desk desk(keys);
  const std::string hello = desk.udp("hello");
  REQUIRE(hello.starts_with("weir-trigger 1 farm=bench run=7 challenge="));
  // Python: hmac.new(bytes.fromhex("a" * 64), (challenge + " " + line).encode(), "sha256").hexdigest()
  CHECK(hello == "weir-trigger 1 farm=bench run=7 challenge=80038e0ad49dee17dd9d83b70a8ff66c\n");
  const std::string line = "trigger client=tlu session=5 n=1 slice=3";
  const std::string proved = line + " mac=211b4a8de75d013c5eab804a22f5bb9df45ef4491e32f74477c6b3483f5df8c2";
  CHECK(desk.tcp(line) == "error mac n=1 session=5\n");
  CHECK(desk.udp(line + " mac=00") == "error mac n=1 session=5\n");
  std::string changed = proved;
  changed[changed.find("slice=3") + 6] = '4';
  CHECK(desk.udp(changed) == "error mac n=1 session=5\n");
  CHECK(desk.offered == 0);
  CHECK(desk.udp(proved) == "taken 0 n=1 session=5\n");
  CHECK(desk.udp(proved) == "taken 0 n=1 session=5\n");
  CHECK(desk.offered == 1);
  CHECK(desk.refused(TextRefusal::mac) == 3);
  Desk other_run(keys, 2);
  CHECK(other_run.udp(proved) == "error mac n=1 session=5\n");
  Desk other_key(keys_of("b"));
  CHECK(other_key.udp(proved) == "error mac n=1 session=5\n");
}
