#include "../src/event_log.hpp"

#include "weir_catch.hpp"

#include <string>
#include <vector>

using namespace weir;
using namespace weir::run_control;

TEST_CASE("the last events are kept, cleaned and truncated, and each is passed on immediately") {
  std::size_t told = 0;
  EventLog log([&](const v1::FarmView::Line&) { ++told; });
  for (std::size_t i = 0; i < EventLog::kKept + 5; ++i) log.note(control::Level::info, std::to_string(i));
  CHECK(log.lines().size() == EventLog::kKept);
  CHECK(log.lines().front().text() == "5");
  CHECK(told == EventLog::kKept + 5);
  log.error(std::string(10 * EventLog::kBytesMax, 'x') + "\x1b[2J");
  CHECK(log.lines().back().level() == "error");
  CHECK(log.lines().back().text().size() <= EventLog::kBytesMax + 4);
  log.note(control::Level::warning, "\x1b[2Jgone");
  CHECK(log.lines().back().text().find('\x1b') == std::string::npos);
}

TEST_CASE("refusals are reported a hundred times, then counted") {
  std::size_t told = 0;
  EventLog log([&](const v1::FarmView::Line&) { ++told; });
  for (std::uint64_t i = 0; i < EventLog::kRefusalsTold + 50; ++i) log.refused("10.0.0.1", "a stranger");
  CHECK(told == EventLog::kRefusalsTold);
  CHECK(log.refusals() == EventLog::kRefusalsTold + 50);
}

TEST_CASE("connections that the bus refused are an event, and later ones the next after a minute") {
  std::vector<std::string> told;
  EventLog log([&](const v1::FarmView::Line& line) { told.push_back(line.text()); });
  bus::HubCounters counters;
  log.strangers(counters, kSecond);
  CHECK(told.empty());
  counters.refused_key = 1;
  counters.refused_from = "10.0.0.7";
  log.strangers(counters, 2 * kSecond);
  counters.refused_handshake = 3;
  log.strangers(counters, 3 * kSecond);
  REQUIRE(told.size() == 1);
  CHECK(told.front() ==
        "the bus refused 1 connection for a missing, foreign or unknown key, the last unknown key from "
        "10.0.0.7");
  log.strangers(counters, 2 * kSecond + EventLog::kStrangersApart);
  REQUIRE(told.size() == 2);
  CHECK(told.back().starts_with("the bus refused 3 connections "));
}
