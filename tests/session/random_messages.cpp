#include "random_messages.hpp"

#include <weir/base/crc32c.hpp>
#include <weir/wire/batch.hpp>
#include <weir/wire/block.hpp>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <string>
#include <type_traits>

namespace weir::session_test {
namespace {

constexpr std::uint64_t kOddNumbers[] = {0, 1, 0xff, 0xffff, 0x10000, 0xffffffff, 1ULL << 62, ~0ULL};

std::uint64_t odd(Random& random) { return kOddNumbers[random.below(std::size(kOddNumbers))]; }

std::uint64_t slice(Random& random, const Surroundings& around) {
  if (random.one_in(12)) return odd(random);
  const std::uint64_t back = random.below(12);
  return around.newest_slice + 4 - std::min(back, around.newest_slice + 4);
}
std::uint32_t small(Random& random, std::uint64_t below) {
  return static_cast<std::uint32_t>(random.one_in(15) ? odd(random) : random.below(below));
}
// Likewise, of attempts, epochs and nodes: a number beyond 16 bits refuses the message whole.
std::uint32_t small_id(Random& random, std::uint64_t below) {
  const std::uint32_t number = small(random, below);
  return random.one_in(8) ? number : number & 0xffffU;
}
// A row of a message, mostly one that it has: another one refuses the message whole.
std::uint32_t row(Random& random, std::uint32_t rows) {
  if (random.one_in(15)) return small(random, rows + 1);
  return static_cast<std::uint32_t>(random.below(rows));
}
std::uint32_t rows(Random& random) {
  return random.one_in(30) ? 3000 : static_cast<std::uint32_t>(random.below(6));
}

// Fills a column, mostly with the right length; sometimes it is left out or has another length.
template <class Field, class Make>
void column(Random& random, std::uint32_t length, Field& field, Make make) {
  if (random.one_in(6)) return;
  if (random.one_in(12)) length += static_cast<std::uint32_t>(random.below(3));
  for (std::uint32_t i = 0; i < length; ++i) {
    if constexpr (std::is_same_v<Field, std::string>) {
      field.push_back(static_cast<char>(make()));
    } else {
      field.Add(make());
    }
  }
}

std::string text(Random& random) {
  constexpr const char* kTexts[] = {"",         "lost",  "filter_failed", "no_buffer",
                                    "x\ny\x01", "dcm-0", "too_large"};
  if (random.one_in(10)) return std::string(random.below(2000), 'a');
  return kTexts[random.below(std::size(kTexts))];
}

void fill(Random& random, const Surroundings& around, v1::Assign& out) {
  const std::uint32_t n = rows(random);
  for (std::uint32_t i = 0; i < n; ++i) out.add_slice(slice(random, around));
  column(random, n, *out.mutable_attempt(), [&] { return small_id(random, 3); });
  column(random, n, *out.mutable_time_ns(), [&] { return static_cast<std::int64_t>(odd(random)); });
  column(random, n, *out.mutable_type(), [&] { return small(random, 3); });
  if (n > 0 && random.one_in(4)) out.add_unfiltered(row(random, n));
  if (n > 0 && out.slice(0) % 4 == 1) out.add_suspect(n / 2);
  if (n > 0 && out.slice(0) % 4 == 2) out.add_killed(n / 2);
  if (n > 0 && random.one_in(4)) {
    v1::Assign::Payload& payload = *out.add_payload();
    payload.set_index(row(random, n));
    payload.set_bytes(text(random));
  }
}

void fill(Random& random, const Surroundings& around, v1::Decide& out) {
  const std::uint32_t n = rows(random);
  for (std::uint32_t i = 0; i < n; ++i) out.add_slice(slice(random, around));
  column(random, n, *out.mutable_attempt(), [&] { return small_id(random, 3); });
  column(random, n, *out.mutable_verdict(), [&] { return small(random, 6); });
  if (n == 0 || !random.one_in(3)) return;
  const std::uint32_t failed = row(random, n);
  if (failed < out.verdict().size() && !random.one_in(15))
    (*out.mutable_verdict())[failed] = static_cast<char>(v1::VERDICT_FAILED);
  out.add_failures()->set_index(failed);
  out.mutable_failures(0)->set_reason(text(random));
}

// Confirms decisions as a supervisor does, in most rows.
void confirm_decided(Random& random, const Surroundings& around, v1::Confirm& out) {
  for (std::uint64_t n = 1 + random.below(6); n > 0; --n) {
    const Surroundings::Decided& decided = around.decided[random.below(around.decided.size())];
    out.add_slice(decided.slice);
    out.add_attempt(decided.attempt);
    out.mutable_code()->push_back(
        static_cast<char>(random.one_in(4) ? small(random, 4) : std::uint32_t{v1::CONFIRMATION_STORE}));
    out.add_epoch(random.one_in(4) ? small_id(random, 3) : 0);
    out.add_writer(random.one_in(8) ? small_id(random, 3) : 0);
  }
}

void fill(Random& random, const Surroundings& around, v1::Confirm& out) {
  if (!around.decided.empty() && !random.one_in(4)) return confirm_decided(random, around, out);
  const std::uint32_t n = rows(random);
  for (std::uint32_t i = 0; i < n; ++i) out.add_slice(slice(random, around));
  column(random, n, *out.mutable_attempt(), [&] { return small_id(random, 3); });
  column(random, n, *out.mutable_code(), [&] { return small(random, 4); });
  column(random, n, *out.mutable_epoch(), [&] { return small_id(random, 3); });
  column(random, n, *out.mutable_writer(), [&] { return small_id(random, 3); });
}

void fill(Random& random, const Surroundings& around, v1::Settled& out) {
  const std::uint32_t n = rows(random);
  for (std::uint32_t i = 0; i < n; ++i) out.add_slice(slice(random, around));
  column(random, n, *out.mutable_attempt(), [&] { return small_id(random, 3); });
  column(random, n, *out.mutable_epoch(), [&] { return small_id(random, 3); });
  column(random, n, *out.mutable_writer(), [&] { return small_id(random, 3); });
  column(random, n, *out.mutable_outcome(), [&] { return small(random, 3); });
  if (!random.one_in(3)) return;
  v1::Settled::Copy& copy = *out.add_copies();
  copy.set_slice(slice(random, around));
  copy.set_attempt(small_id(random, 3));
  copy.set_epoch(small_id(random, 3));
  copy.set_live(random.one_in(2));
  copy.set_settled(copy.attempt() == 1);
}

void fill(Random& random, const Surroundings& around, v1::Announce& out) {
  const std::uint32_t n = rows(random);
  for (std::uint32_t i = 0; i < n; ++i) out.add_slice(slice(random, around));
  column(random, n, *out.mutable_time_ns(), [&] { return static_cast<std::int64_t>(odd(random)); });
  column(random, n, *out.mutable_type(), [&] { return small(random, 3); });
  out.set_duration_ns(random.one_in(3) ? static_cast<std::int64_t>(odd(random)) : 0);
}

void fill(Random& random, const Surroundings& around, v1::Directory& out) {
  const std::uint64_t n = random.below(4);
  for (std::uint64_t i = 0; i < n; ++i) {
    v1::Directory::Node& node = *out.add_nodes();
    node.set_role(static_cast<v1::Role>(small(random, 7)));
    node.set_index(small(random, 3));
    node.set_name(text(random));
    node.set_host("memory");
    node.set_port(around.ports.empty() || random.one_in(3) ? small(random, 9000)
                                                           : around.ports[random.below(around.ports.size())]);
    node.set_present(!random.one_in(4));
  }
}

void fill(Random& random, const Surroundings&, v1::Destinations& out) {
  const std::uint64_t n = random.below(4);
  for (std::uint64_t i = 0; i < n; ++i) {
    v1::Destinations::Epoch& epoch = *out.add_epochs();
    epoch.set_number(small(random, 5));
    epoch.set_from_slice(odd(random));
    for (std::uint64_t k = random.below(3); k > 0; --k) epoch.add_dcm(small(random, 3));
  }
}

void fill(Random& random, const Surroundings&, v1::Report& out) {
  out.set_final(random.one_in(4));
  out.set_name(text(random));
  out.set_role(static_cast<v1::Role>(small(random, 7)));
  (*out.mutable_counters())[text(random)] = odd(random);
  (*out.mutable_counters())["fragments.received"] = odd(random);
  (*out.mutable_gauges())["shaper.base_us"] = static_cast<double>(odd(random)) - 5;
  v1::Histogram& histogram = *out.add_histograms();
  histogram.set_name("latency_us");
  for (std::uint64_t k = random.below(4); k > 0; --k) histogram.add_bucket(odd(random));
  for (std::uint64_t k = random.below(4); k > 0; --k) histogram.add_count(odd(random));
  out.set_state(text(random));
  v1::SourceCounts& sources = *out.mutable_sources();
  for (std::uint64_t k = random.below(4); k > 0; --k) sources.add_source(small(random, 5));
  for (std::uint64_t k = random.below(4); k > 0; --k) sources.add_received(odd(random));
  for (std::uint64_t k = random.below(4); k > 0; --k)
    sources.add_seen_utc_ms(static_cast<std::int64_t>(odd(random)));
  for (std::uint64_t k = random.below(4); k > 0; --k) sources.add_readout(small(random, 5));
  v1::SourceCounts::Reason& missing = *sources.add_missing();
  missing.set_name(random.one_in(2) ? "gap" : text(random));
  for (std::uint64_t k = random.below(4); k > 0; --k) missing.add_row(small(random, 5));
  for (std::uint64_t k = random.below(4); k > 0; --k) missing.add_count(odd(random));
  sources.set_left_out(odd(random));
  sources.set_losing(odd(random));
}

void fill(Random& random, const Surroundings& around, v1::TriggerOffer& out) {
  for (std::uint32_t n = rows(random); n > 0; --n) {
    v1::TriggerOffer::One& one = *out.add_triggers();
    if (random.one_in(2)) one.set_slice(slice(random, around));
    one.set_time_ns(static_cast<std::int64_t>(odd(random)));
    one.set_type(small(random, 3));
    if (random.one_in(3)) one.set_payload(std::string(random.one_in(20) ? 100'000 : 7, 'p'));
  }
}

void fill(Random& random, const Surroundings&, v1::Command& out) {
  constexpr const char* kNodes[] = {"dcm-0", "dcm-1", "readout-0", "readout-1", "writer-0", "writer-1", "x"};
  const bool ends = random.one_in(20);
  const auto kind = ends ? random.below(4) : v1::Command::PAUSE + random.below(4);
  out.set_kind(static_cast<v1::Command::Kind>(random.one_in(20) ? small(random, 12) : kind));
  out.set_slices(random.one_in(4) ? odd(random) : 0);
  out.set_duration_s(random.one_in(4) ? static_cast<double>(odd(random)) - 5 : 0);
  out.set_reason(text(random));
  for (std::uint64_t n = random.below(3); n > 0; --n) out.add_nodes(kNodes[random.below(std::size(kNodes))]);
}

void append_request(Random& random, const Surroundings& around, std::vector<std::byte>& out) {
  wire::RequestWriter writer;
  std::vector<SourceId> sources;
  for (std::uint64_t n = random.below(4); n > 0; --n) sources.emplace_back(small(random, 5));
  const std::uint16_t set = writer.add_set(sources);
  for (std::uint32_t n = std::min(rows(random), 300U); n > 0; --n) {
    writer.add({SliceId(slice(random, around)), Attempt(static_cast<std::uint16_t>(small(random, 3))),
                random.one_in(3) ? wire::kAllSources : set, random.one_in(2) ? 0 : small(random, 300),
                random.one_in(2) ? 0 : small(random, 300), small(random, 30)});
  }
  writer.take_frame(out);
}

void append_entries(Random& random, const Surroundings& around, wire::FrameType type,
                    std::vector<std::byte>& out) {
  std::vector<wire::CopyId> entries;
  for (std::uint32_t n = rows(random); n > 0; --n) {
    entries.push_back({SliceId(slice(random, around)), Attempt(static_cast<std::uint16_t>(small(random, 3))),
                       StoreEpoch(static_cast<std::uint16_t>(small(random, 3)))});
  }
  wire::append_slice_entries(type, entries, out);
}

// Appends a fragment of a plausible slice, with plausible bytes.
void append_fragment(Random& random, const Surroundings& around, wire::FrameType type,
                     std::vector<std::byte>& out) {
  const auto payload = random.bytes(random.below(400));
  wire::FrameHeader header;
  header.type = type;
  header.slice = SliceId(slice(random, around));
  header.attempt = Attempt(static_cast<std::uint16_t>(small(random, 2)));
  header.length = static_cast<std::uint32_t>(payload.size());
  if (header.type == wire::FrameType::fragment) {
    header.status = static_cast<FragmentStatus>(random.one_in(3) ? random.below(7) : 0);
    header.source = SourceId(small(random, 4));
    header.offset = random.one_in(4) ? small(random, 300) : 0;
    header.total = random.one_in(3) ? small(random, 500) : header.length;
    header.crc = random.one_in(3) ? static_cast<std::uint32_t>(random.next()) : crc32c(payload);
  }
  const std::size_t at = out.size();
  out.resize(at + wire::kHeaderBytes);
  wire::encode_header(header, std::span(out).subspan(at).first<wire::kHeaderBytes>());
  out.insert(out.end(), payload.begin(), payload.end());
}

// Appends several fragments as append_fragment() does; sometimes one with contradictory fields.
void append_block(Random& random, const Surroundings& around, std::vector<std::byte>& out) {
  wire::BlockWriter writer;
  std::vector<std::byte> payloads;
  const auto begin = [&] {
    writer.begin({SliceId(slice(random, around)), Attempt(static_cast<std::uint16_t>(small(random, 2))),
                  small(random, 20)});
  };
  for (std::uint64_t n = 1 + random.below(5); n > 0; --n) {
    if (writer.empty() || random.one_in(4)) begin();
    const bool missing = random.one_in(5);
    const auto payload = random.bytes(missing ? 0 : random.below(400));
    wire::BlockRow row;
    row.source = SourceId(small(random, 4));
    row.length = static_cast<std::uint32_t>(payload.size());
    row.crc = random.one_in(3) ? static_cast<std::uint32_t>(random.next()) : crc32c(payload);
    row.status = static_cast<FragmentStatus>(random.one_in(8) ? random.below(7) : 0);
    if (missing && !random.one_in(8)) {
      row.crc = 0;
      row.status = FragmentStatus::missing;
      row.reason = static_cast<MissingReason>(1 + random.below(12));
    }
    writer.add(row);
    payloads.insert(payloads.end(), payload.begin(), payload.end());
    payloads.resize(payloads.size() + wire::block_bytes(payload.size()) - payload.size());
  }
  const std::size_t at = out.size();
  out.resize(at + writer.head_bytes());
  writer.write_head(std::span(out).subspan(at));
  out.insert(out.end(), payloads.begin(), payloads.end());
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

v1::Control control(Random& random, const Surroundings& around, MessageKind saying) {
  v1::Control message;
  switch (saying) {
    case MessageKind::assign:
      fill(random, around, *message.mutable_assign());
      break;
    case MessageKind::decide:
      fill(random, around, *message.mutable_decide());
      if (message.decide().slice_size() % 4 == 3) {
        v1::Filtering filtering;
        *filtering.mutable_slice() = message.decide().slice();
        *filtering.mutable_attempt() = message.decide().attempt();
        filtering.set_suspect(filtering.slice(0));
        *filtering.mutable_beside() = filtering.slice();
        *filtering.mutable_beside_attempt() = filtering.attempt();
        *message.mutable_filtering() = filtering;
      } else if (message.decide().slice_size() % 4 == 2) {
        v1::FilterKills kills;
        *kills.mutable_slice() = message.decide().slice();
        *kills.mutable_attempt() = message.decide().attempt();
        for (int i = 0; i < kills.attempt_size(); ++i) kills.add_number(small(random, 300));
        *message.mutable_filter_kills() = kills;
      }
      break;
    case MessageKind::confirm:
      fill(random, around, *message.mutable_confirm());
      break;
    case MessageKind::announce:
      fill(random, around, *message.mutable_announce());
      break;
    case MessageKind::clear:
      message.mutable_clear();
      for (std::uint32_t n = rows(random); n > 0; --n)
        message.mutable_clear()->add_slice(slice(random, around));
      for (std::uint32_t n = rows(random); n > 0; --n)
        message.mutable_clear()->add_stored(slice(random, around));
      break;
    case MessageKind::settled:
      fill(random, around, *message.mutable_settled());
      break;
    case MessageKind::directory:
      fill(random, around, *message.mutable_directory());
      break;
    case MessageKind::destinations:
      fill(random, around, *message.mutable_destinations());
      break;
    case MessageKind::report:
      fill(random, around, *message.mutable_report());
      break;
    case MessageKind::throttle:
      message.mutable_throttle()->set_on(random.one_in(3));
      message.mutable_throttle()->set_reason(text(random));
      break;
    case MessageKind::space:
      message.mutable_space()->set_wanted_total(random.one_in(3) ? odd(random) : random.below(10'000));
      break;
    case MessageKind::grant:
      message.mutable_grant()->set_granted_total(random.one_in(3) ? odd(random) : random.below(10'000));
      break;
    case MessageKind::refused:
      for (std::uint64_t n = random.below(4); n > 0; --n) {
        v1::Refused::One& one = *message.mutable_refused()->add_records();
        one.set_record(random.one_in(3) ? odd(random) : random.below(100));
        one.set_reason(random.one_in(2) ? "queue_full" : text(random));
        one.set_again(random.one_in(2));
      }
      break;
    case MessageKind::trigger:
      fill(random, around, *message.mutable_trigger());
      break;
    case MessageKind::command:
      fill(random, around, *message.mutable_command());
      break;
    case MessageKind::port_share:
      message.mutable_port_share()->set_members(small(random, 4));
      message.mutable_port_share()->set_base_ns(static_cast<std::int64_t>(odd(random)));
      break;
    case MessageKind::begun:
      message.mutable_begun()->set_refusal(random.one_in(2) ? std::string() : text(random));
      break;
    default:
      message.mutable_begin_run()->set_run(around.run);
      message.mutable_begin_run()->set_first_slice(slice(random, around));
      message.mutable_begin_run()->set_on(random.one_in(2));
      break;
  }
  return message;
}

void append(Random& random, const Surroundings& around, MessageKind saying, std::vector<std::byte>& out) {
  switch (saying) {
    case MessageKind::request:
      return append_request(random, around, out);
    case MessageKind::cancel:
      return append_entries(random, around, wire::FrameType::cancel, out);
    case MessageKind::stored:
      return append_entries(random, around, wire::FrameType::stored, out);
    case MessageKind::fragment:
      return append_fragment(random, around, wire::FrameType::fragment, out);
    case MessageKind::block:
      return append_block(random, around, out);
    case MessageKind::data:
      return append_fragment(random, around, wire::FrameType::data, out);
    case MessageKind::hello:
      return append_message(wire::FrameType::hello, hello(random, around), out);
    case MessageKind::frame_of_anything:
      return wire::append_frame(static_cast<wire::FrameType>(1 + random.below(10)),
                                random.bytes(random.below(300)), out);
    case MessageKind::garbage: {
      const auto garbage = random.bytes(random.below(200));
      out.insert(out.end(), garbage.begin(), garbage.end());
      return;
    }
    default:
      return append_message(wire::FrameType::control, control(random, around, saying), out);
  }
}

}  // namespace

v1::Hello hello(Random& random, const Surroundings& around) {
  v1::Hello hello;
  hello.set_version(random.one_in(10) ? small(random, 3) : wire::kVersion);
  hello.set_role(static_cast<v1::Role>(small(random, 8)));
  constexpr const char* kNames[] = {"stranger", "dcm-0", "readout-0", "writer-0", "supervisor", "dcm-9"};
  hello.set_name(random.one_in(10) ? text(random) : kNames[random.below(std::size(kNames))]);
  hello.set_index(small(random, 3));
  hello.set_run(random.one_in(8) ? small(random, 5) : around.run);
  hello.set_farm(random.one_in(8) ? text(random) : around.farm);
  hello.set_incarnation(odd(random));
  hello.set_listen_host("memory");
  hello.set_listen_port(small(random, 70'000));
  hello.set_credits(small(random, 100));
  hello.set_heartbeats(random.one_in(8));
  for (std::uint64_t planes = random.one_in(8) ? random.below(12) : 0; planes > 0; --planes) {
    v1::Address& plane = *hello.add_planes();
    plane.set_host("memory");
    plane.set_port(small(random, 70'000));
  }
  return hello;
}

void append_message(Random& random, const Surroundings& around, std::span<const MessageKind> fitting,
                    std::vector<std::byte>& out) {
  const std::size_t begin = out.size();
  const bool fits = !fitting.empty() && !random.one_in(15);
  append(random, around,
         fits ? fitting[random.below(fitting.size())] : static_cast<MessageKind>(random.below(kMessageKinds)),
         out);
  const bool some = out.size() > begin;
  if (some && random.one_in(25)) out[begin + random.below(out.size() - begin)] ^= std::byte{0x10};
  if (some && random.one_in(30)) out.resize(begin + random.below(out.size() - begin));
}

}  // namespace weir::session_test
