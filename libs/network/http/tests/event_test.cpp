#include "weir_catch.hpp"
#include <weir/http/server.hpp>

using weir::http::event_text;

TEST_CASE("an event has its name, its data and an empty line") {
  CHECK(event_text("state", "{}") == "event: state\ndata: {}\n\n");
  CHECK(event_text("", "x") == "data: x\n\n");
}

TEST_CASE("data of several lines stays one event, whatever its line ends") {
  CHECK(event_text("log", "a\nb\r\nc\rd") == "event: log\ndata: a\ndata: b\ndata: c\ndata: d\n\n");
  CHECK(event_text("log", "\n") == "event: log\ndata: \ndata: \n\n");
}
