// A Talker over HTTP: any OpenAI-compatible server, ours or another. See talker.h for who may call it.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "cli/talker.h"
#include "client/url.h"

namespace paternoster::cli {

// Asks /v1/models for the model's name: an error if nobody answers there. api_key may be empty.
Result<std::unique_ptr<Talker>> connect_talker(const client::ServerUrl& url, const std::string& api_key);

}  // namespace paternoster::cli
