#include "weir_catch.hpp"
#include <weir/run/ending.hpp>

using namespace weir;
using namespace weir::run;
using Push = Ending::Push;

TEST_CASE("processes of a finished run may end by themselves for a while, then they are told, then killed") {
  Ending ending;
  CHECK(ending.due(kSecond) == Push::none);
  ending.settle(kSecond);
  const TimeNs late = kSecond + Ending::kOwnPatience;
  CHECK(ending.due(late - 1) == Push::none);
  CHECK(ending.due(late) == Push::terminate);
  CHECK(ending.due(late) == Push::none);
  CHECK(ending.due(late + Ending::kTermPatience - 1) == Push::none);
  CHECK(ending.due(late + Ending::kTermPatience) == Push::kill);
  CHECK(ending.due(late + Ending::kTermPatience) == Push::kill);
}

TEST_CASE("a run that is given up ends now, and a second Ctrl-C kills at once") {
  Ending ending;
  ending.settle(0);
  ending.terminate(kSecond);
  CHECK(ending.due(kSecond) == Push::terminate);
  ending.terminate(2 * kSecond);
  ending.settle(2 * kSecond);
  CHECK(ending.due(2 * kSecond) == Push::none);  // sent once
  ending.kill();
  CHECK(ending.due(2 * kSecond) == Push::kill);
}
