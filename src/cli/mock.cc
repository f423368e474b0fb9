// `paternoster mock`: an engine of exactly known timing, to test clients, gateways and load generators.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdio>

#include "base/duration.h"
#include "cli/commands.h"
#include "cli/duration_option.h"
#include "cli/failure.h"
#include "mock/server.h"

namespace paternoster::cli {
namespace {

using mock::FaultKind;

constexpr std::pair<std::string_view, FaultKind> kFaults[] = {
    {"refuse", FaultKind::kRefuse},     {"error", FaultKind::kError},   {"disconnect", FaultKind::kDisconnect},
    {"truncate", FaultKind::kTruncate}, {"garble", FaultKind::kGarble}, {"stall", FaultKind::kStall}};

bool read_count(std::string_view text, std::int64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value >= 1 && value <= 1'000'000'000;
}

// "disconnect:10", "error:10:3" (after three tokens), "refuse:4:429" (with this status)
mock::Fault parse_fault(const std::string& text) {
  const auto complain = [&] {
    return CLI::ValidationError("--fault", "'" + text + "' is not KIND:EVERY[:TOKENS], with KIND one of refuse " +
                                               "(whose third part is the status), error, disconnect, truncate, " +
                                               "garble, stall");
  };
  std::vector<std::string_view> parts;
  for (std::string_view rest = text;;) {
    const std::size_t colon = rest.find(':');
    parts.push_back(rest.substr(0, colon));
    if (colon == std::string_view::npos) break;
    rest.remove_prefix(colon + 1);
  }
  mock::Fault fault;
  const auto kind = std::ranges::find(kFaults, parts[0], &std::pair<std::string_view, FaultKind>::first);
  std::int64_t third = 0;
  if (kind == std::end(kFaults) || parts.size() < 2 || parts.size() > 3 || !read_count(parts[1], fault.every)) {
    throw complain();
  }
  fault.kind = kind->second;
  if (parts.size() == 2) return fault;
  if (!read_count(parts[2], third)) throw complain();
  if (fault.kind == FaultKind::kRefuse && (third < 400 || third > 599)) throw complain();
  (fault.kind == FaultKind::kRefuse ? fault.status : fault.after_tokens) = static_cast<std::int32_t>(third);
  return fault;
}

void add_delay(CLI::App& app, const std::string& flag, std::int64_t& to_ns, const std::string& help) {
  add_duration(app, flag, to_ns, help + " (now " + duration_text(static_cast<double>(to_ns)) + ")");
}

void add_mock_options(CLI::App& app, mock::MockOptions& options) {
  app.add_option("--host", options.host, "address to listen on");
  app.add_option("--port", options.port, "port to listen on; 0: any free one");
  app.add_option("--model", options.model, "the name it answers to");
  app.add_option("--api-key", options.api_key, "ask for this key");
  add_delay(app, "--ttft", options.ttft_ns, "from a seat to the first token");
  add_delay(app, "--itl", options.itl_ns, "from one token to the next");
  add_delay(app, "--prompt-token", options.prompt_token_ns, "and for each token of the prompt");
  app.add_option("--seats", options.seats, "requests served at once, others wait; 0: no limit")
      ->check(CLI::Range(0, 1 << 20));
  app.add_option("--tokens-per-chunk", options.tokens_per_chunk, "tokens in one event")->check(CLI::Range(1, 1 << 16));
  app.add_option("--hold-chunks", options.hold_chunks, "let so many events leave together, as a buffer does")
      ->check(CLI::Range(1, 1 << 16));
  app.add_option("--max-len", options.max_len, "context, in tokens (words)")->check(CLI::Range(2, 1 << 24));
  app.add_option_function<std::vector<std::string>>(
      "--fault",
      [&options](const std::vector<std::string>& texts) {
        for (const std::string& text : texts) options.faults.push_back(parse_fault(text));
      },
      "KIND:EVERY[:TOKENS]: every so manieth request is refused, or gets an error, a disconnect, an end too early "
      "(truncate), an event that is not JSON (garble) or nothing more (stall) after so many tokens");
  app.add_option("--split-bytes", options.split_bytes, "write so many bytes at a time")->check(CLI::Range(0, 1 << 20));
  app.add_flag("--crlf", options.crlf, "end events with CR LF");
  app.add_flag("--comments", options.comments, "a comment before every event");
  app.add_flag("--until-closed", options.until_closed, "streams end with the connection");
  app.add_flag("!--no-usage", options.usage, "tell no token counts");
  app.add_option("--usage-excess", options.usage_excess, "count so many tokens too many")
      ->check(CLI::Range(-1000, 1000));
  app.add_flag("!--no-timings", options.timings, "do not tell its own clock");
}

}  // namespace

int mock(int argc, char** argv) {
  mock::MockOptions options;
  options.port = 8081;
  CLI::App app("An engine of exactly known timing that counts instead of thinking.", "paternoster mock");
  add_mock_options(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return fail_call(app, error);
  }
  const auto server = mock::MockServer::create(std::move(options));
  if (!server) return fail("mock", server.error());
  fmt::print("paternoster mock at {}\n", (*server)->address());
  std::fflush(stdout);
  (*server)->run(true);
  double late_ns = 0;
  for (const auto& request : (*server)->requests()) late_ns = std::max(late_ns, static_cast<double>(request.late_ns));
  fmt::print("{} requests; at most {} late\n", (*server)->requests().size(), duration_text(late_ns));
  return 0;
}

}  // namespace paternoster::cli
