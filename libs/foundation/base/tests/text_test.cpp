#include "weir_catch.hpp"
#include <weir/base/text.hpp>

#include <string>

using namespace weir;

TEST_CASE("text that is fit for a line stays as it is") {
  for (const char* text : {"", "p50 is 3 µs", "a\\b \"c\" 'd'", "日本語 \U0001f600"})
    CHECK(clean_text(text, 100) == text);
}

TEST_CASE("line ends, escape sequences, controls and invalid UTF-8 are spelled out") {
  CHECK(clean_text("a\nb\r\tc", 100) == "a\\nb\\r\\tc");
  CHECK(clean_text("\x1b[31mred\x7f", 100) == "\\x1b[31mred\\x7f");
  CHECK(clean_text(std::string("a\0b", 3), 100) == "a\\x00b");
  CHECK(clean_text("\xff\xc3\x28\xed\xa0\x80\xf5", 100) == "\\xff\\xc3(\\xed\\xa0\\x80\\xf5");
  CHECK(clean_text("a\xc2", 100) == "a\\xc2");
  CHECK(clean_text("\xc2\x9b"
                   "31m",
                   100) == "\\u009b31m");
  CHECK(clean_text("\u2028 \u202e \ufeff", 100) == "\\u2028 \\u202e \\ufeff");
}

TEST_CASE("cleaned text of any bytes is UTF-8 on one line within its length, and stays so") {
  std::uint32_t random = 1;
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (int i = 0; i < round % 200; ++i) {
      random = random * 1664525U + 1013904223U;
      text.push_back(static_cast<char>(random >> 24));
    }
    for (const std::size_t bytes_max : {std::size_t{0}, std::size_t{7}, std::size_t{64}, std::size_t{300}}) {
      const std::string clean = clean_text(text, bytes_max);
      CHECK(clean.size() <= bytes_max);
      CHECK(utf8_prefix(clean) == clean.size());
      for (const char c : clean) CHECK((static_cast<unsigned char>(c) >= 0x20 && c != 0x7f));
      CHECK(clean_text(clean, bytes_max) == clean);
    }
  }
}

TEST_CASE("text that is too long is cut between characters, with the length of the rest") {
  CHECK(clean_text("aµµ", 4) == "aµ");
  CHECK(clean_text("a\n", 2) == "a");
  const std::string cut = clean_text(std::string(50'000'000, 'x'), 100);
  CHECK(cut == std::string(60, 'x') + " [49999940 bytes more]");
  CHECK(clean_text(std::string(100, 'x'), 100) == std::string(100, 'x'));
}

TEST_CASE("quoted text cannot end its quotes") {
  CHECK(clean_quoted("a\" level=error b=\"", 100) == "a' level=error b='");
}
