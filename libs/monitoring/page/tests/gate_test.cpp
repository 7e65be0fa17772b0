#include "gate.hpp"

#include "weir_catch.hpp"

using namespace weir;
using namespace weir::page;
using Answer = Gate::Answer;

TEST_CASE("the gate opens for the token, and for nothing that resembles it") {
  Gate gate("secret", 100);
  CHECK(gate.ask("Bearer secret", "a", 0) == Answer::open);
  for (const char* wrong : {"", "Bearer ", "Bearer secre", "Bearer secrets", "Bearer Secret", "secret",
                            "Basic secret", "Bearer secretsecret", "bearer secret"}) {
    INFO(wrong);
    CHECK(gate.ask(wrong, "a", 0) == Answer::unauthorised);
  }
}

TEST_CASE("without a configured token no request is accepted, not even one with an empty token") {
  Gate gate("", 100);
  CHECK(gate.ask("Bearer ", "a", 0) == Answer::no_token_set);
  CHECK(gate.ask("", "a", 0) == Answer::no_token_set);
  CHECK(!same_secret("", ""));
}

TEST_CASE("too many wrong tokens shut out wrong ones of that address, and never the right one") {
  Gate gate("secret", 3);
  const TimeNs begin = 1000 * kSecond;
  for (int i = 0; i < 3; ++i) CHECK(gate.ask("Bearer x", "bad", begin + i) == Answer::unauthorised);
  CHECK(gate.ask("Bearer x", "bad", begin + kSecond) == Answer::rate_limited);
  CHECK(gate.ask("Bearer secret", "bad", begin + kSecond) == Answer::open);
  CHECK(gate.ask("Bearer x", "bad", begin + kSecond) == Answer::rate_limited);
  CHECK(gate.ask("Bearer x", "other", begin + kSecond) == Answer::unauthorised);
  CHECK(gate.ask("Bearer secret", "good", begin + kSecond) == Answer::open);
  CHECK(gate.ask("Bearer x", "bad", begin + 61 * kSecond) == Answer::unauthorised);
}

TEST_CASE("a crowd of addresses takes bounded memory and cannot shut others out by name") {
  Gate gate("secret", 1000);
  for (int i = 0; i < 5000; ++i) {
    const Answer answer = gate.ask("Bearer x", "10.0.0." + std::to_string(i), kSecond);
    CHECK((answer == Answer::unauthorised || answer == Answer::rate_limited));
  }
  CHECK(gate.ask("Bearer x", "11.0.0.1", kSecond) ==
        Answer::rate_limited);  // the place that all later addresses share
  CHECK(gate.ask("Bearer secret", "11.0.0.2", kSecond) == Answer::open);
}

TEST_CASE("each person has a token and a role, and page-token is an expert without a name") {
  const auto people =
      read_people("# role name token\n\nobserver TV 0123456789abcdef\nshift Ada fedcba9876543210\n");
  REQUIRE(people);
  Gate gate("0000111122223333", 10, *people);
  REQUIRE(gate.person_of("Bearer fedcba9876543210") != nullptr);
  CHECK(gate.person_of("Bearer fedcba9876543210")->name == "Ada");
  CHECK(gate.person_of("Bearer fedcba9876543210")->role == PersonRole::shift);
  CHECK(gate.person_of("Bearer 0123456789abcdef")->role == PersonRole::observer);
  CHECK(gate.person_of("Bearer 0000111122223333")->role == PersonRole::expert);
  CHECK(gate.person_of("Bearer 0000111122223333")->name.empty());
  CHECK(gate.person_of("Bearer 0123456789abcdee") == nullptr);
  CHECK(gate.ask("Bearer 0123456789abcdef", "a", 0) == Answer::open);
  CHECK(gate.ask("Bearer x", "a", 0) == Answer::unauthorised);
}

TEST_CASE("a file of people that is wrong is refused by line, without its tokens") {
  const auto why = [](const std::string& text) { return read_people(text).error(); };
  CHECK(why("boss Ada 0123456789abcdef") == "line 1: the first word is one of observer, shift, expert");
  CHECK(why("\nshift Ada") == "line 2: a line has three words: role, name and token");
  CHECK(why("shift Ada B 0123456789abcdef") == "line 1: a line has three words: role, name and token");
  const std::string guessed = why("shift Ada 0123456789");
  CHECK(guessed.find("can be guessed") != std::string::npos);
  CHECK(guessed.find("0123456789") == std::string::npos);
  CHECK(why("shift Ada 0123456789abcdef\nexpert Bob 0123456789abcdef") ==
        "line 2: this name or token is there already");
}
