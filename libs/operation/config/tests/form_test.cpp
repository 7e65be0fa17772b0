#include "weir_catch.hpp"
#include <weir/config/farm_file.hpp>
#include <weir/config/form.hpp>

#include <algorithm>
#include <set>
#include <string>

using namespace weir;

namespace {

std::vector<config::FormKey> form_of(const std::string& text, const std::vector<std::string>& sets = {}) {
  auto file = config::read_farm(text, "farm.yaml");
  REQUIRE(file.has_value());
  for (const std::string& one : sets)
    REQUIRE(config::apply_override(file->farm, one, &file->locations).empty());
  return config::form_of(file->farm, file->locations);
}

const config::FormKey& of(const std::vector<config::FormKey>& form, const std::string& key) {
  const auto found = std::ranges::find(form, key, &config::FormKey::key);
  INFO(key);
  REQUIRE(found != form.end());
  return *found;
}

}  // namespace

TEST_CASE("a form has each key with value, origin, default and allowed words") {
  const auto form = form_of("dcm:\n  credits: 9\nfilter:\n  plugin: prescale\n  parameters: {keep: '3'}\n",
                            {"dcm.range_bytes=64KiB", "readout.masked=[1, 2]"});
  const config::FormKey& credits = of(form, "dcm.credits");
  CHECK(credits.value == "9");
  CHECK(credits.where == "farm.yaml:2");
  CHECK(credits.default_value != "9");
  CHECK(credits.type.starts_with("integer, "));
  CHECK(!credits.meaning.empty());
  CHECK(of(form, "dcm.range_bytes").value == "64KiB");
  CHECK(of(form, "dcm.range_bytes").where == "--set");
  CHECK(of(form, "readout.masked").value == "[1, 2]");
  CHECK(of(form, "filter.parameters.keep").value == "3");
  CHECK(of(form, "filter.parameters.keep").where == "farm.yaml:5");
  CHECK(of(form, "run.drain_timeout_s").where.empty());
  const auto& words = of(form, "trigger.mode").words;
  CHECK(std::ranges::find(words, "rate") != words.end());
}

TEST_CASE("every value of a form is accepted as it is shown") {
  const std::string text = "farm: small\n";
  std::set<std::string> keys;
  for (const config::FormKey& one : form_of(text)) {
    INFO(one.key << "=" << one.value);
    CHECK(keys.insert(one.key).second);
    CHECK(!one.key.starts_with("control."));
    if (one.value.empty() || !one.words.empty()) continue;
    auto file = config::read_farm(text, "farm.yaml");
    CHECK(config::apply_override(file->farm, one.key + "=" + one.value).empty());
  }
  CHECK(keys.size() > 100);
}
