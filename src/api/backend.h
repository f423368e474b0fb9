// The port between whoever asks (HTTP server, terminal chat) and whoever answers (native engine, later
// a fleet of remote ones).
//
// Threads: every method of Backend may be called from any thread, never blocks for longer than its own
// small work, and never throws. Outlet's methods are called by one thread of the backend at a time and
// must return at once. A backend outlives every call into it; the outlet outlives the backend's thread, or
// is detached first (attach(nullptr) returns only when no delivery is under way).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "api/event.h"
#include "api/generation.h"
#include "api/live_frame.h"
#include "api/request_status.h"

namespace paternoster::api {

class Outlet {
 public:
  virtual ~Outlet() = default;
  // Once a step, with everything that happened in it; also between steps for refusals. Never empty.
  virtual void deliver(std::vector<BackendEvent>&& events) = 0;
  // While watch_live is on, at most about 20 times a second.
  virtual void show(LiveFrame&& frame) = 0;
  // The answer to one Backend::list_requests.
  virtual void list(std::vector<RequestStatus>&& requests) = 0;
};

// What is served, for /v1/models and /props.
struct ModelCard {
  std::string id;                      // the name clients use
  std::vector<std::string> aliases;    // further names
  std::int64_t created_s = 0;          // seconds since 1970: the file's time
  std::string path;
  std::string architecture;
  std::string weight_type;             // "Q4_1"
  std::int64_t parameters = 0;
  std::int64_t file_bytes = 0;
  std::int32_t max_len = 0;            // context served
  std::int32_t trained_context = 0;
  std::int32_t vocabulary = 0;
  std::int32_t max_seqs = 0;
  std::int32_t kv_tokens = 0;
  std::int32_t block_tokens = 0;
  std::int32_t engines = 1;            // that share the seats and the KV cache
  std::vector<std::pair<std::string, std::string>> scheduling;  // preset and choices, by name
  std::string chat_template;           // empty: none
  std::string chat_refusal;            // why the chat route is closed; empty: it is open
};

// kStalled: there is work, but for too long no step has ended.
enum class Readiness : std::uint8_t { kLoading, kReady, kDraining, kFailed, kStalled };

struct Health {
  Readiness readiness = Readiness::kLoading;
  std::int64_t last_step_age_ns = -1;  // since the last step ended; -1: none yet
  std::int32_t running = 0;
  std::int32_t waiting = 0;
};

struct Tokenized {
  std::vector<TokenId> tokens;
  std::vector<std::string> pieces;  // the bytes of each, only with want_pieces
};

class Backend {
 public:
  virtual ~Backend() = default;

  // At most one outlet. Calls made without one are answered nowhere.
  virtual void attach(Outlet* outlet) = 0;

  // Queues the call. All that is wrong with it comes back as Refused.
  virtual CallId generate(Generation generation) = 0;
  // From the next step on the call costs nothing. Unknown and finished ids are passed over.
  virtual void cancel(CallId call) = 0;

  // Ends the call with what it has so far: its choices finish with kAbort, then it is Done. Refused with
  // cancelled() if it has not been accepted yet.
  virtual void stop(CallId call) = 0;

  // Small questions, answered on the calling thread. Chat prompts are rendered first.
  virtual ApiResult<Tokenized> tokenize(const Prompt& prompt, bool add_special_tokens,
                                        bool want_pieces) const = 0;
  virtual ApiResult<std::string> detokenize(const std::vector<TokenId>& tokens) const = 0;
  // The text a conversation becomes.
  virtual ApiResult<std::string> render(const ChatPrompt& prompt) const = 0;

  virtual const ModelCard& model() const = 0;
  virtual Health health() const = 0;  // lock-free

  // How every call stands, told to the outlet between two steps.
  virtual void list_requests() = 0;

  // Frames are made only while somebody watches.
  virtual void watch_live(bool on) = 0;

  // From now on every generate is Refused with draining(); what was accepted goes on to its end.
  virtual void drain() = 0;
};

}  // namespace paternoster::api
