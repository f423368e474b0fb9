#include "client/ask.h"

namespace paternoster::client {
namespace {

constexpr std::size_t kMostBody = std::size_t{16} << 20;

class Collector final : public CallListener {
 public:
  void on_head(const ResponseHead& head, Clock::time_point) override { answer.status = head.status; }
  void on_body(std::string_view bytes, Clock::time_point) override {
    if (answer.body.size() + bytes.size() <= kMostBody) answer.body += bytes;
  }
  void on_end(CallEnd how, const std::string& why, Clock::time_point) override {
    over = true;
    end = how;
    error = why;
  }

  Answer answer;
  bool over = false;
  CallEnd end = CallEnd::kDone;
  std::string error;
};

}  // namespace

Result<Answer> ask(boost::asio::io_context& context, Caller& caller, Call call) {
  Collector collector;
  const CallId id = caller.start(std::move(call), collector);
  context.restart();
  while (!collector.over && context.run_one() > 0) {
  }
  if (!collector.over) {
    caller.cancel(id);
    return failure(paternoster::ErrorCode::kInternal, "the question was given up");
  }
  if (collector.end != CallEnd::kDone) return failure(paternoster::ErrorCode::kUnavailable, collector.error);
  return std::move(collector.answer);
}

}  // namespace paternoster::client
