// What a mock engine does, and when, to the nanosecond: the times of every answer follow from these
// numbers and from when the request came.
//
//   seat    when the request is whole and one of `seats` is free, first come first served
//   chunk j leaves at  seat + ttft + prompt tokens x prompt_token + j x tokens_per_chunk x itl
//   held    with hold_chunks B, a chunk leaves with the last of its group of B: what a proxy that
//           buffers does
//   end     with the last chunk; the seat is free then
//
// The k-th generating request (from 1) has the first fault of the list whose `every` divides k.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace paternoster::mock {

inline constexpr std::int32_t kDefaultTokens = 256;  // of a chat's answer, if max_tokens is not given

enum class FaultKind : std::uint8_t {
  kRefuse,      // a status instead of an answer
  kError,       // an event with an error in mid-stream, then [DONE]
  kDisconnect,  // the connection is cut in mid-answer
  kTruncate,    // the response ends as HTTP wants it, but without finish_reason and [DONE]
  kGarble,      // an event that is not JSON; the answer goes on after it
  kStall,       // nothing more comes, and the connection stays
};

struct Fault {
  FaultKind kind = FaultKind::kRefuse;
  std::int64_t every = 1;
  std::int32_t after_tokens = 2;  // of the answer; in chunks, a fault comes after the one that reaches it
  std::int32_t status = 503;      // kRefuse
};

struct MockOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;  // 0: any free one
  std::string model = "mock";
  std::string api_key;  // not empty: asked for on the generating routes

  std::int64_t ttft_ns = 50'000'000;
  std::int64_t itl_ns = 10'000'000;
  std::int64_t prompt_token_ns = 0;
  std::int32_t seats = 0;  // requests served at once; 0: no limit
  std::int32_t tokens_per_chunk = 1;
  std::int32_t hold_chunks = 1;
  std::int32_t max_len = 131072;  // prompt and answer

  std::vector<Fault> faults;

  // On the wire.
  std::int32_t split_bytes = 0;   // write so many bytes at a time; 0: all at once
  bool crlf = false;              // events end with CR LF
  bool comments = false;          // a comment before every event
  bool until_closed = false;      // streams end with the connection, and there is no chunked framing

  // What it tells.
  bool usage = true;
  std::int32_t usage_excess = 0;  // completion_tokens is wrong by so many
  bool timings = true;
};

}  // namespace paternoster::mock
