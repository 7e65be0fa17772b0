#include <weir/node/fault_notes.hpp>
#include <weir/node/report.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace weir::node {

v1::Report begin_report(const sessions::PeerInfo& self, const v1::RunIdentity& ran, TimeNs now_ns,
                        bool final) {
  v1::Report report;
  report.set_final(final);
  report.set_name(self.name);
  report.set_role(static_cast<v1::Role>(self.role));
  report.set_index(self.index.value);
  report.set_incarnation(self.incarnation.value);
  report.set_now_ns(now_ns);
  *report.mutable_ran() = ran;
  return report;
}

void add_network(v1::Report& report, const ports::StreamCounters& streams,
                 const sessions::PeerCounters& peers) {
  reports::ReportCounters counters(report);
  counters["net.bytes_received"] = streams.bytes_received;
  counters["net.bytes_sent"] = streams.bytes_sent;
  counters["net.receive_calls"] = streams.receive_calls;
  counters["net.send_calls"] = streams.send_calls;
  counters["net.wait_calls"] = streams.wait_calls;
  counters["net.retransmits"] = streams.retransmits;
  counters["peers.accepted"] = peers.accepted;
  counters["peers.refused_full"] = peers.refused_full;
  counters["peers.refused_hello"] = peers.refused_hello;
  counters["peers.refused_auth"] = peers.refused_auth;
  counters["peers.silent"] = peers.silent;
  for (const auto& [error, count] : peers.protocol_errors) {
    counters.of("peers.protocol_errors.", error) = count;
  }
}

void add_process(v1::Report& report) {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  constexpr double kMicro = 1e-6;
  reports::Gauges gauges(report);
  gauges["process.cpu_s"] = static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                            kMicro * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
  gauges["process.rss_max_bytes"] = 1024.0 * static_cast<double>(usage.ru_maxrss);
}

LoopTime::LoopTime() : begin_(now()) {}

LoopTime::Times LoopTime::now() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  Times times{time.tv_sec * kSecond + time.tv_nsec, 0};
  // Linux, Documentation/scheduler/sched-stats.rst: time on the CPU, time waiting on a run queue (ns each),
  // turns.
  const int file = ::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  if (file < 0) return times;
  std::array<char, 96> text{};
  const ssize_t length = ::read(file, text.data(), text.size());
  ::close(file);
  const char* const begin = text.data();
  const char* const end = begin + std::max<ssize_t>(0, length);
  const char* const wait = std::find(begin, end, ' ');
  if (wait != end) std::from_chars(wait + 1, end, times.wait_ns);
  return times;
}

void LoopTime::add_to(v1::Report& report) const {
  const Times times = now();
  reports::Gauges gauges(report);
  gauges["loop.cpu_s"] = static_cast<double>(times.cpu_ns - begin_.cpu_ns) / kSecond;
  gauges["loop.wait_s"] = static_cast<double>(times.wait_ns - begin_.wait_ns) / kSecond;
}

void add_faults(v1::Report& report, std::span<const std::string> faults) {
  if (faults.empty()) return;
  std::string& note = (*report.mutable_notes())[std::string(kFaultNote)];
  for (const std::string& fault : faults) note += (note.empty() ? "" : "\n") + fault;
}

}  // namespace weir::node
