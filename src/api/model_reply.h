// The small answers about the model: /v1/models, /props, /tokenize, /detokenize.
#pragma once

#include <string>

#include "api/backend.h"
#include "api/request.h"

namespace paternoster::api {

// True for the model's id and its aliases, and for no name at all.
bool is_served(const ModelCard& card, const std::string& name);

std::string models_body(const ModelCard& card);
std::string model_body(const ModelCard& card, const std::string& name);
std::string props_body(const ModelCard& card, const Health& health, std::string_view version);
std::string tokenize_body(const TokenizeAsk& ask, const Tokenized& tokenized, const ModelCard& card);
std::string detokenize_body(const std::string& text);

}  // namespace paternoster::api
