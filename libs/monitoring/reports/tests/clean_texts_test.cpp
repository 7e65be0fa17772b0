#include "weir_catch.hpp"
#include <weir/reports/clean_texts.hpp>
#include <weir/v1/bus.pb.h>

using namespace weir;

TEST_CASE("every text of a message is cleaned, in lists, maps and messages inside it, and bytes are not") {
  v1::Reply reply;
  reply.set_error("no\x1b[2J");
  v1::FarmView& view = *reply.mutable_view();
  view.set_reason("a\nb");
  view.add_sets("\x07 node");
  v1::FarmView::Node& node = *view.add_nodes();
  node.set_name("dcm-0\r");
  node.mutable_state()->set_reason(
      "\x9b"
      "1m");
  v1::Report& report = *node.mutable_report();
  (*report.mutable_counters())["stored\x1b"] = 7;
  (*report.mutable_notes())["fault"] = "first\x1b\nsecond";
  view.add_events()->set_text("fine \u00e9");
  reports::clean_texts(reply);
  CHECK(reply.error() == "no\\x1b[2J");
  CHECK(view.reason() == "a\\nb");
  CHECK(view.sets(0) == "\\x07 node");
  CHECK(node.name() == "dcm-0\\r");
  CHECK(node.state().reason() == "\\x9b1m");
  CHECK(report.counters().at("stored\\x1b") == 7);
  CHECK(report.notes().at("fault") == "first\\x1b\nsecond");
  CHECK(view.events(0).text() == "fine \u00e9");
  reports::clean_texts(reply);
  CHECK(view.reason() == "a\\nb");
}
