#include "server/access_log.h"

#include <spdlog/async.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "base/json_writer.h"

namespace paternoster::server {
namespace {

constexpr std::size_t kQueuedLines = 8192;
constexpr char kAccess[] = "access";

// One JSON object a line. The access log's messages are members already.
class JsonFormatter final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    const auto since = message.time.time_since_epoch();
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
    const auto level = spdlog::level::to_string_view(message.level);
    std::string line;
    JsonObject object(line);
    object.field("time_ms", ms).field("level", std::string_view(level.data(), level.size()));
    const std::string_view text(message.payload.data(), message.payload.size());
    if (std::string_view(message.logger_name.data(), message.logger_name.size()) == kAccess) {
      line += ',';
      line += text;
    } else {
      object.field("message", text);
    }
    object.end();
    line += '\n';
    out.append(line.data(), line.data() + line.size());
  }
  std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<JsonFormatter>();
  }
};

double milliseconds_since(Clock::time_point began) {
  return std::chrono::duration<double, std::milli>(Clock::now() - began).count();
}

std::string json_members(const RequestRecord& record, int status) {
  std::string line;
  JsonObject object(line);
  object.field("method", record.method)
      .field("path", record.path)
      .field("status", status)
      .field("duration_ms", std::round(milliseconds_since(record.began) * 1000) / 1000)
      .field("bytes", record.bytes)
      .field("request_id", record.request_id)
      .field("note", record.note)
      .end();
  return line.substr(1, line.size() - 2);
}

// What a client sent may not forge lines or command a terminal.
std::string printable(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte < 0x20 || byte >= 0x7F ? '?' : c;
  }
  return out;
}

}  // namespace

void set_up_logging(bool json) {
  spdlog::init_thread_pool(kQueuedLines, 1);
  const auto sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  if (json) {
    sink->set_formatter(std::make_unique<JsonFormatter>());
  } else {
    sink->set_pattern("%Y-%m-%d %H:%M:%S.%e %L %v");
  }
  const auto make = [&](const char* name) {
    return std::make_shared<spdlog::async_logger>(name, sink, spdlog::thread_pool(),
                                                  spdlog::async_overflow_policy::overrun_oldest);
  };
  spdlog::register_logger(make(kAccess));
  spdlog::set_default_logger(make("paternoster"));
}

void AccessLog::write(const RequestRecord& record, int status) const {
  const auto logger = spdlog::get(kAccess);
  if (!logger) return;
  const bool routine = status < 400 && (record.path == "/metrics" || record.path.starts_with("/health"));
  const auto level = routine ? spdlog::level::debug : spdlog::level::info;
  if (!logger->should_log(level)) return;
  if (json_) {
    logger->log(level, json_members(record, status));
    return;
  }
  logger->log(level, "{} {} {} {:.1f} ms {} B {} {}", record.method, printable(record.path), status,
              milliseconds_since(record.began), record.bytes, record.request_id, record.note);
}

}  // namespace paternoster::server
