#include "schema_messages.hpp"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <limits>

namespace weir::session_test {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr int kDepthMax = 5;
constexpr std::uint64_t kLong = 1000;  // rows of a long list
constexpr int kValuesMax = 20'000;     // of a message: lists in lists grow without bound

class Filler {
 public:
  Filler(Random& random, const Surroundings& around) : random_(random), around_(around) {}

  void fill(Message& message, int depth = 0) {
    const auto& descriptor = *message.GetDescriptor();
    const bool rows = random_.one_in(2);  // lists of one length
    const std::uint64_t length = length_of(depth);
    for (int i = 0; i < descriptor.field_count(); ++i) {
      const FieldDescriptor& field = *descriptor.field(i);
      if (random_.one_in(5)) continue;
      if (!field.is_repeated()) {
        add(message, field, depth);
        continue;
      }
      for (std::uint64_t n = rows ? length : length_of(depth); n > 0; --n) add(message, field, depth);
    }
  }

 private:
  std::uint64_t length_of(int depth) { return depth == 0 && random_.one_in(15) ? kLong : random_.below(5); }
  std::uint64_t number() {
    constexpr std::uint64_t kOdd[] = {0,           1,           0x7f,        0xff,       0x7fff,
                                      0xffff,      0x10000,     0x7fffffff,  0xffffffff, 1ULL << 32U,
                                      1ULL << 62U, ~0ULL >> 1U, 1ULL << 63U, ~0ULL};
    if (random_.one_in(3)) return kOdd[random_.below(std::size(kOdd))];
    if (random_.one_in(2)) return random_.below(4);
    return around_.newest_slice + 4 - std::min(random_.below(12), around_.newest_slice + 4);
  }
  double real() {
    constexpr double kOdd[] = {0,
                               -1,
                               0.5,
                               1e308,
                               -1e308,
                               1e-308,
                               std::numeric_limits<double>::infinity(),
                               std::numeric_limits<double>::quiet_NaN()};
    return kOdd[random_.below(std::size(kOdd))];
  }
  std::string text(bool bytes) {
    constexpr const char* kTexts[] = {"",           "lost",    "dcm-0",    "writer-0",
                                      "supervisor", "../../x", "x\ny\x01", "memory"};
    if (bytes && random_.one_in(2)) {
      const auto made = random_.bytes(random_.below(40));
      return {reinterpret_cast<const char*>(made.data()), made.size()};
    }
    if (random_.one_in(20)) return std::string(random_.one_in(4) ? 20'000 : 2000, 'a');
    return kTexts[random_.below(std::size(kTexts))];
  }

  // Sets a field, or appends to a repeated one.
  void add(Message& message, const FieldDescriptor& field, int depth) {
    if (++values_ > kValuesMax) return;
    const auto& reflection = *message.GetReflection();
    const bool list = field.is_repeated();
    const auto put = [&](auto set, auto append, auto value) {
      if (list) {
        (reflection.*append)(&message, &field, value);
      } else {
        (reflection.*set)(&message, &field, value);
      }
    };
    using R = google::protobuf::Reflection;
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return put(&R::SetInt32, &R::AddInt32, static_cast<std::int32_t>(number()));
      case FieldDescriptor::CPPTYPE_INT64:
        return put(&R::SetInt64, &R::AddInt64, static_cast<std::int64_t>(number()));
      case FieldDescriptor::CPPTYPE_UINT32:
        return put(&R::SetUInt32, &R::AddUInt32, static_cast<std::uint32_t>(number()));
      case FieldDescriptor::CPPTYPE_UINT64:
        return put(&R::SetUInt64, &R::AddUInt64, number());
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return put(&R::SetDouble, &R::AddDouble, real());
      case FieldDescriptor::CPPTYPE_FLOAT:
        return put(&R::SetFloat, &R::AddFloat, static_cast<float>(real()));
      case FieldDescriptor::CPPTYPE_BOOL:
        return put(&R::SetBool, &R::AddBool, random_.one_in(2));
      case FieldDescriptor::CPPTYPE_ENUM:  // also beyond the known values
        return put(&R::SetEnumValue, &R::AddEnumValue,
                   random_.one_in(4)
                       ? static_cast<int>(number())
                       : static_cast<int>(random_.below(
                             static_cast<std::uint64_t>(field.enum_type()->value_count()) + 1)));
      case FieldDescriptor::CPPTYPE_STRING: {
        const std::string value = text(field.type() == FieldDescriptor::TYPE_BYTES);
        if (list) return reflection.AddString(&message, &field, value);
        return reflection.SetString(&message, &field, value);
      }
      case FieldDescriptor::CPPTYPE_MESSAGE:
        if (depth == kDepthMax) return;
        return fill(
            list ? *reflection.AddMessage(&message, &field) : *reflection.MutableMessage(&message, &field),
            depth + 1);
    }
  }

  Random& random_;
  const Surroundings& around_;
  int values_ = 0;
};

const google::protobuf::OneofDescriptor& bodies() {
  return *v1::Control::descriptor()->FindOneofByName("body");
}

}  // namespace

const std::vector<std::string>& control_bodies() {
  static const auto kNames = [] {
    std::vector<std::string> names;
    for (int i = 0; i < bodies().field_count(); ++i) names.push_back(bodies().field(i)->name());
    return names;
  }();
  return kNames;
}

v1::Control hostile_control(Random& random, const Surroundings& around, const std::string& body) {
  v1::Control message;
  Message& made =
      *message.GetReflection()->MutableMessage(&message, v1::Control::descriptor()->FindFieldByName(body));
  if (!random.one_in(10)) Filler(random, around).fill(made);
  if (random.one_in(3)) message.set_pass(random.one_in(2) ? ~0ULL : random.below(1000));
  return message;
}

}  // namespace weir::session_test
