#include "every_key.hpp"
#include "weir_catch.hpp"
#include <weir/config/farm_file.hpp>
#include <weir/config/plan.hpp>

#include <google/protobuf/util/message_differencer.h>

#include <string>

using namespace weir;
using google::protobuf::util::MessageDifferencer;

namespace {

void check_round_trip(const v1::Farm& farm) {
  const std::string written = config::to_yaml(farm);
  const auto again = config::read_farm(written, "written.yaml");
  INFO(written);
  INFO((again ? "" : config::to_text(again.error())));
  REQUIRE(again.has_value());
  CHECK(MessageDifferencer::Equivalent(farm, again->farm));
  CHECK(config::to_yaml(again->farm) == written);
}

}  // namespace

TEST_CASE("a farm of defaults is written out in full and reads back the same") {
  const v1::Farm farm;
  check_round_trip(farm);
  CHECK_THAT(config::to_yaml(farm), Catch::ContainsSubstring("\n  congestion_control: \"cubic\"\n"));
}

TEST_CASE("a farm in which every key of the schema is set reads back the same") {
  const v1::Farm farm = config::farm_of_every_key();
  REQUIRE(farm.readout().profiles(0).own().source().plugin() != "");
  check_round_trip(farm);
}

TEST_CASE("limits that are not given stay so in the written farm, and do not become zero") {
  const auto file = config::read_farm(
      "control:\n"
      "  quality: [{name: size, histogram: bytes, mean_max: 5}]\n"
      "  alarms: {rules: [{name: crowded, metric: weir_slices_in_flight, above: 9}]}\n",
      "farm.yaml");
  REQUIRE(file.has_value());
  const auto again = config::read_farm(config::to_yaml(file->farm), "written.yaml");
  REQUIRE(again.has_value());
  const auto errors = config::validate(again->farm, again->locations, {});
  INFO(config::to_text(errors));
  CHECK(errors.empty());
  const auto& check = again->farm.control().quality(0);
  CHECK((check.has_mean_max() && !check.has_mean_min() && !check.has_ratio_max() &&
         !check.has_empty_bins_max()));
  const auto& rule = again->farm.control().alarms().rules(0);
  CHECK((rule.has_above() && !rule.has_below() && !rule.has_raise_after_s() && !rule.has_clear_after_s()));
}

TEST_CASE("a farm with every kind of value reads back the same") {
  v1::Farm farm;
  farm.set_farm("all");
  farm.mutable_run()->set_slices(18446744073709551615U);
  farm.mutable_run()->set_duration_s(0.1);
  farm.mutable_run()->set_checksums(false);
  farm.mutable_trigger()->set_slice_ms(0.00012345678901);
  farm.mutable_trigger()->set_rate_hz(99999999.99999999);
  auto& type = *farm.mutable_trigger()->add_types();
  type.set_type(4294967295U);
  type.set_name("laser");
  type.add_sources(1);
  farm.mutable_source()->set_distribution(v1::SourceSettings::DISTRIBUTION_LOG_NORMAL);
  for (const std::uint32_t source : {3U, 1U, 2U}) farm.mutable_readout()->add_masked(source);
  auto& node = *farm.mutable_readout()->add_nodes();
  node.set_name("left");
  node.set_listen("[::1]:4000");
  node.set_masked(true);
  farm.mutable_dcm()->set_buffer_bytes(1234567);
  farm.mutable_filter()->add_search_path("/opt/über plugins");
  auto& parameters = *farm.mutable_filter()->mutable_parameters();
  parameters["number"] = "5";
  parameters["nothing"] = "";
  parameters["null"] = "null";
  parameters["text"] = "a: \"b\"\\ \t# '[c]'\nnext";
  check_round_trip(farm);
}
