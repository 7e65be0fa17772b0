#include <weir/file_reader.hpp>
#include <weir/hits.hpp>

#include <iostream>

int main(int argc, char** argv) try {
  const weir::files::Run run(argc > 1 ? argv[1] : ".");  // a folder, or a run file
  std::cout << "run " << run.number() << " of " << run.farm() << ": " << run.size() << " slices\n";
  for (const weir::files::Slice& slice : run) {
    std::cout << "slice " << slice.id() << ": " << name(slice.decision()) << "\n";
    for (const weir::files::Fragment& fragment : slice.fragments()) {
      std::cout << "  source " << fragment.source << ": " << name(fragment.status);
      if (fragment.status == weir::files::Status::missing) std::cout << ", " << name(fragment.reason);
      std::cout << ", " << fragment.bytes.size() << " bytes";
      // In the format of the `hits` source; other bytes are malformed, or give hits without a meaning.
      weir::HitReader hits(fragment.bytes);
      std::size_t count = 0;
      while (hits.next()) ++count;
      std::cout << (hits.malformed() ? "" : ", " + std::to_string(count) + " hits") << "\n";
    }
    for (const weir::files::OutputEvent& event : slice.events())
      std::cout << "  event " << event.id << ": " << event.bytes.size() << " bytes\n";
  }
  for (const weir::files::Histogram& histogram : run.histograms())
    std::cout << histogram.name << ": " << histogram.entries << " entries, mean " << histogram.mean_x << "\n";
} catch (const weir::files::Error& error) {
  std::cerr << name(error.kind()) << ": " << error.what() << "\n";
  return 1;
}
