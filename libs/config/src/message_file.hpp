#pragma once

#include "yaml_tree.hpp"
#include <weir/base/expected.hpp>
#include <weir/config/locations.hpp>
#include <weir/config/problem.hpp>

#include <google/protobuf/message.h>

#include <filesystem>
#include <string>
#include <string_view>

namespace weir::config {

// What the farm file and the lab file have in common: one YAML document that fills one message.

// `kind` in a person's words: "farm file".
[[nodiscard]] Expected<std::string, Problems> read_text(const std::filesystem::path& path,
                                                        const std::string& kind);

// The text's keys; `name` stands for the file in problems.
[[nodiscard]] Expected<YamlNode, Problems> read_tree(std::string_view text, const std::string& name);

// Fills `message` with a file's keys, and notes in `locations` where each of them was given. What the message
// has already stays where the file gives nothing.
[[nodiscard]] Problems read_keys(const YamlNode& tree, const std::string& name,
                                 google::protobuf::Message& message, Locations& locations);

// Sets one key of `message`. `assignment` as in "dcm.credits=8"; `prefix` is what a person writes in front of
// it, "" or "lab". On a problem nothing is changed.
[[nodiscard]] Problems override_key(google::protobuf::Message& message, const std::string& prefix,
                                    std::string_view assignment, Locations* locations);

// Every key written out, defaults too.
[[nodiscard]] std::string message_to_yaml(const google::protobuf::Message& message);

}  // namespace weir::config
