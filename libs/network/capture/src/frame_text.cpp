#include <weir/base/text.hpp>
#include <weir/capture/frame_text.hpp>
#include <weir/v1/control.pb.h>
#include <weir/wire/batch.hpp>
#include <weir/wire/block.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <optional>

namespace weir::capture {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr std::size_t kListedMax = 8;
constexpr std::size_t kNameBytesMax = 64;
constexpr std::size_t kMessageBytesMax = 100'000;

// "slices=17,18,19", with the number of further ones.
std::string listed(const std::vector<SliceId>& slices) {
  if (slices.empty()) return "";
  std::string text;
  for (std::size_t i = 0; i < std::min(slices.size(), kListedMax); ++i)
    text += fmt::format("{}{}", i == 0 ? " slices=" : ",", slices[i].value);
  if (slices.size() > kListedMax) text += fmt::format(",... ({})", slices.size());
  return text;
}

std::string flawed(std::string_view type, std::string_view error) {
  return fmt::format("{} error={}", type, error);
}

// True for fields with a slice id: columns and rows of messages name them so.
bool is_slice(const FieldDescriptor& field) {
  const bool wide = field.cpp_type() == FieldDescriptor::CPPTYPE_UINT64;
  return wide && (field.name() == "slice" || field.name() == "alone" || field.name() == "before");
}

void collect_slices(const Message& message, std::vector<SliceId>& out) {
  const auto* reflection = message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const int count = field->is_repeated() ? reflection->FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      if (is_slice(*field)) {
        out.emplace_back(field->is_repeated() ? reflection->GetRepeatedUInt64(message, field, i)
                                              : reflection->GetUInt64(message, field));
      } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        collect_slices(field->is_repeated() ? reflection->GetRepeatedMessage(message, field, i)
                                            : reflection->GetMessage(message, field),
                       out);
      }
    }
  }
}

bool parse(Message& message, ConstBytes payload) {
  return payload.size() <= wire::kControlMessageMax &&
         message.ParseFromArray(payload.data(), static_cast<int>(payload.size()));
}

FrameText hello(ConstBytes payload) {
  v1::Hello hello;
  if (!parse(hello, payload)) return {flawed("hello", "bad_payload"), {}, {}, {}};
  if (hello.has_proof()) return {"hello proof", {}, {}, {}};
  FrameText text;
  text.name = clean_text(hello.name(), kNameBytesMax);
  text.line = fmt::format("hello name={} role={} run={} version={} incarnation={:016x}{}", text.name,
                          v1::Role_Name(hello.role()), hello.run(), hello.version(), hello.incarnation(),
                          hello.nonce().empty() ? "" : " authenticated");
  return text;
}

FrameText refuse(ConstBytes payload) {
  v1::Refuse refuse;
  if (!parse(refuse, payload)) return {flawed("refuse", "bad_payload"), {}, {}, {}};
  return {fmt::format("refuse reason=\"{}\"", clean_text(refuse.reason(), kListedMax * kNameBytesMax)),
          {},
          {},
          {}};
}

FrameText request(ConstBytes payload) {
  const auto view = wire::RequestView::parse(payload);
  if (!view) return {flawed("request", wire::name(view.error())), {}, {}, {}};
  FrameText text;
  std::size_t ranges = 0;
  for (std::size_t i = 0; i < view->entry_count(); ++i) {
    const wire::RequestEntry entry = view->entry(i);
    text.slices.push_back(entry.slice);
    ranges += entry.offset != 0 || entry.length != 0 ? 1 : 0;
  }
  text.line = fmt::format("request entries={} source_sets={} ranges={}{}", view->entry_count(),
                          view->set_count(), ranges, listed(text.slices));
  return text;
}

FrameText slice_entries(std::string_view type, ConstBytes payload) {
  const auto entries = wire::parse_slice_entries(payload);
  if (!entries) return {flawed(type, wire::name(entries.error())), {}, {}, {}};
  FrameText text;
  for (const auto& entry : *entries) text.slices.push_back(entry.slice);
  text.line = fmt::format("{} entries={}{}", type, entries->size(), listed(text.slices));
  return text;
}

