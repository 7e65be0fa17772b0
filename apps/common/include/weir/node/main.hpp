#pragma once

#include <weir/node/node.hpp>
#include <weir/node/setup.hpp>

#include <functional>
#include <memory>

namespace weir::node {

using MakeNode = std::function<std::unique_ptr<Node>(const Setup& setup, transport::Loop& loop)>;

// The whole main() of a node executable: command line, farm file, logging, loop, signals. Returns the exit
// status: 0 done, 1 failed (the reason is on standard error), 2 a wrong command line or farm file.
int run_node_main(int argc, char** argv, messages::Role role, const char* description, const MakeNode& make);

}  // namespace weir::node
