#pragma once

#include <weir/v1/control.pb.h>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>

// Messages about slices with random valid values in all fields of the schema.
namespace weir::test {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Numbers of 16 bits: nodes, attempts, epochs.
inline bool is_small(const FieldDescriptor& field) {
  static const std::set<std::string> kSmall{"suspect_attempt", "beside_attempt", "as",      "attempt", "dcm",
                                            "epoch",           "index",          "readout", "writer"};
  return kSmall.contains(std::string(field.name()));
}
inline bool is_list_of_rows(const FieldDescriptor& field) {
  static const std::set<std::string> kLists{"weir.v1.Assign.killed", "weir.v1.Assign.suspect",
                                            "weir.v1.Assign.unfiltered"};
  return kLists.contains(std::string(field.full_name()));
}
// Columns of small numbers, a byte each.
inline bool is_byte_column(const FieldDescriptor& field) {
  static const std::set<std::string> kBytes{"weir.v1.Confirm.code", "weir.v1.Decide.verdict",
                                            "weir.v1.Settled.outcome"};
  return kBytes.contains(std::string(field.full_name()));
}

class RandomRows {
 public:
  static constexpr int kRows = 4;

  explicit RandomRows(std::uint64_t seed) : random_(seed) {}

  // Sets each field: four rows, a column of four entries each.
  void fill(Message& message) {
    const auto& type = *message.GetDescriptor();
    for (int i = 0; i < type.field_count(); ++i) {
      const FieldDescriptor& field = *type.field(i);
      const auto own = kOwn.find(std::string(field.full_name()));
      if (own != kOwn.end()) {
        own->second(*this, message, field);
      } else if (field.message_type() != nullptr) {
        add_messages(message, field, {0, 2, 3});
      } else {
        for (int row = 0; row < (field.is_repeated() ? kRows : 1); ++row) put(message, field);
      }
    }
  }

 private:
  using Fill = std::function<void(RandomRows&, Message&, const FieldDescriptor&)>;

  // Adds one for each of these rows; its field `index` names the row.
  void add_messages(Message& message, const FieldDescriptor& field,
                    std::initializer_list<std::uint32_t> rows) {
    for (const std::uint32_t row : rows) {
      Message& one = *message.GetReflection()->AddMessage(&message, &field);
      fill(one);
      if (const auto* index = one.GetDescriptor()->FindFieldByName("index"))
        one.GetReflection()->SetUInt32(&one, index, row);
    }
  }

  // Sets the field, or adds an entry, to a value other than its default.
  void put(Message& message, const FieldDescriptor& field) {
    const auto& reflection = *message.GetReflection();
    const bool adds = field.is_repeated();
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_UINT32: {
        const auto value = static_cast<std::uint32_t>(1 + random_() % 60'000);
        return adds ? reflection.AddUInt32(&message, &field, value)
                    : reflection.SetUInt32(&message, &field, value);
      }
      case FieldDescriptor::CPPTYPE_UINT64: {
        const std::uint64_t value = 1 + random_() % (1ULL << 61U);
        return adds ? reflection.AddUInt64(&message, &field, value)
                    : reflection.SetUInt64(&message, &field, value);
      }
      case FieldDescriptor::CPPTYPE_INT64: {
        const auto value = static_cast<std::int64_t>(1 + random_() % (1ULL << 61U));
        return adds ? reflection.AddInt64(&message, &field, value)
                    : reflection.SetInt64(&message, &field, value);
      }
      case FieldDescriptor::CPPTYPE_BOOL:
        return adds ? reflection.AddBool(&message, &field, true) : reflection.SetBool(&message, &field, true);
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return adds ? reflection.AddDouble(&message, &field, 0.5)
                    : reflection.SetDouble(&message, &field, 0.5);
      case FieldDescriptor::CPPTYPE_STRING: {
        std::string value(1 + random_() % 20, static_cast<char>('a' + random_() % 26));
        return adds ? reflection.AddString(&message, &field, value)
                    : reflection.SetString(&message, &field, value);
      }
      default:
        throw std::logic_error("random_rows.hpp has no values for the type of " +
                               std::string(field.full_name()));
    }
  }

