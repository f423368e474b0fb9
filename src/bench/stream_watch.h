// Watches one request from the outside: what a client sees of it, as a RequestRecord. A listener of the
// Caller; used on its thread.
//
// The count of output tokens is the server's (usage), and so is the prompt's. How many tokens a chunk
// carries is known from its token ids or from usage told with every chunk; where a server tells
// neither, one a chunk is assumed, and when the final usage says otherwise the tokens are spread over
// the chunks and the record is marked `spread`.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "api/reply_reader.h"
#include "client/caller.h"
#include "client/event_reader.h"
#include "measure/request_record.h"

namespace paternoster::bench {

using client::Clock;

// What a client notices beside the times.
struct Sighting {
  measure::RequestRecord record;
  bool usage_told = false;
  bool spread = false;       // tokens of each chunk are assumed
  bool streamed = true;      // false: the answer came in one piece, whatever was asked for
  std::int32_t chunks = 0;   // that carry some of the answer
  std::int32_t bunched = 0;  // chunks that came right behind the one before (see quality.h)
  api::ServerTimings timings;
  std::string text;          // of the answer, if it is kept
};

class StreamWatch final : public client::CallListener {
 public:
  struct Options {
    Clock::time_point epoch;  // the run's zero
    bool keep_text = false;
    std::int32_t expected_input_tokens = 0;  // stands until usage tells
  };
  // `ended` is called once, last.
  StreamWatch(measure::RequestRecord record, Options options, std::function<void(StreamWatch&)> ended);

  void on_sending(Clock::time_point now) override;
  void on_head(const client::ResponseHead& head, Clock::time_point now) override;
  void on_body(std::string_view bytes, Clock::time_point now) override;
  void on_end(client::CallEnd end, const std::string& error, Clock::time_point now) override;

  // It is given up: the run is over.
  void cancel(Clock::time_point now);

  Sighting& sighting() { return sighting_; }
  std::int32_t tokens_so_far() const { return counted_; }

 private:
  std::int64_t since_epoch(Clock::time_point now) const;
  void take_event(std::string_view data, std::int64_t now_ns);
  void take_piece(const api::ReplyPiece& piece, std::int64_t now_ns);
  std::int32_t tokens_in(const api::ReplyPiece& piece);
  void fail(measure::Status status, std::string error);
  void take_whole_body(std::int64_t now_ns);
  void complete();
  void settle_counts();
  void note_gaps();

  Sighting sighting_;
  Options options_;
  std::function<void(StreamWatch&)> ended_;
  client::EventReader events_;
  std::string body_;  // of an answer that is no stream
  int http_status_ = 0;
  bool event_stream_ = false;
  bool failed_ = false;
  bool said_done_ = false;
  std::string finish_reason_;
  std::int32_t counted_ = 0;        // tokens of all arrivals
  bool exact_ = false;              // chunks tell how many tokens they carry
  std::optional<api::Usage> usage_;
};

}  // namespace paternoster::bench
