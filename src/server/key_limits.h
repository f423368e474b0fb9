// What each key uses of its limits: requests at once, and tokens a minute.
//
// Tokens are a bucket that fills evenly and holds one minute's worth. A request is taken up while the
// bucket is not empty, and pays when its tokens are known; so the bucket may go below zero, and the
// key then waits until it has filled up again. State is kept by the key's name, so that it outlives a
// reading of the key file. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "api/error.h"
#include "server/api_keys.h"

namespace paternoster::server {

class KeyLimits {
 public:
  // Takes a request up, or says what is exceeded (429) and when to come again.
  std::optional<api::ApiError> begin(const KeyTerms& terms, std::int64_t now_ns);
  // Prompt or output tokens of a request that was taken up.
  void charge(const std::string& name, std::int64_t tokens);
  void end(const std::string& name);

 private:
  struct Use {
    std::int32_t requests = 0;
    double tokens = 0;        // in the bucket
    double tokens_per_ns = 0;  // 0: no limit
    std::int64_t filled_ns = 0;
  };

  void fill(Use& use, const KeyTerms& terms, std::int64_t now_ns) const;

  std::unordered_map<std::string, Use> uses_;
};

}  // namespace paternoster::server
