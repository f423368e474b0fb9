// Recorded request traces as rows: when, how long, and what prefix content they share.
//
//   azure        CSV  TIMESTAMP,ContextTokens,GeneratedTokens (Azure LLM inference traces)
//   burstgpt     CSV  Timestamp,[Session ID,Elapsed time,]Model,Request tokens,Response tokens,...
//   vidur        CSV  [arrived_at,]num_prefill_tokens,num_decode_tokens,...
//   mooncake     JSONL timestamp (ms), input_length, output_length, hash_ids (512 tokens each)
//   timed-trace  JSONL of the same keys as vLLM's benchmark reads them: seconds, 16 tokens a hash
//   records      JSONL of ours, one request a line (measure/summary_json.h)
//
// CSV formats are told apart by their header, JSONL ones by their keys and by how many hashes a row
// has. Whatever is wrong with a file is one line that names the file's line. Rows come back in order of
// time, the first at zero; rows without an answer (failures in BurstGPT) are left out and counted.
#pragma once

#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace paternoster::workload {

enum class TraceFormat : std::uint8_t { kAzure, kBurstGpt, kVidur, kMooncake, kTimedTrace, kRecords };

const char* to_string(TraceFormat format);
Result<TraceFormat> parse_trace_format(std::string_view name);

struct TraceRow {
  std::int64_t at_ns = 0;
  std::int32_t input_tokens = 0;
  std::int32_t output_tokens = 0;
  std::vector<std::uint64_t> blocks;  // content of the prompt's blocks, equal ids are equal tokens
  std::string class_name;
  std::string tenant;
};

struct TraceOptions {
  std::optional<TraceFormat> format;           // none: found out
  std::optional<std::int32_t> block_tokens;    // a hash stands for; none: the format's own
  std::optional<std::int64_t> time_unit_ns;    // of a JSONL timestamp; none: the format's own
};

struct Trace {
  TraceFormat format = TraceFormat::kAzure;
  std::vector<TraceRow> rows;
  std::int32_t block_tokens = 0;  // 0: no row has blocks
  std::int64_t left_out = 0;
  bool timed = true;              // false: lengths only (vidur without arrived_at)

  // Requests a second over the whole trace; 0 if it has no span.
  double rate() const;
};

Result<Trace> read_trace(const std::string& path, const TraceOptions& options = {});
// `name` stands in messages where a path would.
Result<Trace> read_trace(std::istream& in, const std::string& name, const TraceOptions& options = {});

}  // namespace paternoster::workload
