#include "column_text.hpp"
#include "schema.hpp"
#include <weir/config/document.hpp>
#include <weir/v1/farm.pb.h>
#include <weir/v1/lab.pb.h>
#include <weir/v1/switch.pb.h>

#include <google/protobuf/descriptor.h>

namespace weir::config {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

constexpr const char* kIntroduction =
    R"(# Configuration: every key of a farm file

A farm file is one YAML document. `weir check FARM` names every mistake with its line. Any key can be set on the command
line, as in `--set dcm.credits=8` or `--set readout.masked=[1,2]`; a list is replaced as a whole. Relative paths begin in
the working folder.

An entry of `nodes`, or its profile, may override keys marked †; a readout's entry also keys of `source` and `replay`.
`weir check FARM --explain NODE` shows a node's settings and their origin.

Sizes are bytes, or have a unit: `64k` and `64kB` are 64 000 bytes, `64KiB` is 65 536; likewise `M`, `G`, `T`. Times are
numbers with their unit in the key's name.

This page is rendered from `proto/weir/v1/farm.proto`, its last parts from `lab.proto` and `switch.proto`; a test keeps
them equal.
)";

constexpr const char* kLabIntroduction = R"(
## The lab file

A virtual network for `weir lab` and `weir run FARM --lab FILE` ([lab.md](lab.md)). On the command line its keys have
the prefix `lab.`, as in `--set lab.port_rate=200mbit`.

Rates and buffers are those of `tc`: `1gbit` and `200mbit` are bits per second in steps of 1000; `100k` and `4m` are
bytes in steps of 1024. `unlimited` sets no limit on the rate.
With `switches: software` a port holds more than its `port_buffer`: frames also wait in the switch before it, 288 of them
in a lab without a farm ([lab.md](lab.md#software-switches)).
)";

constexpr const char* kSwitchIntroduction = R"(
## The switch file

A switch in software for `weir-switch` ([switching.md](switching.md)). Rates and sizes are written as in a lab file.
)";

// Keys that a node may override appear in the tables of their own sections.
void add_own_rows(std::string& page, const Descriptor& type, const std::string& path) {
  bool some = false;
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (rules(field).inlined()) {
      add_own_rows(page, *field.message_type(), path);
    } else if (is_section(field)) {
      page += "| `" + join(path, field.name()) + "` | section |  | " + rules(field).doc() + " |\n";
    } else {
      some = some || rules(field).per_node();
    }
  }
  if (some)
    page += "| `" + path + ".KEY` |  |  | Each key of `" + path.substr(0, path.find('.')) + "` marked †. |\n";
}

void add_rows(std::string& page, const Descriptor& type, const std::string& path) {
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    const std::string key = join(path, field.name());
    if (rules(field).inlined()) {
      add_own_rows(page, *field.message_type(), path);
      continue;
    }
    if (is_section(field)) {
      if (path.empty()) continue;  // described in a table of its own
      page += "| `" + key + "` | section |  | " + rules(field).doc() + " |\n";
      add_rows(page, *field.message_type(), key);
      continue;
    }
    page += "| `" + key + (rules(field).per_node() ? "`† | " : "` | ") + type_column(field) + " | " +
            default_column(field) + " | " + meaning_column(field) + " |\n";
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && !field.is_map()) {
      add_rows(page, *field.message_type(), key + "[]");
    }
  }
}

void add_table(std::string& page, const Descriptor& type, const std::string& path) {
  page += "\n| key | value | default | meaning |\n| --- | --- | --- | --- |\n";
  add_rows(page, type, path);
}

void add_file(std::string& page, const Descriptor& file, const std::string& heading) {
  add_table(page, file, {});
  for (int i = 0; i < file.field_count(); ++i) {
    const FieldDescriptor& section = *file.field(i);
    if (!is_section(section)) continue;
    page += "\n" + heading + section.name() + "\n\n" + rules(section).doc() + "\n";
    add_table(page, *section.message_type(), section.name());
  }
}

}  // namespace

std::string document() {
  std::string page = kIntroduction;
  add_file(page, *v1::Farm::descriptor(), "## ");
  page += kLabIntroduction;
  add_file(page, *v1::Lab::descriptor(), "### lab: ");
  page += kSwitchIntroduction;
  add_file(page, *v1::Switch::descriptor(), "### switch: ");
  return page;
}

}  // namespace weir::config