FrameText fragment(const wire::FrameHeader& header) {
  FrameText text;
  text.slices = {header.slice};
  text.line = fmt::format("fragment slice={} attempt={} source={}", header.slice.value, header.attempt.value,
                          header.source.value);
  if (header.status == FragmentStatus::missing) {
    text.line += fmt::format(" missing={}", name(wire::missing_reason(header)));
    return text;
  }
  text.line +=
      fmt::format(" bytes={} offset={} total={}{}", header.length, header.offset, header.total,
                  header.status == FragmentStatus::ok ? "" : " status=" + std::string(name(header.status)));
  return text;
}

FrameText block(const wire::FrameHeader& header, ConstBytes payload) {
  FrameText text;
  text.slices = {header.slice};
  const std::uint32_t further = wire::block_head(header).further_slices;
  text.line = fmt::format("block slice={} attempt={}{}", header.slice.value, header.attempt.value,
                          further > 0 ? fmt::format(" further_slices={}", further) : "");
  const auto view = wire::BlockView::parse(header, payload);
  if (!view) {
    text.line += fmt::format(" error={}", wire::name(view.error()));
    return text;
  }
  std::uint64_t bytes = 0;
  std::size_t missing = 0;
  std::optional<SourceId> first;
  text.slices.clear();
  view->for_each_slice([&](const wire::BlockSlice& of, const wire::BlockPart& part) {
    text.slices.push_back(of.slice);
    for (std::size_t i = 0; i < part.size(); ++i) {
      const wire::BlockRow row = part.row(i);
      if (!first) first = row.source;
      bytes += row.length;
      missing += row.status == FragmentStatus::missing ? 1 : 0;
    }
  });
  text.line += fmt::format(" fragments={} bytes={} first_source={}{}", wire::block_head(header).rows, bytes,
                           first->value, missing > 0 ? fmt::format(" missing={}", missing) : "");
  return text;
}

}  // namespace

FrameText describe_control(ConstBytes payload, std::size_t frames) {
  v1::Control control;
  if (!parse(control, payload)) return {flawed("control", "bad_payload"), {}, {}, {}};
  FrameText text;
  collect_slices(control, text.slices);
  const FieldDescriptor* body = nullptr;
  if (control.body_case() != v1::Control::BODY_NOT_SET)
    body = v1::Control::descriptor()->FindFieldByNumber(static_cast<int>(control.body_case()));
  text.line =
      fmt::format("control {} bytes={}{}{}{}", body == nullptr ? "empty" : body->message_type()->name(),
                  payload.size(), control.pass() > 0 ? fmt::format(" pass={}", control.pass()) : "",
                  frames > 1 ? fmt::format(" frames={}", frames) : "", listed(text.slices));
  text.message = clean_text(control.ShortDebugString(), kMessageBytesMax);
  return text;
}

FrameText describe(const wire::FrameHeader& header, ConstBytes payload) {
  switch (header.type) {
    case wire::FrameType::hello:
      return hello(payload);
    case wire::FrameType::refuse:
      return refuse(payload);
    case wire::FrameType::request:
      return request(payload);
    case wire::FrameType::cancel:
    case wire::FrameType::stored:
      return slice_entries(wire::name(header.type), payload);
    case wire::FrameType::fragment:
      return fragment(header);
    case wire::FrameType::control:
      return describe_control(payload, 1);
    case wire::FrameType::block:
      return block(header, payload);
    case wire::FrameType::data: {
      const wire::RecordPiece piece = wire::record_piece(header);
      return {
          fmt::format("data slice={} attempt={} bytes={}{}", header.slice.value, header.attempt.value,
                      header.length,
                      piece.total > 0 ? fmt::format(" offset={} total={}", piece.offset, piece.total) : ""),
          {},
          {header.slice},
          {}};
    }
    case wire::FrameType::timing: {
      const wire::Timing timing = wire::timing(header);
      return {fmt::format("timing slice={} offset={} held_us={} retransmitted={}", timing.slice.value,
                          timing.offset, timing.held_us, timing.retransmitted),
              {},
              {timing.slice},
              {}};
    }
  }
  return {std::string(wire::name(header.type)), {}, {}, {}};
}

}  // namespace weir::capture
