#include "plain_farm.hpp"
#include "units.hpp"
#include <weir/base/role.hpp>
#include <weir/base/scratch_folder.hpp>
#include <weir/bench/store.hpp>
#include <weir/node/mounts.hpp>
#include <weir/reports/numbers.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sys/resource.h>
#include <unistd.h>

namespace weir::bench {
namespace {

constexpr std::size_t kBlockBytes = 1U << 20;

std::string farm_text(const StorePoint& point, double seconds, const std::string& folder) {
  const std::uint32_t fragment = std::max(1U, point.slice_bytes / (point.readouts * point.sources));
  return fmt::format(
      "farm: bench-store\n"
      "run: {{out: '{}', duration_s: {}}}\n"
      "trigger: {{mode: max}}\n"
      "source: {{kind: dummy, distribution: fixed, size_bytes: {}, size_bytes_max: {}}}\n"
      "readout: {{count: {}, sources_per_readout: {}}}\n"
      "dcm: {{count: {}}}\n"
      "filter: {{plugin: accept-all}}\n"
      "writer: {{count: {}}}\n",
      folder, seconds, fragment, fragment, point.readouts, point.sources, point.dcms, point.writers);
}

// Returns "ext4 on /dev/sda1"; "unknown" if the kernel's list has no mount for the folder.
std::string file_system_of(const std::string& folder) {
  std::ifstream list("/proc/self/mountinfo");
  const std::string text{std::istreambuf_iterator<char>(list), {}};
  const auto mount = node::mount_of(text, std::filesystem::canonical(folder).string());
  return mount ? mount->device : "unknown";
}

double thread_cpu_s() {
  rusage use{};
  ::getrusage(RUSAGE_THREAD, &use);
  return static_cast<double>(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
         static_cast<double>(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / kUsPerMs / kMsPerS;
}

std::string failed(const char* what) { return fmt::format("{}: {}", what, std::strerror(errno)); }

}  // namespace

Expected<StoreRate, std::string> measure_store(const StorePoint& point, double seconds,
                                               const std::string& folder) {
  const ScratchFolder scratch(folder);
  const std::string out = scratch.path().string();
  const auto ran = run_plain_farm(farm_text(point, seconds, out), out);
  if (!ran) return Unexpected<std::string>(ran.error());
  StoreRate rate;
  rate.seconds = static_cast<double>(ran->account->duration_ns()) / kSecond;
  for (const v1::Report& node : ran->account->nodes()) {
    if (node.role() != v1::ROLE_WRITER) continue;
    rate.slices += reports::counter_of(node, "writer.records");
    rate.bytes += reports::counter_of(node, "writer.bytes_stored");
    rate.syncs += reports::counter_of(node, "writer.syncs");
  }
  for (const run_record::ProcessRecord& process : ran->processes) {
    if (process.role == name(Role::writer)) rate.writer_cpu_s += process.end.cpu_s;
  }
  if (rate.slices == 0 || rate.seconds <= 0) return Unexpected<std::string>("no slice was stored");
  return rate;
}

Expected<DiskRate, std::string> measure_disk(const std::string& folder, std::uint64_t bytes,
                                             std::uint64_t syncs) {
  const ScratchFolder scratch(folder);
  const std::string path = (scratch.path() / "bytes").string();
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return Unexpected<std::string>(failed("open"));
  const std::vector<char> block(kBlockBytes, 'w');
  const std::uint64_t every = std::max<std::uint64_t>(1, bytes / std::max<std::uint64_t>(1, syncs));
  const double cpu_before_s = thread_cpu_s();
  const auto begin = std::chrono::steady_clock::now();
  std::string failure;
  std::uint64_t next_sync = every;
  for (std::uint64_t written = 0; written < bytes && failure.empty();) {
    const std::uint64_t most = std::min<std::uint64_t>({kBlockBytes, bytes - written, next_sync - written});
    const ssize_t n = ::write(file, block.data(), most);
    if (n < 0) failure = failed("write");
    if (n > 0) written += static_cast<std::uint64_t>(n);
    if (written < next_sync && written < bytes) continue;
    next_sync += every;
    if (::fdatasync(file) != 0) failure = failed("fdatasync");
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  ::close(file);
  if (!failure.empty()) return Unexpected<std::string>(failure);
  return DiskRate{took.count(), bytes, thread_cpu_s() - cpu_before_s};
}

Line line_of(const StorePoint& point, const StoreRate& farm, const DiskRate& disk,
             const std::string& file_system) {
  const auto bytes = static_cast<double>(farm.bytes);
  const double rate = bytes / farm.seconds;
  const auto disk_bytes = static_cast<double>(disk.bytes);
  const double disk_rate = disk_bytes / disk.seconds;
  return {{"bench", "store"},
          {"slice_bytes", point.slice_bytes},
          {"readouts", point.readouts},
          {"sources_per_readout", point.sources},
          {"dcms", point.dcms},
          {"writers", point.writers},
          {"file_system", file_system},
          {"rounds", 1},
          {"slices_per_s", four_digits(static_cast<double>(farm.slices) / farm.seconds)},
          {"bytes_per_s", four_digits(rate)},
          {"bytes", farm.bytes},
          {"syncs_per_s", four_digits(static_cast<double>(farm.syncs) / farm.seconds)},
          {"writer_cpu_ns_per_byte", four_digits(farm.writer_cpu_s * kSecond / bytes)},
          {"disk_cpu_ns_per_byte", four_digits(disk.cpu_s * kSecond / disk_bytes)},
          {"disk_bytes_per_s", four_digits(disk_rate)},
          {"ratio", four_digits(rate / disk_rate)},
          {"_label", fmt::format("slices of {} B, {} DCM{}", point.slice_bytes, point.dcms,
                                 point.dcms == 1 ? "" : "s")}};
}

namespace {

// The first one fills the memory of the file cache for the second one, so the order changes with each round.
Expected<Lines, std::string> measure_round(const StorePoint& point, double seconds, const std::string& folder,
                                           const std::string& file_system, std::uint32_t number,
                                           StoreRate& last) {
  const bool disk_first = number % 2 == 1;
  Expected<DiskRate, std::string> disk = DiskRate();
  if (disk_first) disk = measure_disk(folder, last.bytes, last.syncs);
  const auto farm = measure_store(point, seconds, folder);
  if (!farm) return Unexpected<std::string>("the farm: " + farm.error());
  last = *farm;
  if (!disk_first) disk = measure_disk(folder, last.bytes, last.syncs);
  if (!disk) return Unexpected<std::string>("the disk: " + disk.error());
  return Lines{line_of(point, *farm, *disk, file_system)};
}

}  // namespace

int run_store(const StoreOptions& options, std::FILE* out, std::FILE* err) {
  const std::string folder =
      options.folder.empty() ? std::filesystem::current_path().string() : options.folder;
  if (!std::filesystem::is_directory(folder)) {
    fmt::print(err, "weir bench store: {} is not a folder\n", folder);
    return 1;
  }
  const std::string file_system = file_system_of(folder);
  Figure figure;
  figure.bench = "store";
  figure.needs_all = true;
  figure.rounds = options.rounds;
  for (const std::uint32_t bytes : options.slice_bytes) {
    for (const std::uint32_t dcms : options.dcms) {
      const StorePoint point{options.readouts, options.sources, dcms, options.writers, bytes};
      const auto measure = [&options, folder, file_system, point, last = StoreRate(),
                            number = 0U]() mutable -> Expected<Lines, std::string> {
        return measure_round(point, options.seconds, folder, file_system, number++, last);
      };
      figure.groups.push_back({{fmt::format("{} B, {} DCMs", bytes, dcms), measure}});
    }
  }
  figure.sentence = [](const Line& line) {
    return fmt::format("{}: {:.3g} slices/s, {:.3g} MB/s, {:.2f} of the disk ({})", text_of(line, "_label"),
                       number_of(line, "slices_per_s"), number_of(line, "bytes_per_s") / 1e6,
                       number_of(line, "ratio"), text_of(line, "file_system"));
  };
  return run_figure(figure, {}, out, err);
}

}  // namespace weir::bench
