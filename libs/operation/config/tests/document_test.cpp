#include "field_value.hpp"
#include "schema.hpp"
#include "weir_catch.hpp"
#include <weir/config/document.hpp>
#include <weir/config/farm_file.hpp>
#include <weir/v1/farm.pb.h>
#include <weir/v1/lab.pb.h>
#include <weir/v1/switch.pb.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

using namespace weir;
using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

namespace {

template <class Visit>
void for_each_key(const Descriptor& type, const std::string& path, const Visit& visit) {
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (config::rules(field).inlined()) continue;  // its keys are listed elsewhere
    const std::string key = config::join(path, field.name());
    visit(key, field);
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && !field.is_map()) {
      for_each_key(*field.message_type(), key, visit);
    }
  }
}

// Visits the messages of the farm file, the lab file and the switch file.
template <class Visit>
void for_each_key(const Visit& visit) {
  for_each_key(*v1::Farm::descriptor(), {}, visit);
  for_each_key(*v1::Lab::descriptor(), "lab", visit);
  for_each_key(*v1::Switch::descriptor(), "switch", visit);
}

}  // namespace

TEST_CASE("docs/configuration.md is rendered from the schema") {
  std::ifstream stream(WEIR_SOURCE_DIR "/docs/configuration.md");
  std::ostringstream committed;
  committed << stream.rdbuf();
  const std::string rendered = config::document();
  if (committed.str() != rendered) {
    const auto written = std::filesystem::path(WEIR_BIN_DIR).parent_path() / "configuration.md";
    std::ofstream(written) << rendered;
    FAIL("the schema has changed: copy " << written.string() << " to docs/configuration.md");
  }
}

TEST_CASE("every key is documented by a sentence") {
  for_each_key([](const std::string& key, const FieldDescriptor& field) {
    INFO(key);
    const std::string& doc = config::rules(field).doc();
    REQUIRE_FALSE(doc.empty());
    CHECK(doc.back() == '.');
    CHECK(doc.find('|') == std::string::npos);
    CHECK(doc.find('\n') == std::string::npos);
  });
}

TEST_CASE("the key of a number ends in its unit") {
  for_each_key([](const std::string& key, const FieldDescriptor& field) {
    std::string unit = config::rules(field).unit();
    if (unit.empty()) return;
    INFO(key);
    std::transform(unit.begin(), unit.end(), unit.begin(), [](char c) { return c == 'H' ? 'h' : c; });
    const bool named = ("_" + key).find("_" + unit) != std::string::npos;
    CHECK((named || key == "writer.file_seconds_max"));
  });
}

TEST_CASE("every default is a value that a farm file may give") {
  for_each_key([](const std::string& key, const FieldDescriptor& field) {
    if (field.is_repeated() || field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) return;
    if (config::rules(field).required()) return;
    INFO(key);
    const std::string text = config::print_value(field, config::default_value(field));
    const auto value = config::parse_value(field, text);
    REQUIRE(value.has_value());
    CHECK(*value == config::default_value(field));
  });
}

TEST_CASE("every number with a lower limit above zero has a default that reaches it") {
  for_each_key([](const std::string& key, const FieldDescriptor& field) {
    const auto& rule = config::rules(field);
    INFO(key);
    CHECK_FALSE((rule.has_min() && rule.has_max() && rule.min() > rule.max()));
    CHECK_FALSE((rule.has_min() && rule.has_above()));
  });
}
