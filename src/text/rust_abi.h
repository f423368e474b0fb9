// The C ABI of the Rust half (rust/src/lib.rs, which states each function's rules). Only
// chat_template.cc calls it.
#pragma once

#include <cstddef>

extern "C" {

struct pt_template;
struct pt_context;

const char* pt_last_error(std::size_t* length);

pt_template* pt_template_new(const char* source, std::size_t source_length, const char* bos,
                             std::size_t bos_length, const char* eos, std::size_t eos_length);
void pt_template_free(pt_template* compiled);

pt_context* pt_context_new(const char* json, std::size_t length);
void pt_context_free(pt_context* context);
std::size_t pt_context_size(const pt_context* context);
const char* pt_context_get(const pt_context* context, std::size_t index, std::size_t* length);
bool pt_context_set(pt_context* context, std::size_t index, const char* text, std::size_t length);

char* pt_template_render(const pt_template* compiled, const pt_context* context,
                         std::size_t* length);
void pt_string_free(char* text, std::size_t length);

}  // extern "C"
