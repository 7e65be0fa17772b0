#include "library.hpp"

#include <weir/source_host/lane.hpp>

#include <atomic>
#include <csignal>
#include <memory>
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

using namespace weir;
using namespace weir::source_host;

enum : std::int32_t { kSent = 0, kTooLong = 1, kForked = 2 };

std::unique_ptr<LaneWriter> lane;
// A source has forked, and this is the child: it must not publish anything.
std::atomic<bool> in_child{false};

std::size_t size_of(int descriptor) {
  struct stat status {};
  return ::fstat(descriptor, &status) == 0 ? static_cast<std::size_t>(status.st_size) : 0;
}

}  // namespace

std::uint64_t weir_source_host_open(void) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  pollfd readout{kWakeDescriptor, POLLOUT, 0};
  if (::poll(&readout, 1, 0) > 0 && (readout.revents & POLLERR) != 0) ::_exit(0);  // it ended before prctl()
  // A terminal's and a service manager's signals are for the readout, which ends its host.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(signal, SIG_IGN);
  ::pthread_atfork(nullptr, nullptr, [] { in_child.store(true, std::memory_order_relaxed); });
  const std::size_t bytes = size_of(kLaneDescriptor);
  if (bytes <= lane_bytes(0)) return 0;
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, kLaneDescriptor, 0);
  if (memory == MAP_FAILED) return 0;
  ::madvise(memory, bytes, MADV_DONTFORK);
  if (static_cast<const SourceLaneHeader*>(memory)->magic != SourceLaneHeader::kMagic) return 0;
  lane = std::make_unique<LaneWriter>(Bytes{static_cast<std::byte*>(memory), bytes},
                                      [] { (void)!::write(kWakeDescriptor, "", 1); });
  return lane->record_max();
}

std::uint32_t weir_source_host_take(void* requests, std::uint32_t count, std::int32_t patience_ms) {
  if (in_child.load(std::memory_order_relaxed)) ::_exit(0);
  return static_cast<std::uint32_t>(lane->take({static_cast<LaneRequest*>(requests), count}, patience_ms));
}

std::int32_t weir_source_host_send(std::uint32_t kind, std::uint32_t source, std::uint64_t slice,
                                   std::uint32_t status, const void* data, std::uint64_t length,
                                   const void* stamp) {
  if (in_child.load(std::memory_order_relaxed)) return kForked;
  const LaneRecord record{static_cast<RecordKind>(kind), source, slice, static_cast<std::uint32_t>(length),
                          status};
  const ConstBytes bytes{static_cast<const std::byte*>(data), length};
  const bool sent = stamp == nullptr ? lane->write(record, bytes)
                                     : lane->write(record, *static_cast<const LaneStamp*>(stamp), bytes);
  return sent ? kSent : kTooLong;
}

std::int32_t weir_source_host_send_many(std::uint32_t source, const std::uint64_t* slices,
                                        const std::uint32_t* lengths, std::uint32_t count, const void* data,
                                        std::uint64_t length, const void* stamps) {
  if (in_child.load(std::memory_order_relaxed)) return kForked;
  const bool sent = lane->write_many(source, {slices, count}, {lengths, count},
                                     {static_cast<const std::byte*>(data), length},
                                     {static_cast<const LaneStamp*>(stamps), stamps == nullptr ? 0 : count});
  return sent ? kSent : kTooLong;
}
