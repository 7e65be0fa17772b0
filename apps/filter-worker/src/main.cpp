#include <weir/filter_host/worker_main.hpp>

int main() { return weir::filter_host::run_worker_main(); }
