#include "sayings.hpp"

#include <weir/base/crc32c.hpp>
#include <weir/wire/batch.hpp>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>

namespace weir::session_test {
namespace {

constexpr std::uint64_t kOdd[] = {0, 1, 0xff, 0xffff, 0x10000, 0xffffffff, 1ULL << 62, ~0ULL};

std::uint64_t odd(Dice& dice) { return kOdd[dice.below(std::size(kOdd))]; }

std::uint64_t slice(Dice& dice, const Surroundings& around) {
  if (dice.one_in(12)) return odd(dice);
  const std::uint64_t back = dice.below(12);
  return around.newest_slice + 4 - std::min(back, around.newest_slice + 4);
}
std::uint32_t small(Dice& dice, std::uint64_t below) {
  return static_cast<std::uint32_t>(dice.one_in(15) ? odd(dice) : dice.below(below));
}
std::uint32_t rows(Dice& dice) { return dice.one_in(30) ? 3000 : static_cast<std::uint32_t>(dice.below(6)); }

// A column of the right length, mostly; left out or of another one now and then.
template <class Field, class Make>
void column(Dice& dice, std::uint32_t length, Field& field, Make make) {
  if (dice.one_in(6)) return;
  if (dice.one_in(12)) length += static_cast<std::uint32_t>(dice.below(3));
  for (std::uint32_t i = 0; i < length; ++i) field.Add(make());
}

std::string text(Dice& dice) {
  constexpr const char* kTexts[] = {"",         "lost",  "filter_failed", "no_buffer",
                                    "x\ny\x01", "dcm-0", "too_large"};
  if (dice.one_in(10)) return std::string(dice.below(2000), 'a');
  return kTexts[dice.below(std::size(kTexts))];
}

void fill(Dice& dice, const Surroundings& around, v1::Assign& out) {
  const std::uint32_t n = rows(dice);
  for (std::uint32_t i = 0; i < n; ++i) out.add_slice(slice(dice, around));
  column(dice, n, *out.mutable_attempt(), [&] { return small(dice, 3); });
  column(dice, n, *out.mutable_time_ns(), [&] { return static_cast<std::int64_t>(odd(dice)); });
  column(dice, n, *out.mutable_type(), [&] { return small(dice, 3); });
  if (dice.one_in(4)) out.add_unfiltered(small(dice, n + 1));
  if (n > 0 && out.slice(0) % 4 == 1) out.add_suspect(n / 2);
  if (dice.one_in(4)) {
    v1::Assign::Payload& payload = *out.add_payload();
    payload.set_index(small(dice, n + 1));
    payload.set_bytes(text(dice));
  }
}

void fill(Dice& dice, const Surroundings& around, v1::Decide& out) {
  const std::uint32_t n = rows(dice);
  for (std::uint32_t i = 0; i < n; ++i) out.add_slice(slice(dice, around));
  column(dice, n, *out.mutable_attempt(), [&] { return small(dice, 3); });
  column(dice, n, *out.mutable_verdict(), [&] { return small(dice, 6); });
  if (!dice.one_in(3)) return;
  out.add_failures()->set_index(small(dice, n + 1));
  out.mutable_failures(0)->set_reason(text(dice));
}

// What a supervisor answers to decisions, in most rows.
void confirm_decided(Dice& dice, const Surroundings& around, v1::Confirm& out) {
  for (std::uint64_t n = 1 + dice.below(6); n > 0; --n) {
    const Surroundings::Decided& decided = around.decided[dice.below(around.decided.size())];
    out.add_slice(decided.slice);
    out.add_attempt(decided.attempt);
    out.add_code(dice.one_in(4) ? small(dice, 4) : std::uint32_t{v1::CONFIRMATION_STORE});
    out.add_epoch(dice.one_in(4) ? small(dice, 3) : 0);
    out.add_writer(dice.one_in(8) ? small(dice, 3) : 0);
  }
}

void fill(Dice& dice, const Surroundings& around, v1::Confirm& out) {
  if (!around.decided.empty() && !dice.one_in(4)) return confirm_decided(dice, around, out);
  const std::uint32_t n = rows(dice);
  for (std::uint32_t i = 0; i < n; ++i) out.add_slice(slice(dice, around));
  column(dice, n, *out.mutable_attempt(), [&] { return small(dice, 3); });
  column(dice, n, *out.mutable_code(), [&] { return small(dice, 4); });
  column(dice, n, *out.mutable_epoch(), [&] { return small(dice, 3); });
  column(dice, n, *out.mutable_writer(), [&] { return small(dice, 3); });
}

void fill(Dice& dice, const Surroundings& around, v1::Settled& out) {
  const std::uint32_t n = rows(dice);
  for (std::uint32_t i = 0; i < n; ++i) out.add_slice(slice(dice, around));
  column(dice, n, *out.mutable_attempt(), [&] { return small(dice, 3); });
  column(dice, n, *out.mutable_epoch(), [&] { return small(dice, 3); });
  column(dice, n, *out.mutable_writer(), [&] { return small(dice, 3); });
  column(dice, n, *out.mutable_outcome(), [&] { return small(dice, 4); });
  if (!dice.one_in(3)) return;
  v1::Settled::Copy& copy = *out.add_copies();
  copy.set_slice(slice(dice, around));
  copy.set_attempt(small(dice, 3));
  copy.set_epoch(small(dice, 3));
  copy.set_live(dice.one_in(2));
  copy.set_settled(copy.attempt() == 1);
}

void fill(Dice& dice, const Surroundings& around, v1::Announce& out) {
  const std::uint32_t n = rows(dice);
  for (std::uint32_t i = 0; i < n; ++i) out.add_slice(slice(dice, around));
  column(dice, n, *out.mutable_time_ns(), [&] { return static_cast<std::int64_t>(odd(dice)); });
  column(dice, n, *out.mutable_type(), [&] { return small(dice, 3); });
  out.set_duration_ns(dice.one_in(3) ? static_cast<std::int64_t>(odd(dice)) : 0);
}

void fill(Dice& dice, const Surroundings& around, v1::Directory& out) {
  const std::uint64_t n = dice.below(4);
  for (std::uint64_t i = 0; i < n; ++i) {
    v1::Directory::Node& node = *out.add_nodes();
    node.set_role(static_cast<v1::Role>(small(dice, 7)));
    node.set_index(small(dice, 3));
    node.set_name(text(dice));
    node.set_host("memory");
    node.set_port(around.ports.empty() || dice.one_in(3) ? small(dice, 9000)
                                                         : around.ports[dice.below(around.ports.size())]);
    node.set_present(!dice.one_in(4));
  }
}

void fill(Dice& dice, const Surroundings&, v1::Destinations& out) {
  const std::uint64_t n = dice.below(4);
  for (std::uint64_t i = 0; i < n; ++i) {
    v1::Destinations::Epoch& epoch = *out.add_epochs();
    epoch.set_number(small(dice, 5));
    epoch.set_from_slice(odd(dice));
    for (std::uint64_t k = dice.below(3); k > 0; --k) epoch.add_dcm(small(dice, 3));
  }
}

void fill(Dice& dice, const Surroundings&, v1::Report& out) {
  out.set_final(dice.one_in(4));
  out.set_name(text(dice));
  out.set_role(static_cast<v1::Role>(small(dice, 7)));
  (*out.mutable_counters())[text(dice)] = odd(dice);
  (*out.mutable_counters())["fragments.received"] = odd(dice);
  (*out.mutable_gauges())["shaper.base_us"] = static_cast<double>(odd(dice)) - 5;
  v1::Histogram& histogram = *out.add_histograms();
  histogram.set_name("latency_us");
  for (std::uint64_t k = dice.below(4); k > 0; --k) histogram.add_bucket(odd(dice));
  for (std::uint64_t k = dice.below(4); k > 0; --k) histogram.add_count(odd(dice));
  out.set_state(text(dice));
}

void fill(Dice& dice, const Surroundings& around, v1::TriggerOffer& out) {
  for (std::uint32_t n = rows(dice); n > 0; --n) {
    v1::TriggerOffer::One& one = *out.add_triggers();
    if (dice.one_in(2)) one.set_slice(slice(dice, around));
    one.set_time_ns(static_cast<std::int64_t>(odd(dice)));
    one.set_type(small(dice, 3));
    if (dice.one_in(3)) one.set_payload(std::string(dice.one_in(20) ? 100'000 : 7, 'p'));
  }
}

void fill(Dice& dice, const Surroundings&, v1::Command& out) {
  constexpr const char* kNodes[] = {"dcm-0", "dcm-1", "readout-0", "readout-1", "writer-0", "writer-1", "x"};
  const bool ends = dice.one_in(20);
  const auto kind = ends ? dice.below(4) : v1::Command::PAUSE + dice.below(4);
  out.set_kind(static_cast<v1::Command::Kind>(dice.one_in(20) ? small(dice, 12) : kind));
  out.set_slices(dice.one_in(4) ? odd(dice) : 0);
  out.set_duration_s(dice.one_in(4) ? static_cast<double>(odd(dice)) - 5 : 0);
  out.set_reason(text(dice));
  for (std::uint64_t n = dice.below(3); n > 0; --n) out.add_nodes(kNodes[dice.below(std::size(kNodes))]);
}

void append_request(Dice& dice, const Surroundings& around, std::vector<std::byte>& out) {
  wire::RequestWriter writer;
  std::vector<SourceId> sources;
  for (std::uint64_t n = dice.below(4); n > 0; --n) sources.emplace_back(small(dice, 5));
  const std::uint16_t set = writer.add_set(sources);
  for (std::uint32_t n = std::min(rows(dice), 300U); n > 0; --n) {
    writer.add({SliceId(slice(dice, around)), Attempt(static_cast<std::uint16_t>(small(dice, 3))),
                dice.one_in(3) ? wire::kAllSources : set, small(dice, 300), small(dice, 300)});
  }
  writer.take_frame(out);
}

void append_entries(Dice& dice, const Surroundings& around, wire::FrameType type,
                    std::vector<std::byte>& out) {
  std::vector<wire::SliceEntry> entries;
  for (std::uint32_t n = rows(dice); n > 0; --n) {
    entries.push_back({SliceId(slice(dice, around)), Attempt(static_cast<std::uint16_t>(small(dice, 3))),
                       StoreEpoch(static_cast<std::uint16_t>(small(dice, 3)))});
  }
  wire::append_slice_entries(type, entries, out);
}

// Of a slice that may be asked for, with bytes that may be right.
void append_fragment(Dice& dice, const Surroundings& around, wire::FrameType type,
                     std::vector<std::byte>& out) {
  const auto payload = dice.bytes(dice.below(400));
  wire::FrameHeader header;
  header.type = type;
  header.slice = SliceId(slice(dice, around));
  header.attempt = Attempt(static_cast<std::uint16_t>(small(dice, 2)));
  header.length = static_cast<std::uint32_t>(payload.size());
  if (header.type == wire::FrameType::fragment) {
    header.status = static_cast<FragmentStatus>(dice.one_in(3) ? dice.below(7) : 0);
    header.source = SourceId(small(dice, 4));
    header.offset = dice.one_in(4) ? small(dice, 300) : 0;
    header.total = dice.one_in(3) ? small(dice, 500) : header.length;
    header.crc = dice.one_in(3) ? static_cast<std::uint32_t>(dice.next()) : crc32c(payload);
  }
  const std::size_t at = out.size();
  out.resize(at + wire::kHeaderBytes);
  wire::encode_header(header, std::span(out).subspan(at).first<wire::kHeaderBytes>());
  out.insert(out.end(), payload.begin(), payload.end());
}

void append_message(wire::FrameType type, const google::protobuf::MessageLite& message,
                    std::vector<std::byte>& out) {
  // The same bytes everywhere: the order of a map's entries is else the library's.
  std::string payload;
  {
    google::protobuf::io::StringOutputStream stream(&payload);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    (void)message.SerializeToCodedStream(&coded);
  }
  wire::append_frame(type, std::as_bytes(std::span(payload)), out);
}

v1::Control control(Dice& dice, const Surroundings& around, Saying saying) {
  v1::Control message;
  switch (saying) {
    case Saying::assign:
      fill(dice, around, *message.mutable_assign());
      break;
    case Saying::decide:
      fill(dice, around, *message.mutable_decide());
      if (message.decide().slice_size() % 4 == 3) {
        v1::Filtering filtering;
        *filtering.mutable_slice() = message.decide().slice();
        *filtering.mutable_attempt() = message.decide().attempt();
        filtering.set_alone(filtering.slice(0));
        *message.mutable_filtering() = filtering;
      }
      break;
    case Saying::confirm:
      fill(dice, around, *message.mutable_confirm());
      break;
    case Saying::announce:
      fill(dice, around, *message.mutable_announce());
      break;
    case Saying::clear:
      message.mutable_clear();
      for (std::uint32_t n = rows(dice); n > 0; --n) message.mutable_clear()->add_slice(slice(dice, around));
      break;
    case Saying::settled:
      fill(dice, around, *message.mutable_settled());
      break;
    case Saying::directory:
      fill(dice, around, *message.mutable_directory());
      break;
    case Saying::destinations:
      fill(dice, around, *message.mutable_destinations());
      break;
    case Saying::report:
      fill(dice, around, *message.mutable_report());
      break;
    case Saying::throttle:
      message.mutable_throttle()->set_on(dice.one_in(3));
      message.mutable_throttle()->set_reason(text(dice));
      break;
    case Saying::space:
      message.mutable_space()->set_wanted_total(dice.one_in(3) ? odd(dice) : dice.below(10'000));
      break;
    case Saying::grant:
      message.mutable_grant()->set_granted_total(dice.one_in(3) ? odd(dice) : dice.below(10'000));
      break;
    case Saying::refused:
      for (std::uint64_t n = dice.below(4); n > 0; --n) {
        v1::Refused::One& one = *message.mutable_refused()->add_records();
        one.set_record(dice.one_in(3) ? odd(dice) : dice.below(100));
        one.set_reason(dice.one_in(2) ? "queue_full" : text(dice));
        one.set_again(dice.one_in(2));
      }
      break;
    case Saying::trigger:
      fill(dice, around, *message.mutable_trigger());
      break;
    case Saying::command:
      fill(dice, around, *message.mutable_command());
      break;
    case Saying::port_share:
      message.mutable_port_share()->set_members(small(dice, 4));
      message.mutable_port_share()->set_base_ns(static_cast<std::int64_t>(odd(dice)));
      break;
    default:
      message.mutable_begin_run()->set_run(around.run);
      message.mutable_begin_run()->set_first_slice(slice(dice, around));
      break;
  }
  return message;
}

void append(Dice& dice, const Surroundings& around, Saying saying, std::vector<std::byte>& out) {
  switch (saying) {
    case Saying::request:
      return append_request(dice, around, out);
    case Saying::cancel:
      return append_entries(dice, around, wire::FrameType::cancel, out);
    case Saying::stored:
      return append_entries(dice, around, wire::FrameType::stored, out);
    case Saying::fragment:
      return append_fragment(dice, around, wire::FrameType::fragment, out);
    case Saying::data:
      return append_fragment(dice, around, wire::FrameType::data, out);
    case Saying::hello:
      return append_message(wire::FrameType::hello, hello(dice, around), out);
    case Saying::frame_of_anything:
      return wire::append_frame(static_cast<wire::FrameType>(1 + dice.below(8)), dice.bytes(dice.below(300)),
                                out);
    case Saying::garbage: {
      const auto garbage = dice.bytes(dice.below(200));
      out.insert(out.end(), garbage.begin(), garbage.end());
      return;
    }
    default:
      return append_message(wire::FrameType::control, control(dice, around, saying), out);
  }
}

}  // namespace

v1::Hello hello(Dice& dice, const Surroundings& around) {
  v1::Hello hello;
  hello.set_version(dice.one_in(10) ? small(dice, 3) : wire::kVersion);
  hello.set_role(static_cast<v1::Role>(small(dice, 8)));
  constexpr const char* kNames[] = {"stranger", "dcm-0", "readout-0", "writer-0", "supervisor", "dcm-9"};
  hello.set_name(dice.one_in(10) ? text(dice) : kNames[dice.below(std::size(kNames))]);
  hello.set_index(small(dice, 3));
  hello.set_run(dice.one_in(8) ? small(dice, 5) : around.run);
  hello.set_farm(dice.one_in(8) ? text(dice) : around.farm);
  hello.set_incarnation(odd(dice));
  hello.set_listen_host("memory");
  hello.set_listen_port(small(dice, 70'000));
  for (std::uint64_t n = dice.below(4); n > 0; --n) hello.add_sources(small(dice, 5));
  hello.set_credits(small(dice, 100));
  return hello;
}

void append_saying(Dice& dice, const Surroundings& around, std::span<const Saying> fitting,
                   std::vector<std::byte>& out) {
  const std::size_t begin = out.size();
  const bool fits = !fitting.empty() && !dice.one_in(15);
  append(dice, around, fits ? fitting[dice.below(fitting.size())] : static_cast<Saying>(dice.below(kSayings)),
         out);
  const bool some = out.size() > begin;
  if (some && dice.one_in(25)) out[begin + dice.below(out.size() - begin)] ^= std::byte{0x10};
  if (some && dice.one_in(30)) out.resize(begin + dice.below(out.size() - begin));
}

}  // namespace weir::session_test
