#pragma once

#include <weir/node/node.hpp>
#include <weir/node/setup.hpp>
#include <weir/ports/clock.hpp>
#include <weir/ports/disk.hpp>
#include <weir/ports/network.hpp>
#include <weir/storage/earlier_life.hpp>
#include <weir/writer/close_commands.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace weir::writer {

// The node's environment.
struct WriterEnvironment {
  ports::Network& network;
  ports::Clock& clock;
  ports::Disk& disk;
  std::function<void(ports::DiskHandler&)> deliver_disk_events;
  std::function<ports::StreamCounters()> stream_totals;
  // Runs writer.on_close for a closed file without waiting for it.
  std::function<void(const std::string& path, std::uint32_t crc32c)> on_close;
  storage::EarlierLife earlier;                    // files of earlier processes of this writer in this run
  std::function<CloseCounts()> close_counts = {};  // counts of writer.on_close in this run; may be empty
  // Makes the folder of an alert, durably. Returns an error message or an empty string. May be empty if no
  // folders are needed.
  std::function<std::string(const std::string& path)> make_folder = {};
  std::map<std::uint32_t, storage::EarlierLife> earlier_bursts = {};  // by alert
};

// "run-000007-burst-2": the folder of an alert in run.out.
[[nodiscard]] std::string burst_folder_name(RunNumber run, std::uint32_t alert);

// Makes a writer: grants space, stores records in run files, acknowledges stored records. Errors:
// std::runtime_error with a message if its port is taken.
[[nodiscard]] std::unique_ptr<node::Node> make_node(const node::Setup& setup, WriterEnvironment environment);

}  // namespace weir::writer
