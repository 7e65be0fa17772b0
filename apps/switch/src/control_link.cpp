#include "control_link.hpp"

#include "exposition.hpp"
#include <weir/base/assert.hpp>

#include <spdlog/spdlog.h>

#include <array>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utility>

namespace weir::switch_node {
namespace {

constexpr std::size_t kHostNameMax = 256;

std::string host_name() {
  std::array<char, kHostNameMax> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

}  // namespace

void add_counts(const switching::SwitchSettings& settings, const packet_switch::SwitchCounts& counts,
                v1::SwitchReport& report) {
  WEIR_ASSERT(counts.rings.empty() || counts.rings.size() == settings.rings.size());
  report.set_received(counts.received());
  report.set_sent(counts.sent());
  report.set_lost(lost_frames(counts));
  for (std::size_t i = 0; i < switching::kFrameDrops; ++i) {
    const auto reason = static_cast<switching::FrameDrop>(i);
    (*report.mutable_dropped())[switching::name_of(reason)] = counts.dropped(reason);
  }
  for (std::size_t i = 0; i < counts.rings.size(); ++i) {
    v1::SwitchReport::Ring& ring = *report.add_rings();
    ring.set_name(settings.rings[i].name);
    ring.set_waiting(counts.rings[i].waiting);
    ring.set_waiting_most(counts.rings[i].waiting_most);
    ring.set_waiting_bytes(counts.rings[i].waiting_bytes);
    ring.set_waiting_bytes_most(counts.rings[i].waiting_bytes_most);
    ring.set_room(settings.rings[i].frames_max);
    ring.set_frames(counts.rings[i].frames);
    ring.set_dropped(counts.rings[i].dropped);
  }
}

std::optional<Table> TableChoice::take(const v1::SwitchTable& message) {
  unknown_ = message.refused();
  if (table_ && message.digest() == table_->digest) {  // an edit was taken back
    refused_digest_.clear();
    refused_.clear();
    return std::nullopt;
  }
  if (message.text().empty() || message.digest() == refused_digest_) return std::nullopt;
  auto file = config::read_switch(message.text(), message.file());
  config::Problems problems;
  if (!file) {
    problems = file.error();
  } else if (table_) {
    problems = config::problems_of_change(table_->file, *file);
  } else if (const auto machine = config::machine_of(*file); !machine) {
    problems = machine.error();
  }
  if (problems.empty()) return Table{message.digest(), std::move(*file)};
  refuse(message.digest(), config::to_text(problems));
  return std::nullopt;
}

void TableChoice::use(Table table) {
  table_ = std::move(table);
  refused_digest_.clear();
  refused_.clear();
}

void TableChoice::refuse(const std::string& digest, std::string why) {
  refused_digest_ = digest;
  refused_ = std::move(why);
}

ControlLink::ControlLink(bus::ClientSettings settings, std::string name, UtcNs started_ns,
                         TableChoice& choice)
    : name_(std::move(name)),
      started_ns_(started_ns),
      choice_(choice),
      arrived_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      client_(std::move(settings), [this] {
        const std::uint64_t one = 1;
        (void)!::write(arrived_.get(), &one, sizeof one);
      }) {}

std::optional<Table> ControlLink::take() {
  std::uint64_t count = 0;
  (void)!::read(arrived_.get(), &count, sizeof count);
  std::optional<Table> latest;
  for (const v1::BusMessage& message : client_.take()) {
    if (message.has_welcome()) note(logged_welcome_, message.welcome().refused(), "run control refused");
    if (!message.has_switch_table()) continue;
    answered_ = true;
    latest = choice_.take(message.switch_table());
    if (message.switch_table().run() != 0) run_ = message.switch_table().run();
  }
  note(logged_unknown_, choice_.unknown(), "no table from run control");
  note(logged_refused_, choice_.refused(), "table refused");
  return latest;
}

void ControlLink::note(std::string& logged, const std::string& now, const char* what) {
  if (now != logged && !now.empty()) spdlog::error("{} reason=\"{}\"", what, now);
  logged = now;
}

void ControlLink::send(v1::SwitchReport report) {
  v1::BusMessage message;
  report.set_name(name_);
  report.set_host(host_name());
  report.set_started_ns(started_ns_);
  if (choice_.table()) report.set_digest(choice_.table()->digest);
  report.set_refused(choice_.refused());
  *message.mutable_switch_report() = std::move(report);
  client_.drop_unsent();
  client_.send(message);
}

}  // namespace weir::switch_node
