// The messages of a conversation, read strictly: roles, contents as text or lists of text parts.
#pragma once

#include <vector>

#include "api/field_reader.h"
#include "api/generation.h"

namespace paternoster::api {

// Reads the field `messages`; `developer` becomes `system`, the word that templates know.
void read_messages(FieldReader& fields, std::vector<Message>& messages);

}  // namespace paternoster::api