  static void set_bytes(Message& message, const FieldDescriptor& field, std::initializer_list<int> entries) {
    std::string column;
    for (const int entry : entries) column.push_back(static_cast<char>(entry));
    message.GetReflection()->SetString(&message, &field, column);
  }
  static void set_rows(Message& message, const FieldDescriptor& field,
                       std::initializer_list<std::uint32_t> rows) {
    for (const std::uint32_t row : rows) message.GetReflection()->AddUInt32(&message, &field, row);
  }

  // Fields with values that fit the rest of the message.
  static const std::map<std::string, Fill> kOwn;

  std::mt19937_64 random_;
  std::uint32_t ascending_ = 0;
};

inline const std::map<std::string, RandomRows::Fill> RandomRows::kOwn{
    // Lists of rows.
    {"weir.v1.Assign.unfiltered",
     [](auto&, auto& message, auto& field) {
       set_rows(message, field, {1, 3});
     }},
    {"weir.v1.Assign.suspect",
     [](auto&, auto& message, auto& field) {
       set_rows(message, field, {0, 3});
     }},
    {"weir.v1.Assign.killed",
     [](auto&, auto& message, auto& field) {
       set_rows(message, field, {1, 2, 2});
     }},
    // Numbers of enumerations, a byte each.
    {"weir.v1.Decide.verdict",
     [](auto&, auto& message, auto& field) {
       set_bytes(message, field,
                 {v1::VERDICT_ACCEPT_INCOMPLETE, v1::VERDICT_FAILED, v1::VERDICT_FORWARD, v1::VERDICT_HELD});
     }},
    {"weir.v1.Decide.failures",
     [](auto& rows, auto& message, auto& field) { rows.add_messages(message, field, {1}); }},
    {"weir.v1.Decide.Failure.reason",
     [](auto&, auto& message, auto& field) {
       message.GetReflection()->SetString(&message, &field, "crowded_out");
     }},
    {"weir.v1.Decide.forwards",
     [](auto& rows, auto& message, auto& field) { rows.add_messages(message, field, {2}); }},
    {"weir.v1.Decide.Forward.group",
     [](auto& rows, auto& message, auto& field) {
       message.GetReflection()->SetUInt32(&message, &field,
                                          static_cast<std::uint32_t>(1 + rows.random_() % 63));
     }},
    {"weir.v1.Confirm.code",
     [](auto&, auto& message, auto& field) {
       set_bytes(message, field,
                 {v1::CONFIRMATION_STORE, v1::CONFIRMATION_REFUSED, v1::CONFIRMATION_SETTLED,
                  v1::CONFIRMATION_KEEP});
     }},
    {"weir.v1.Confirm.writer",
     [](auto&, auto& message, auto& field) {
       set_rows(message, field, {7, 0, 0, 0});
     }},
    {"weir.v1.Settled.outcome",
     [](auto&, auto& message, auto& field) {
       set_bytes(message, field,
                 {v1::OUTCOME_STORED, v1::OUTCOME_DISCARDED, v1::OUTCOME_REJECTED, v1::OUTCOME_STORED});
     }},
    // Stored slices are some of the settled ones.
    {"weir.v1.ClearSlices.stored",
     [](auto&, auto& message, auto& field) {
       const auto& reflection = *message.GetReflection();
       const auto* slices = message.GetDescriptor()->FindFieldByName("slice");
       reflection.AddUInt64(&message, &field, reflection.GetRepeatedUInt64(message, slices, 2));
     }},
    // Epochs ascend.
    {"weir.v1.Destinations.Epoch.number",
     [](auto& rows, auto& message, auto& field) {
       message.GetReflection()->SetUInt32(&message, &field, ++rows.ascending_);
     }},
    {"weir.v1.Destinations.Epoch.from_slice",
     [](auto& rows, auto& message, auto& field) {
       message.GetReflection()->SetUInt64(&message, &field, 100 * rows.ascending_);
     }},
    // Only the answer has it: decode_gone().
    {"weir.v1.Fetch.gone", [](auto&, auto&, auto&) {}},
};

}  // namespace weir::test
