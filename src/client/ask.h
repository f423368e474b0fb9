// One small question to a server and its whole answer, for what is asked before and after a run.
#pragma once

#include <boost/asio/io_context.hpp>
#include <string>

#include "base/result.h"
#include "client/caller.h"

namespace paternoster::client {

struct Answer {
  int status = 0;
  std::string body;  // at most 16 MiB of it
};

// Runs the context until the answer is there: not from within one of its callbacks. An answer of any
// status is an answer.
Result<Answer> ask(boost::asio::io_context& context, Caller& caller, Call call);

}  // namespace paternoster::client
