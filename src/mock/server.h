// An engine of exactly known timing behind a small HTTP server of its own, which can also do on the wire
// what a sound server never does: judge of the load generator, stand-in of the gateway's tests,
// `paternoster mock`. options.h says when every byte leaves.
//
// Routes: POST /v1/chat/completions, /v1/completions (one prompt, one choice), /tokenize; GET
// /v1/models, /health, /health/ready, /metrics (running, waiting, tokens), and /mock/requests: one line
// of JSON for each generating request that is over, with the times it really had (monotonic clock).
//
// `run` serves on the calling thread until `stop`, which any thread may call. `requests` is for after.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "api/standing.h"
#include "base/result.h"
#include "mock/options.h"

namespace paternoster::mock {

// What a request really had; nanoseconds of the monotonic clock, -1: never.
struct MockRequest {
  std::int64_t number = 0;  // from 1, as they came
  std::string request_id;   // x-request-id, if given
  std::int64_t arrived_ns = -1;
  std::int64_t seated_ns = -1;
  std::int64_t first_ns = -1;  // its first token left
  std::int64_t last_ns = -1;
  std::int64_t late_ns = 0;    // the most that a departure was behind its plan
  std::int32_t prompt_tokens = 0;
  std::int32_t output_tokens = 0;  // that left
  bool abandoned = false;          // the client went away first
  api::Wish wish;                  // of fields beyond OpenAI's own
};

class MockServer {
 public:
  static Result<std::unique_ptr<MockServer>> create(MockOptions options);
  ~MockServer();

  std::uint16_t port() const;
  std::string address() const;  // "http://127.0.0.1:8080"

  void run(bool handle_signals = false);
  void stop();

  const std::vector<MockRequest>& requests() const;

 private:
  class Impl;
  explicit MockServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace paternoster::mock
